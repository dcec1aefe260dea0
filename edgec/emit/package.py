"""A package: every file that a planned Program and a target decide."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from edgec.base.errors import Problem, UsageError, did_you_mean
from edgec.base.harmless import in_a_comment
from edgec.base.version import __version__
from edgec.emit.addresses import port_field
from edgec.emit.c_text import C_TYPES, float_literal, identifier
from edgec.emit.calls import Function, Jump, functions
from edgec.emit.constants import ALIGNMENT, assembly, c_source, layout_constants
from edgec.emit.gpu.host import GPU_STATUSES, GpuPlan, describe_gpu, gpu_context, port_contexts, render_shaders
from edgec.emit.gpu.metal import metal_files
from edgec.emit.gpu.vulkan import vulkan_files, vulkan_variants
from edgec.emit.kernels import chosen_of, render_kernel_header, render_kernels, slot_of
from edgec.emit.loop_forms import forms_of
from edgec.emit.manifest import BY_HAND, calls_of, memory_of, ports_of, sizes_of, states_of
from edgec.emit.render_c import Scope, render
from edgec.emit.templates import render_template, runtime
from edgec.package.draft import Draft
from edgec.package.manifest import Content, Manifest, Origin, sha256
from edgec.package.parts import Arena, Gpu, Weights
from edgec.program.effort import PART_NS, RUN_NS, effort_of_run
from edgec.program.expr import bound, product
from edgec.program.offload import Offload
from edgec.program.program import LoopCall, Port, Program, State, TemplateCall
from edgec.targets import Target

Hosts = Mapping[str, Mapping[str, object]]  # what the hosts know of tensors, by buffer

ABI_VERSION = 4
INT8_CONTRACT = 12
STACK_BYTES = 16384
MOST_WORK = 2**31 - 1  # that a step or a run tells of itself
MAX_BLOCKS = 64  # of a step for each thread
WEIGHTS = ("incbin", "c", "bin")
MOST_LITERALS = 64 << 20  # bytes of weights that are written as C too, unasked: compilers take a minute and gigabytes for more
NO_JUMP = Jump(-1, 0, 0)
COMPILED = ("micro", "swift", "web")  # forms whose weights are compiled from C
# what an installation is found by: path in packaging/ -> template
PACKAGING = {
    "{}Config.cmake": "config.cmake.j2",
    "{}ConfigVersion.cmake": "version.cmake.j2",
    "{}Targets.cmake": "targets.cmake.j2",
    "{}.pc.in": "pc.j2",
}
STATUSES = (
    ("OK", "done"),
    ("BAD_ARGUMENT", "a pointer is NULL or a number is out of its range"),
    ("NOT_INITIALIZED", "the instance was not initialized"),
    ("ARENA_TOO_SMALL", "the arena is too small"),
    ("ARENA_MISALIGNED", "the memory is not aligned to 64 bytes"),
    ("BAD_SIZE", "a size is below 1 or above its maximum"),
    ("NO_SUCH_ISA", "this package or this processor does not have that set of instructions"),
    ("NO_WEIGHTS", "the package was built without weights: set them first"),
    ("BAD_WEIGHTS", "these are not the weights of this package: their hash is another"),
    ("BAD_INDEX", "an index that the model computes or is given lies outside of its axis"),
)


def emit_sources(
    program: Program,
    target: Target,
    weights: str = "incbin",
    origin: Origin = BY_HAND,
    offload: Offload | None = None,
    parts: Sequence[str] = (),
    literals: bool = False,
) -> Draft:
    """The package's files without the exam, and its manifest; `program` must be planned.

    Vulkan's are without src/NAME_shaders.c: their SPIR-V is compiled by a program (gpu.vulkan.spirv_jobs, spirv_file).
    weights: how they are linked: "incbin" (assembler), "c" (string literals) or "bin" (not at all: set_weights).
    offload: what goes to the GPU of a target that has one.
    parts: sources src/NAME_PART.c that are added later and belong to the library.
    literals: whether the weights must be there as string literals, however large.
    """
    _check(program, weights)
    if bool(target.gpu) != (offload is not None):
        raise ValueError(f"{target.name}: nobody chose what goes to the GPU, or there is none")
    blob = layout_constants(program)
    plan = render_shaders(program, target, offload) if offload is not None else None
    literals = literals or weights == "c" or target.form in COMPILED or len(blob) <= MOST_LITERALS
    context = _context(program, target, weights, blob, plan) | {"parts": tuple(parts), "literals": literals}
    name = program.name
    used = frozenset(slot_of(call) for call in program.calls if isinstance(call, TemplateCall))
    files: dict[str, Content] = {
        f"include/{name}.h": render_template("header.h.j2", context),
        f"include/{name}_pool.h": runtime("c/pool.h", name),
        f"src/{name}.c": render_template("model.c.j2", context),
        f"src/{name}_internal.h": render_template("internal.h.j2", context),
        f"src/{name}_dispatch.c": render_template("instance.c.j2", context),
        f"src/{name}_dispatch.h": runtime("c/dispatch.h", name),
        f"src/{name}_scalar.h": runtime("c/scalar.h", name),
        f"src/{name}_math.h": runtime("c/math.h", name),
        f"src/{name}_sha256.h": runtime("c/sha256.h", name),
        f"src/{name}_pool.c": runtime("c/pool.c", name),
        f"src/{name}_kernels.h": render_kernel_header(name, used, target).encode(),
        **{f"src/{name}_kernels_{isa}.c": _kernels(program, isa, target) for isa in target.vocabularies},
        f"src/{name}_weights.bin": blob,
        f"src/{name}_weights.S": assembly(f"{name}_weights", f"{name}_weights.bin", blob, "weights and tables"),
        "CMakeLists.txt": render_template("CMakeLists.txt.j2", context),
        "Makefile": render_template("Makefile.j2", context),
        **{f"packaging/{path.format(name)}": render_template(template, context) for path, template in PACKAGING.items()},
    }
    if literals:
        files[f"src/{name}_weights.c"] = c_source(f"{name}_weights", blob, "weights and tables")
    if plan is not None:
        files |= _gpu_files(program.name, plan, context)
    manifest = _manifest(program, target, Weights(weights, len(blob), sha256(blob)), origin)
    return Draft(files, replace(manifest, gpu=_gpu_facts(plan)))


def _kernels(program: Program, vocabulary: str, target: Target) -> bytes:
    return render_kernels(program.name, vocabulary, chosen_of(program, vocabulary), target).encode()


def _gpu_files(name: str, plan: GpuPlan, context: Mapping[str, object]) -> dict[str, bytes]:
    files = {f"include/{name}_gpu.h": render_template("gpu.h.j2", context)}
    return files | (vulkan_files if plan.api == "vulkan" else metal_files)(name, plan, context)


def _gpu_facts(plan: GpuPlan | None) -> Gpu | None:
    if plan is None:
        return None
    return replace(describe_gpu(plan), glsl=vulkan_variants(plan) if plan.api == "vulkan" else None)


def _check(program: Program, weights: str) -> None:
    if weights not in WEIGHTS:
        raise UsageError(f"unknown form of weights {weights!r}", hint=did_you_mean(weights, WEIGHTS))
    problems = []
    if identifier(program.name) != program.name:
        problems.append(Problem(f"{program.name!r} is no C identifier", "package name", f"try {identifier(program.name)!r}"))
    ports = [port.identifier for port in program.ports] + [size.name for size in program.sizes]
    problems += [Problem("two inputs, outputs or sizes have this C name", name) for name in sorted(set(ports)) if ports.count(name) > 1]
    if problems:
        raise UsageError("the package's names cannot be used in C", problems)
    if not program.calls:
        raise ValueError("a Program without calls computes nothing")


def _manifest(program: Program, target: Target, weights: Weights, origin: Origin) -> Manifest:
    tensors, scratch = _tensor_bytes(program), _scratch_bytes(program)
    return Manifest(
        name=program.name,
        target=target.name,
        arch=target.arch,
        vocabularies=tuple(target.vocabularies),
        abi_version=ABI_VERSION,
        int8_contract=INT8_CONTRACT,
        edgec_version=__version__,
        arena_bytes=tensors + scratch,
        weights_bytes=weights.bytes,
        weights=weights,
        arena=Arena(tensors + scratch, tensors, scratch, program.live_bound_bytes, ALIGNMENT),
        stack_bytes=STACK_BYTES,
        inputs=ports_of(program.inputs),
        outputs=ports_of(program.outputs),
        sizes=sizes_of(program),
        macs=_macs(program),
        calls=calls_of(program),
        memory=memory_of(program),
        states=states_of(program),
        **vars(origin),
    )


def _macs(program: Program) -> int:
    """Of a run; the most where there are several sets of shapes."""
    sets = Counter[int]()
    for call in program.calls:
        sets[call.call.shape] += call.call.macs
    return max(sets.values())


def _tensor_bytes(program: Program) -> int:
    return -(-program.arena_bytes // ALIGNMENT) * ALIGNMENT


def _scratch_bytes(program: Program) -> int:
    """Of one thread."""
    return -(-program.scratch_bytes // ALIGNMENT) * ALIGNMENT


def _context(program: Program, target: Target, weights: str, blob: Content, plan: GpuPlan | None) -> dict[str, object]:
    """All that the templates of templates/package read."""
    run = Scope({}, {size.name: size.name for size in program.sizes})
    hosts = port_contexts(program)
    inputs = [_port(program, port, "INPUT", hosts) for port in program.inputs]
    outputs = [_port(program, port, "OUTPUT", hosts) for port in program.outputs]
    states = [_state(program, state, hosts) for state in program.states]
    sizes = [{"name": size.name, "macro": identifier(size.name).upper(), "bound": size.bound} for size in program.sizes]
    parameters = [f"int32_t {size['name']}" for size in sizes]
    parameters += [f"{port['qualifier']}{port['c_type']} *{port['identifier']}" for port in (*inputs, *outputs)]
    return {
        "name": program.name,
        "NAME": program.name.upper(),
        "summary": f"{_plural(len(inputs), 'input')}, {_plural(len(outputs), 'output')}, for {target.name}.",
        "version": __version__,
        "abi_version": ABI_VERSION,
        "int8_contract": INT8_CONTRACT,
        "alignment": ALIGNMENT,
        "tensor_bytes": _tensor_bytes(program),
        "scratch_bytes": _scratch_bytes(program),
        "weights_bytes": len(blob),
        "weights_digest": list(bytes.fromhex(sha256(blob))),
        "stack_bytes": STACK_BYTES,
        "needs_64_bits": _tensor_bytes(program) + _scratch_bytes(program) > 2**31 - 1,
        "weights": weights,
        "sizes": sizes,
        "ports": [*inputs, *outputs],
        "states": states,
        "turns": any(state.turns for state in program.states),
        "members": [*inputs, *outputs, *(state[end] for state in states for end in ("read", "written"))],
        "inputs": inputs,
        "outputs": outputs,
        "run_parameters": "".join(f", {parameter}" for parameter in parameters),
        "statuses": [{"name": name, "words": words} for name, words in (*STATUSES, *(GPU_STATUSES if plan else ()))],
        "vocabularies": target.vocabularies,
        "arch": target.arch,
        "os": target.os,
        "flags": list(target.flags),
        "prologue": runtime("c/prologue.h", program.name).decode().strip(),
        "functions": [_step(item, run, target) for item in functions(program, target)],
        "has_indices": any(isinstance(call, LoopCall) and call.outside is not None for call in program.calls),
        "which": program.sizes[0].name if any(port.shapes for port in program.ports) else "",
        "has_repeats": bool(program.repeats),
        "has_conditions": any(call.call.when is not None for call in program.calls),
        "calls": len(program.calls),
        "max_blocks": MAX_BLOCKS,
        "run_work": min(effort_of_run(program), MOST_WORK),
        "part_ns": PART_NS,
        "run_ns": RUN_NS,
        "loop_forms": forms_of(target),
        **gpu_context(program, plan, _tensor_bytes(program), len(blob)),
    }


def _step(item: Function, run: Scope, target: Target) -> dict[str, object]:
    return {
        "name": item.name,
        "text": item.text,
        "extent": render(item.items, run),
        "forms": item.forms,
        "forms_in_c": _by_form(item, target),
        "work": min(item.work, MOST_WORK),
        "outside": item.outside,
        "condition": item.condition,
        "holds": int(item.holds),
        "shape": item.shape,
        "jump": item.jump or NO_JUMP,
    }


def _by_form(function: Function, target: Target) -> str:
    """What a step's table says: the function, or those that are its forms, the last of them for all later ones."""
    names = [f"{function.name}_{form.name}" for form in function.forms] or [function.name]
    count = len(forms_of(target))
    return f"{{{', '.join(names + names[-1:] * (count - len(names)))}}}" if count else names[0]


