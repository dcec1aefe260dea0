"""The memory plan: nothing alive at once overlaps, and plans stay near the live-set bound."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgec.ir.types import DType
from edgec.lower.plan import ALIGNMENT, SLACK, plan
from edgec.program.expr import Expr, const, load, var
from edgec.program.program import Buffer, Call, For, Kind, LoopCall, Program, Statement, Store


def call(name: str, reads: tuple[str, ...], writes: tuple[str, ...], body: tuple[Statement, ...] = ()) -> LoopCall:
    return LoopCall(Call(name, (name,), (), reads, writes, 0), body, parallel=True)


def program_of(sizes: dict[str, int], calls: list[LoopCall]) -> Program:
    buffers = {name: Buffer(name, DType.UINT8, const(size), Kind.ARENA) for name, size in sizes.items()}
    return Program("p", "host", buffers=buffers, calls=list(calls))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_buffers_that_live_together_never_overlap(seed: int) -> None:
    generator = random.Random(seed)
    count = generator.randrange(1, 25)
    sizes = {f"b{i}": generator.randrange(1, 5000) for i in range(count)}
    calls = [
        call(f"c{i}", tuple(generator.sample([f"b{j}" for j in range(i)], min(i, generator.randrange(0, 3)))), (f"b{i}",))
        for i in range(count)
    ]
    program = program_of(sizes, calls)
    plan(program)
    lives = {name: [index for index, item in enumerate(calls) if name in item.call.reads + item.call.writes] for name in sizes}
    for one in sizes:
        start = program.buffers[one].address
        assert start is not None and start % ALIGNMENT == 0 and start + sizes[one] + SLACK <= program.arena_bytes
        for two in sizes:
            together = lives[one][0] <= lives[two][-1] and lives[two][0] <= lives[one][-1]
            other = program.buffers[two].address
            assert other is not None
            assert one == two or not together or start + sizes[one] <= other or other + sizes[two] <= start
    assert program.arena_bytes <= 1.25 * program.live_bound_bytes + 4 * ALIGNMENT


def test_a_chain_needs_no_more_than_its_two_largest_neighbours() -> None:
    program = program_of(
        {"a": 6400, "b": 640, "c": 6400, "d": 640}, [call(n, r, (n,)) for n, r in zip("abcd", ((), ("a",), ("b",), ("c",)), strict=True)]
    )
    plan(program)
    assert program.arena_bytes == program.live_bound_bytes == 6400 + 640 + SLACK


def _map(source: str, target: str, index: Expr, read: Expr) -> tuple[Statement, ...]:
    value = load(source, read, DType.UINT8)
    return (For(var("i"), const(64), (Store(target, index, value),)),)


@pytest.mark.parametrize(("shift", "shared"), [(0, True), (1, False)])
def test_only_loops_that_read_where_they_write_work_in_place(shift: int, shared: bool) -> None:
    i = var("i")
    calls = [call("first", (), ("a",)), call("second", ("a",), ("b",), _map("a", "b", i, i + shift)), call("third", ("b",), ())]
    program = program_of({"a": 64, "b": 64}, calls)
    plan(program)
    assert (program.buffers["a"].address == program.buffers["b"].address) is shared


def test_a_buffer_that_is_still_needed_is_not_overwritten() -> None:
    i = var("i")
    calls = [call("first", (), ("a",)), call("second", ("a",), ("b",), _map("a", "b", i, i)), call("third", ("a", "b"), ())]
    program = program_of({"a": 64, "b": 64}, calls)
    plan(program)
    assert program.buffers["a"].address != program.buffers["b"].address


def test_only_one_operand_lends_its_bytes() -> None:
    """d = b + c, computed over b or over c, but b and c are alive together."""
    value = load("b", var("i"), DType.UINT8) + load("c", var("i"), DType.UINT8)
    add = (For(var("i"), const(64), (Store("d", var("i"), value),)),)
    calls = [call("b", (), ("b",)), call("c", ("b",), ("c",)), call("d", ("b", "c"), ("d",), add), call("e", ("d",), ("e",))]
    program = program_of(dict.fromkeys("bcde", 64), calls)
    plan(program)
    addresses = {name: program.buffers[name].address for name in "bcd"}
    assert addresses["b"] != addresses["c"] and addresses["d"] in (addresses["b"], addresses["c"])


def test_views_lie_inside_their_parent() -> None:
    program = program_of({"whole": 256}, [call("first", (), ("part",)), call("second", ("whole",), ())])
    program.buffers["part"] = Buffer("part", DType.UINT8, const(64), Kind.ARENA, parent="whole", offset=const(128))
    plan(program)
    assert program.buffers["part"].address == (program.buffers["whole"].address or 0) + 128


def test_very_many_blocks_take_a_step_each() -> None:
    """4,000 that all live until the end are eight million pairs; and small ones one after the other still share."""
    count = 4000
    calls = [call(f"c{i}", (f"t{i - 1}",) if i else (), (f"b{i}", f"t{i}")) for i in range(count)]
    calls.append(call("end", tuple(f"b{i}" for i in range(count)), ("y",)))
    program = program_of({**{f"b{i}": 64 for i in range(count)}, **{f"t{i}": 128 for i in range(count)}, "y": 64}, calls)
    plan(program)
    kept = [program.buffers[f"b{i}"].address for i in range(count)]
    assert len(set(kept)) == count
    assert program.arena_bytes <= program.live_bound_bytes + 256
    for one, other in zip(range(count), range(1, count), strict=False):
        assert program.buffers[f"t{one}"].address != program.buffers[f"t{other}"].address
