"""The proof that a Program keeps to its memory: it holds for what is right, and is missing for whatever is off by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgec.ir.types import DType
from edgec.kernels import ConvInt8
from edgec.program.expr import INT, Expr, Number, Size, binary, cast, clamp, const, expr, load, logical, maximum, minimum, select, var
from edgec.program.memory import OutOfMemory, prove_memory
from edgec.program.program import Buffer, Call, Declare, For, Kind, LoopCall, Program, Statement, Store, TemplateCall
from edgec.targets import load_target
from tests.contract.subjects import FAMILIES, program_of, random_float_net, random_net

FLOAT, CODE, WIDE = DType.FLOAT32, DType.UINT8, DType.INT64
N = Size(INT, "N", 6)
COUNTED = Size(INT, "C", 6, counted=True)
i, j = var("i"), var("j")
CALL = Call("call", (), (), (), (), 0)


def program(*body: Statement, **sizes: Number) -> Program:
    """Loops over x and y of these sizes, y of 10 by default; `codes` are bytes, `given` are int64, `places` are below 5."""
    kinds = {"codes": CODE, "given": WIDE, "places": INT}
    buffers = {
        name: Buffer(name, kinds.get(name, FLOAT), expr(size), Kind.ARENA, below=const(5) if name == "places" else None)
        for name, size in {"y": 10, **sizes}.items()
    }
    table = np.array([3, 0, 4], np.int32)
    buffers["table"] = Buffer("table", INT, const(3), Kind.CONSTANT, data=table)
    return Program("p", "portable", buffers=buffers, calls=[LoopCall(CALL, body, False)])


def loop(extent: Number, *body: Statement, start: Expr | None = None) -> For:
    return For(i, expr(extent), body, start)


def copy(index: Number, at: Number = i) -> Store:
    return Store("y", expr(at), load("x", index, FLOAT))


def within(place: Expr, extent: int) -> Expr:
    return logical("and", binary("le", 0, place), binary("lt", place, extent))


def proven(item: Program) -> bool:
    try:
        prove_memory(item)
    except OutOfMemory:
        return False
    return True


# what is proven, and what is one too many
PAIRS = {
    "loop": (program(loop(10, copy(i)), x=10), program(loop(11, copy(i)), x=11)),
    "read": (program(loop(10, copy(i + 1)), x=11), program(loop(10, copy(i + 1)), x=10)),
    "below 0": (program(loop(10, copy(9 - i)), x=10), program(loop(10, copy(8 - i)), x=10)),
    "start": (program(loop(4, copy(i), start=const(6)), x=10), program(loop(4, copy(i), start=const(7)), x=12)),
    "nested": (
        program(loop(2, For(j, const(5), (copy(i * 5 + j, i * 5 + j),))), x=10),
        program(loop(2, For(j, const(5), (copy(i * 6 + j, i * 5 + j),))), x=10),
    ),
    "triangle": (program(loop(4, For(j, i + 1, (copy(j, j),))), x=4), program(loop(4, For(j, i + 2, (copy(j, j),))), x=4)),
    "size": (program(loop(N, copy(i * 3 + 2)), x=N * 3, y=N), program(loop(N, copy(i * 3 + 3)), x=N * 3, y=N)),
    "size at its bound": (program(loop(6, copy(i)), x=6), program(loop(6, copy(i)), x=N)),
    "size in a stride": (
        program(loop(4, For(j, N, (copy(i * N + j, j),))), x=N * 4, y=N),
        program(loop(4, For(j, N, (copy(j * N + i, j),))), x=N * 4, y=N),
    ),
    "quotient": (program(loop(10, copy(i // 3)), x=4), program(loop(10, copy(i // 3)), x=3)),
    "quotient of a size": (program(loop(N * 4, copy(i // 4)), x=N, y=N * 4), program(loop(N * 4, copy(i // 3)), x=N, y=N * 4)),
    "remainder": (program(loop(10, copy(i % 4)), x=4), program(loop(10, copy(i % 5)), x=4)),
    "remainder below 0": (program(loop(10, copy((i + 3) % 4)), x=4), program(loop(10, copy((i - 3) % 4)), x=4)),
    "clamped": (
        program(loop(10, copy(minimum(maximum(i - 2, 0), 6))), x=7),
        program(loop(10, copy(minimum(maximum(i - 2, -1), 6))), x=7),
    ),
    "mirrored": (
        program(loop(10, copy(minimum(maximum(i - 2, 2 - i), 14 - maximum(i - 2, 2 - i)))), x=8),
        program(loop(10, copy(minimum(maximum(i - 2, 2 - i), 16 - maximum(i - 2, 2 - i)))), x=7),
    ),
    "guarded": (
        program(loop(10, Store("y", i, select(logical("and", binary("le", 2, i), binary("lt", i, 9)), load("x", i - 2, FLOAT), 0.0))), x=7),
        program(loop(10, Store("y", i, select(logical("or", binary("le", 2, i), binary("lt", i, 9)), load("x", i - 2, FLOAT), 0.0))), x=7),
    ),
    "guarded from the other side": (
        program(loop(10, Store("y", i, select(binary("lt", i, 3), 0.0, load("x", i - 3, FLOAT)))), x=7),
        program(loop(10, Store("y", i, select(binary("le", i, 3), load("x", i - 3, FLOAT), 0.0))), x=7),
    ),
    "guarded quotient": (
        program(loop(10, Store("y", i, select(binary("le", 3, i), load("x", (i + 1) // 2 * 4 - 8, FLOAT), 0.0))), x=13),
        program(loop(10, Store("y", i, select(binary("le", 2, i), load("x", (i + 1) // 2 * 4 - 8, FLOAT), 0.0))), x=13),
    ),
    "guarded by a quotient": (
        program(loop(20, Store("y", i // 2, select(binary("le", 1, i // 5), load("x", i - 5, FLOAT), 0.0))), x=15),
        program(loop(20, Store("y", i // 2, select(binary("le", 1, i // 5), load("x", i - 6, FLOAT), 0.0))), x=15),
    ),
    "guarded by a quotient from above": (
        program(loop(20, Store("y", i // 2, select(binary("lt", i // 5, 3), load("x", i, FLOAT), 0.0))), x=15),
        program(loop(20, Store("y", i // 2, select(binary("lt", i // 5, 3), load("x", i, FLOAT), 0.0))), x=14),
    ),
    "divided where it is not negative": (
        program(loop(10, Declare(j, i - 1), Store("y", i, select(within(j, 8), load("x", j // 2 * 4 + j % 2 * 2, FLOAT), 0.0))), x=15),
        program(loop(10, Declare(j, i - 1), Store("y", i, select(within(j, 8), load("x", j // 2 * 4 + j % 2 * 2, FLOAT), 0.0))), x=14),
    ),
    "divided where it may be negative": (
        program(loop(10, Declare(j, i - 1), Store("y", i, select(within(j, 9), load("x", j % 2, FLOAT), 0.0))), x=2),
        program(loop(10, Declare(j, i - 1), Store("y", i, select(binary("lt", j, 9), load("x", j % 2, FLOAT), 0.0))), x=2),
    ),
    "a quotient and what is left": (
        program(loop(9, copy(i // 2 * 8 + i % 2 * 2)), x=33), program(loop(9, copy(i // 2 * 8 + i % 2 * 2)), x=32),
    ),
    "table": (program(loop(3, copy(load("table", i, INT))), x=5), program(loop(3, copy(load("table", i, INT))), x=4)),
    "code": (
        program(loop(10, copy(cast(load("codes", i, CODE), INT))), x=256, codes=10),
        program(loop(10, copy(cast(load("codes", i, CODE), INT))), x=255, codes=10),
    ),
    "index of a model": (
        program(loop(10, copy(cast(clamp(load("given", i, WIDE), 0, 6), INT))), x=7, given=10),
        program(loop(10, copy(clamp(cast(load("given", i, WIDE), INT), -1, 6))), x=7, given=10),
    ),
    "cut index": (
        program(loop(10, copy(minimum(maximum(cast(load("given", i, WIDE), INT), 0), 6))), x=7, given=10),
        program(loop(10, copy(cast(maximum(load("given", i, WIDE), 0), INT))), x=7, given=10),
    ),
    "places": (
        program(loop(10, copy(load("places", i, INT))), x=5, places=10),
        program(loop(10, copy(load("places", i, INT))), x=4, places=10),
    ),
    "places are kept": (program(loop(5, Store("places", i, i)), places=5), program(loop(5, Store("places", i, i + 1)), places=5)),
    "named": (
        program(loop(10, Declare(j, i // 2), copy(j)), x=5),
        program(loop(10, Declare(j, i // 2, mutable=True), copy(j)), x=5),
    ),
    "overflow": (
        program(loop(10, copy((i * 200_000_000) // 200_000_000)), x=10),
        program(loop(20, copy((i * 200_000_000) // 200_000_000, i // 2)), x=20),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("right", "wrong"), PAIRS.values(), ids=PAIRS)
def test_what_is_right_is_proven_and_nothing_else(right: Program, wrong: Program) -> None:
    assert proven(right) and not proven(wrong)


def test_a_view_lies_in_its_parent() -> None:
    whole = program(loop(4, Store("part", i, const(0.0))), x=10)
    for offset, fits in ((6, True), (7, False), (-1, False)):
        part = Buffer("part", FLOAT, const(4), Kind.ARENA, parent="x", offset=const(offset))
        assert proven(replace(whole, buffers={**whole.buffers, "part": part})) == fits


def test_a_kernel_that_reads_past_its_input_reads_the_arena() -> None:
    original = program_of(random_net("squeezenet"), load_target("portable"))
    kernels = [call.arguments for call in original.calls if isinstance(call, TemplateCall) and isinstance(call.arguments, ConvInt8)]
    name = next(item.x.buffer for item in kernels if item.in_channels % 4)
    assert proven(original)
    given = replace(original.buffers[name], kind=Kind.INPUT)
    assert not proven(replace(original, buffers={**original.buffers, name: given}))


@pytest.mark.parametrize("family", [pytest.param(name, marks=[pytest.mark.thorough] * (name == "yolox")) for name in FAMILIES])
def test_no_buffer_of_a_net_could_be_smaller(family: str) -> None:
    """Loops and template kernels use every tensor to its last element, so a proof for less would be none."""
    for net in (random_net(family), random_float_net(family)):
        original = program_of(net, load_target("portable"))
        used = {name for call in original.calls for name in (*call.call.reads, *call.call.writes)}
        for name, buffer in original.buffers.items():
            if name in used and buffer.kind is not Kind.CONSTANT and buffer.parent is None:
                smaller = replace(buffer, size=buffer.size - 1)
                assert not proven(replace(original, buffers={**original.buffers, name: smaller})), f"{net.name} {name}"


@pytest.mark.parametrize("size", [N, COUNTED])
def test_of_what_is_counted_there_may_be_none(size: Size) -> None:
    """Every element that a loop over it reaches is there, the first one is not for sure."""
    prove_memory(program(loop(size, copy(i)), x=size))
    first = program(Store("y", const(0), load("x", const(0), FLOAT)), x=size)
    if size.counted:
        with pytest.raises(OutOfMemory):
            prove_memory(first)
    else:
        prove_memory(first)