def _plural(count: int, word: str) -> str:
    return f"{count} {word}{'s' if count != 1 else ''}"


def _state(program: Program, state: State, hosts: Hosts) -> dict[str, object]:
    """pattern: the bits of an element at the start as a number of C, nothing where there are none; word: its type."""
    read, dtype = _port(program, state.input, "INPUT", hosts), state.input.dtype
    start = np.asarray(state.start, dtype.numpy).tobytes()
    pattern = int.from_bytes(start, sys.byteorder)
    here, there = state.places
    return {
        "read": read,
        "written": _port(program, state.output, "OUTPUT", hosts),
        "here": here,
        "there": there,
        "bytes": read["bytes"],
        "elements": read["elements"],
        "element_bytes": dtype.bytes,
        "word": f"uint{8 * dtype.bytes}_t",
        "pattern": f"{pattern:#x}u{'ll' if dtype.bytes == 8 else ''}" if pattern else "",
        "comment": in_a_comment(f"State {state.input.name}: {state.output.name} of the run before, {dtype.value}"),
    }


def _port(program: Program, port: Port, role: str, hosts: Hosts) -> dict[str, object]:
    elements = bound(product(port.shape))
    shapes = port.shapes or [[render(extent, Scope({})) for extent in port.shape]]
    shape = "], [".join(",".join(map(str, extents)) for extents in shapes)
    return {
        "name": port.name,
        "identifier": port.identifier,
        "macro": f"{program.name}_{role}_{port.identifier}".upper(),
        "comment": in_a_comment(f"{role.capitalize()} {port.name}: {port.dtype.value}[{shape}]"),
        "field": port_field(program, port.buffer),
        "qualifier": "const " if role == "INPUT" else "",
        "c_type": C_TYPES[port.dtype],
        "elements": elements,
        "bytes": elements * port.dtype.bytes,
        "scale": None if port.scale is None else float_literal(port.scale),
        "zero_point": port.zero_point,
        "is_input": int(role == "INPUT"),
        **hosts[port.buffer],
    }
