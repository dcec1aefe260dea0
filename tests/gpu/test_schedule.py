"""Segments and barriers: none is missing, none is needless."""

from __future__ import annotations

import random

import pytest

from edgec.emit.constants import layout_constants
from edgec.emit.gpu.memory import Place, io_offsets, places
from edgec.emit.gpu.schedule import schedule
from edgec.ir.types import DType
from edgec.lower.plan import plan
from edgec.program.expr import FLOAT, const, load, var
from edgec.program.program import Buffer, For, Kind, Program, Store
from edgec.targets import load_target
from tests.contract.subjects import program_of, random_float_net, random_net
from tests.emit.programs import buffer, loop, port

i = var("i")


def chain(*calls: tuple[str, str], sizes: int = 16) -> Program:
    """Copies from one buffer to another; x is the input, y the output, all others lie in the arena."""
    program = Program("test", "host")
    port(program, "x", FLOAT, (sizes,), Kind.INPUT)
    port(program, "y", FLOAT, (sizes,), Kind.OUTPUT)
    for name in dict.fromkeys(name for pair in calls for name in pair if name not in "xy"):
        buffer(program, name, FLOAT, sizes, Kind.ARENA)
    for number, (source, target) in enumerate(calls):
        loop(program, f"call_{number}", (For(i, const(sizes), (Store(target, i, load(source, i, FLOAT)),)),), (source,), (target,))
    plan(program)
    return program


def barriers(program: Program) -> list[int]:
    return sorted(schedule(program, [""] * len(program.calls)).barriers)


def test_a_call_waits_for_what_it_reads() -> None:
    assert barriers(chain(("x", "a"), ("a", "b"), ("b", "y"))) == [1, 2]


def test_calls_that_have_nothing_in_common_do_not_wait() -> None:
    program = chain(("x", "a"), ("x", "b"), ("x", "c"))
    for number, name in enumerate("abc"):
        program.place(name, number * 64)
    assert barriers(program) == []


def test_one_barrier_serves_all_that_came_before() -> None:
    program = chain(("x", "a"), ("x", "b"), ("a", "c"), ("b", "d"), ("c", "y"))
    assert 2 in barriers(program) and 3 not in barriers(program)


def test_a_call_waits_before_it_overwrites_what_another_one_reads() -> None:
    program = chain(("a", "b"), ("x", "c"))
    program.place("a", 0), program.place("b", 64), program.place("c", 0)
    assert barriers(program) == [1]
    program.place("c", 128)
    assert barriers(program) == []


def test_calls_on_the_cpu_end_segments() -> None:
    program = chain(("x", "a"), ("a", "b"), ("b", "c"), ("c", "d"), ("d", "y"))
    found = schedule(program, ["", "", "computes with float64", "", ""])
    assert found.segments == ((0, 2), (3, 5)) and found.barriers == {1, 4}
    assert schedule(program, ["no"] * 5).segments == ()


def test_every_pair_that_meets_is_separated_and_no_barrier_is_needless() -> None:
    dice = random.Random(3)
    for _ in range(60):
        names = ["x", *"abcdef"]
        program = chain(*((dice.choice(names), dice.choice("abcdefy")) for _ in range(12)))
        for name in "abcdef":
            if name in program.buffers:
                program.place(name, dice.randrange(0, 6) * 64)
        where, found = places(program), barriers(program)
        calls = [([where[name] for name in item.call.reads], [where[name] for name in item.call.writes]) for item in program.calls]

        def meet(first: int, second: int, calls: list = calls) -> bool:
            (reads, writes), (later_reads, later_writes) = calls[first], calls[second]
            pairs = [(w, p) for w in writes for p in (*later_reads, *later_writes)] + [(r, w) for r in reads for w in later_writes]
            return any(one.overlaps(other) for one, other in pairs)

        for second in range(len(calls)):
            last = max((barrier for barrier in found if barrier <= second), default=0)
            assert not any(meet(first, second) for first in range(last, second) if second not in found)
            if second in found:
                before = max((barrier for barrier in found if barrier < second), default=0)
                assert any(meet(first, second) for first in range(before, second)), f"the barrier before {second} is needless"


def test_places_follow_views_and_io_is_aligned() -> None:
    program = Program("test", "host")
    port(program, "x", FLOAT, (3,), Kind.INPUT)
    port(program, "z", DType.INT8, (5,), Kind.INPUT)
    port(program, "y", FLOAT, (40,), Kind.OUTPUT)
    buffer(program, "a", FLOAT, 32, Kind.ARENA)
    program.buffers["part"] = Buffer("part", FLOAT, const(8), Kind.ARENA, parent="a", offset=const(4))
    program.buffers["inner"] = Buffer("inner", DType.INT8, const(8), Kind.ARENA, parent="part", offset=const(2))
    loop(program, "call", (For(i, const(8), (Store("part", i, load("x", const(0), FLOAT)),)),), ("x",), ("part",))
    plan(program)
    layout_constants(program)
    assert io_offsets(program) == {"x": 0, "z": 64, "y": 128, "": 128 + 192}
    where = places(program)
    base = where["a"].offset
    assert (where["part"].offset, where["part"].bytes) == (base + 16, 32) and where["inner"].offset == base + 18
    assert where["y"].region == where["x"].region == "io" and where["a"].region == "arena"


def test_a_program_that_is_not_planned_has_no_places() -> None:
    program = chain(("x", "a"))
    program.buffers["b"] = Buffer("b", FLOAT, const(8), Kind.ARENA)
    with pytest.raises(AssertionError, match="b has no address"):
        places(program)


def test_calls_that_make_parts_of_one_concatenation_do_not_wait_for_each_other() -> None:
    """A pixel's channels, once from one and once from the other, lie within the same bytes."""
    target = load_target("linux-vulkan")
    for net in (random_net("squeezenet"), random_float_net("squeezenet")):
        program = program_of(net, target)
        layout_constants(program)
        made = [call.call.writes for call in program.calls]
        pairs = [index for index in range(1, len(made)) if made[index] == made[index - 1]]
        assert pairs and not set(pairs) & set(barriers(program))


def test_places_with_a_stride_meet_where_their_parts_do() -> None:
    some, other, wide = (Place("arena", start, 100, 16, width) for start, width in ((0, 8), (24, 8), (12, 8)))
    assert not some.overlaps(other) and not other.overlaps(some)
    assert some.overlaps(wide) and wide.overlaps(some) and other.overlaps(wide)
    assert some.overlaps(Place("arena", 8, 1)) and some.overlaps(Place("arena", 24, 100, 12, 2))
    assert not some.overlaps(Place("io", 0, 100))
