"""What a processor can address: a planned Program that is larger is refused, before anything long is done for it."""

from __future__ import annotations

from edgec.base.errors import ModelError, Problem
from edgec.lower.plan import ALIGNMENT
from edgec.program.expr import bound
from edgec.program.program import Kind, Program
from edgec.targets import Target

LARGEST = 2**31 - 1  # elements of a tensor: C indices are int32_t
_NARROW = ("armv7", "cortex-m", "wasm32")  # architectures whose pointers have 32 bits
_HINT = "give smaller shapes or a smaller batch"


def check_limits(program: Program, target: Target) -> None:
    """ModelError when an index or an address of the Program has no place in the target's integers."""
    problems = [
        Problem(f"{bound(buffer.size):,} elements, 2^31 - 1 is the most", f"tensor {name}", _HINT)
        for name, buffer in program.buffers.items() if bound(buffer.size) > LARGEST
    ]  # fmt: skip
    why = _narrow(program, target)
    if why:
        problems += [Problem(f"{count:,} bytes, {why}", what, _HINT) for what, count in _bytes(program).items() if count > LARGEST]
    if problems:
        raise ModelError(f"the model is too large for target {target.name}", problems)


def _narrow(program: Program, target: Target) -> str:
    """Why memory ends at 2 GiB; nothing when it does not."""
    if target.arch in _NARROW:
        return f"{target.arch} has 2^31 - 1 at most"
    if target.gpu:
        return "a GPU's shaders address 2^31 - 1 at most"
    return "with open sizes 2^31 - 1 is the most" if program.sizes else ""


def _bytes(program: Program) -> dict[str, int]:
    """Every block of memory: what one instance on one thread needs, the weights, and each of the caller's tensors."""
    constants = [buffer for buffer in program.buffers.values() if buffer.kind is Kind.CONSTANT and buffer.parent is None]
    ports = {port.name: program.buffers[port.buffer].max_bytes for port in (*program.inputs, *program.outputs)}
    weights = sum(_aligned(buffer.max_bytes) for buffer in constants)
    return {"the arena": _aligned(program.arena_bytes) + _aligned(program.scratch_bytes), "the weights": weights, **ports}


def _aligned(count: int) -> int:
    return -(-count // ALIGNMENT) * ALIGNMENT
