"""Segments and barriers: none is missing, none is needless."""

from __future__ import annotations

import random

import pytest

from edgec.emit.constants import layout_constants
from edgec.emit.gpu.dialect import Glsl
from edgec.emit.gpu.shaders import shaders
from edgec.ir.types import DType
from edgec.lower.plan import plan
from edgec.program.expr import FLOAT, const, load, var
from edgec.program.halves import Halves
from edgec.program.program import Buffer, For, Kind, Program, Store
from edgec.program.regions import Place, io_offsets, places
from edgec.program.views import views_of
from edgec.schedule.gpu.order import order
from edgec.targets import load_target
from tests.emit.programs import buffer, loop, port

TARGET = load_target("linux-vulkan")
i = var("i")


def chain(*calls: tuple[str, str], sizes: int = 64) -> Program:
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
    return sorted(order(program, [""] * len(program.calls)).barriers)


def test_a_call_waits_for_what_it_reads() -> None:
    assert barriers(chain(("x", "a"), ("a", "b"), ("b", "y"))) == [1, 2]


def test_calls_that_have_nothing_in_common_do_not_wait() -> None:
    program = chain(("x", "a"), ("x", "b"), ("x", "c"))
    for number, name in enumerate("abc"):
        program.place(name, number * 256)
    assert barriers(program) == []


def test_one_barrier_serves_all_that_came_before() -> None:
    program = chain(("x", "a"), ("x", "b"), ("a", "c"), ("b", "d"), ("c", "y"))
    assert 2 in barriers(program) and 3 not in barriers(program)


def test_a_call_waits_before_it_overwrites_what_another_one_reads() -> None:
    program = chain(("a", "b"), ("x", "c"))
    program.place("a", 0), program.place("b", 256), program.place("c", 0)
    assert barriers(program) == [1]
    program.place("c", 512)
    assert barriers(program) == []


def test_calls_on_the_cpu_end_segments() -> None:
    program = chain(("x", "a"), ("a", "b"), ("b", "c"), ("c", "d"), ("d", "y"))
    found = order(program, ["", "", "computes with float64", "", ""])
    assert found.segments == ((0, 2), (3, 5)) and found.barriers == {1, 4}
    assert order(program, ["no"] * 5).segments == ()


def test_every_pair_that_meets_is_separated_and_no_barrier_is_needless() -> None:
    dice = random.Random(3)
    for _ in range(60):
        names = ["x", *"abcdef"]
        program = chain(*((dice.choice(names), dice.choice("abcdefy")) for _ in range(12)))
        for name in "abcdef":
            if name in program.buffers:
                program.place(name, dice.randrange(0, 6) * 256)
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
                views = [views_of(program, index, where)[0] for index in range(before, second + 1)]
                assert any(views[-1].must_follow(view) for view in views[:-1]), f"the barrier before {second} is needless"


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


def test_views_are_hulls_from_aligned_starts_and_calls_wait_by_them() -> None:
    program = chain(("a", "b"), ("c", "d"), sizes=16)
    for name, start in (("a", 0), ("b", 320), ("c", 1024), ("d", 320 + 64)):
        program.place(name, start)
    first, second = (views_of(program, index, places(program))[0] for index in (0, 1))
    assert first.bindings == (Place("arena", 0, 64), Place("arena", 256, 128), Place("weights"), Place("io"))
    assert second.arena_written == Place("arena", 256, 192) and second.arena_read == Place("arena", 1024, 64)
    assert second.must_follow(first) and barriers(program) == [1], "drivers see that both write from byte 256 on"
    program.place("d", 512)
    assert barriers(program) == []


def test_a_shader_that_reads_bytes_that_it_writes_says_so() -> None:
    for address, in_place in ((0, True), (32, True), (64, False)):
        program = chain(("a", "b"), sizes=16)
        program.place("a", 0), program.place("b", address)
        layout_constants(program)
        assert views_of(program, 0, places(program))[0].in_place == in_place
        (shader,) = shaders(program, TARGET, Glsl(TARGET.signed_activations))
        assert shader is not None and ("#define IN_PLACE" in shader.source) == in_place


def test_tensors_of_the_callers_have_a_view_of_their_own() -> None:
    program = chain(("x", "a"), ("a", "y"), ("x", "b"), ("b", "y"), sizes=16)
    program.place("a", 0), program.place("b", 256)
    found = [views_of(program, index, places(program))[0] for index in range(4)]
    assert [views.writes_io for views in found] == [False, True, False, True]
    assert found[0].io == Place("io", 0, 64) and found[1].io == Place("io", 0, 128), "y lies at 64"
    assert found[3].must_follow(found[1]) and found[2].must_follow(found[1]) and not found[2].must_follow(found[0])


def test_halves_are_seen_where_they_are_stored() -> None:
    program = chain(("x", "a"), ("a", "b"), ("b", "y"), sizes=16)
    program.place("a", 0), program.place("b", 512)
    halves = Halves(tensors=frozenset("ab"), arena_start=1024, arena_bytes=512)
    as_float, as_half = views_of(program, 1, places(program, halves), halves)
    assert (as_float.arena_read, as_float.arena_written) == (Place("arena", 0, 64), Place("arena", 512, 64))
    assert (as_half.arena_read, as_half.arena_written) == (Place("arena", 1024, 32), Place("arena", 1280, 32))
