"""How much work a call is, which decides whether threads are woken for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgec.ir.types import DType
from edgec.program.effort import OF_AN_ELEMENT, OF_AN_OPERATION, OF_FLOATS, effort, effort_of_run
from edgec.program.expr import Size, binary, bound, const, load, product, var
from edgec.program.program import AnyCall, Buffer, Call, For, Kind, LoopCall, Program, Repeat, Store, TemplateCall
from edgec.targets import load_target
from tests.contract.subjects import Net, program_of, random_float_net, random_net

PORTABLE = load_target("portable")


def templates(program: Program) -> list[TemplateCall]:
    return [call for call in program.calls if isinstance(call, TemplateCall)]


@pytest.mark.parametrize(("net", "times"), [(random_net("unet"), 1), (random_float_net("unet"), OF_FLOATS)], ids=("int8", "float"))
def test_multiply_accumulates_count_and_those_of_floats_more(net: Net, times: int) -> None:
    program = program_of(net, PORTABLE)
    found = [call for call in templates(program) if call.call.macs]
    assert found and all(effort(program, call) == times * call.call.macs for call in found)
    assert effort_of_run(program) == sum(effort(program, call) for call in program.calls)


def test_what_has_none_is_weighed_by_what_it_reads() -> None:
    program = program_of(random_net("unet"), PORTABLE)
    (pool,) = [call for call in templates(program) if not call.call.macs][:1]
    assert effort(program, pool) == OF_AN_ELEMENT * bound(program.buffers[pool.call.reads[0]].size)


def loop() -> tuple[Program, AnyCall]:
    """y[3 i + j] = x[i] + x[i], of at most 5 times 3 elements."""
    size, i, j = Size(DType.INT32, "rows", 5), var("i"), var("j")
    one = load("x", i, DType.FLOAT32)
    body = For(i, size, (For(j, const(3), (Store("y", binary("add", product((i, const(3))), j), binary("add", one, one)),)),))
    call = LoopCall(Call("sum", (), (), ("x",), ("y",), 0), (body,), True)
    buffers = {name: Buffer(name, DType.FLOAT32, const(15), Kind.ARENA) for name in "xy"}
    return Program("net", "portable", buffers=buffers, calls=[call], sizes=[size]), call


def test_a_loop_is_as_many_operations_as_it_does_at_most() -> None:
    program, call = loop()
    operations = 1 + 2 + 2  # the store; its index; the sum and what it loads once
    assert effort(program, call) == 5 * 3 * operations * OF_AN_OPERATION


def test_a_turn_is_a_call_and_a_run_is_all_of_them() -> None:
    program = program_of(random_net("unet"), PORTABLE)
    (first, *_) = [call for call in templates(program) if call.call.macs]
    alone = effort(program, first)
    turning = replace(first, call=replace(first.call, within=("loop",), macs=7 * first.call.macs))
    repeated = replace(program, calls=[turning], repeats={"loop": Repeat(7, "turn", "goes_on", False)})
    assert effort(repeated, turning) == alone and effort_of_run(repeated) == 7 * alone


def test_a_package_of_several_shapes_is_the_largest_of_them() -> None:
    program, call = loop()
    second = replace(call, call=replace(call.call, shape=2))
    first = replace(call, call=replace(call.call, shape=1))
    assert effort_of_run(replace(program, calls=[first, second, second])) == 2 * effort(program, call)
