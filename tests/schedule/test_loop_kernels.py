"""Loops that become calls of a kernel, and those that do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgec.frontend import from_proto
from edgec.ir.types import DType
from edgec.kernels import ConvFloat, FunctionFloat, GeluFloat, SwishFloat
from edgec.lower import lower
from edgec.lower.in_place import in_place_pairs
from edgec.passes import optimize
from edgec.program.expr import bound, const, expr
from edgec.program.program import Buffer, Kind, LoopCall, Program, TemplateCall
from edgec.schedule import schedule
from edgec.targets import load_target
from tests.nets import Net


def program(target: str, ending: str, function: str = "Swish") -> Program:
    """A convolution, a function, what is named behind it, and another convolution."""
    net = Net("net", 1, (1, 16, 12, 12))
    x = conv = net.node("Conv", ["x", net.normal(16, 16, 1, 1)], 16, kernel_shape=[1, 1])
    if function == "Swish":
        x = net.node("Mul", [x, net.node("Sigmoid", [x], 16)], 16)
    else:
        erf = net.node("Erf", [net.node("Div", [x, net.constant(np.array(np.sqrt(2), np.float32))], 16)], 16)
        x = net.node("Mul", [net.node("Mul", [x, net.node("Add", [erf, net.constant(np.array(1, np.float32))], 16)], 16),
                             net.constant(np.array(0.5, np.float32))], 16)  # fmt: skip
    if ending == "Add":
        x = net.node("Add", [x, net.node("Conv", ["x", net.normal(16, 16, 1, 1)], 16, kernel_shape=[1, 1])], 16)
    if ending == "Concat":
        x = net.node("Concat", [x, conv], 32, axis=1)
    if ending == "Scaled":
        x = net.node("Mul", [x, net.constant(np.full(1, 3, np.float32))], 16)
    channels = 32 if ending == "Concat" else 16
    graph = from_proto(net.model(net.node("Conv", [x, net.normal(16, channels, 1, 1)], 16, kernel_shape=[1, 1]))).graph
    optimize(graph)
    return lower(graph, load_target(target), "net")


def functions(found: Program) -> list[FunctionFloat]:
    return [call.arguments for call in found.calls if isinstance(call, TemplateCall) and isinstance(call.arguments, FunctionFloat)]


@pytest.mark.parametrize(("function", "kernel"), [("Swish", SwishFloat), ("Gelu", GeluFloat)])
@pytest.mark.parametrize(("ending", "strides"), [("", (0, 0, 0)), ("Add", (0, 0, 0)), ("Concat", (16, 0, 32))])
def test_a_function_alone_or_with_a_residual_is_a_kernel(
    ending: str, strides: tuple[int, ...], function: str, kernel: type[FunctionFloat]
) -> None:  # fmt: skip
    (found,) = functions(schedule(program("x86-64", ending, function), load_target("x86-64")))
    assert type(found) is kernel
    assert (found.x_row_stride, found.residual_row_stride, found.y_row_stride) == strides
    assert (found.residual is not None) == (ending == "Add")
    assert bound(expr(found.count)) == 16 * 12 * 12


@pytest.mark.parametrize(("target", "ending"), [("x86-64", "Scaled"), ("linux-arm64", ""), ("portable", "")])
def test_other_loops_stay_and_so_do_other_processors(target: str, ending: str) -> None:
    found = schedule(program(target, ending), load_target(target))
    assert not functions(found) and any(isinstance(call, LoopCall) for call in found.calls)


def test_codes_and_shaders_keep_their_loops() -> None:
    target = load_target("x86-64")
    assert not functions(schedule(program("x86-64", ""), replace(target, gpu="vulkan")))
    for codes in (DType.UINT8, DType.INT16):
        found = program("x86-64", "")
        found.buffers["codes"] = Buffer("codes", codes, const(1), Kind.ARENA)
        assert not functions(schedule(found, target))


def test_codes_that_are_numbers_again_in_the_same_loop_keep_the_function_exact() -> None:
    """Nothing stores them, but the function's result is an output of the same bits everywhere."""
    net = Net("net", 1, (1, 16, 12, 12))
    function = net.node("Mul", ["x", net.node("Sigmoid", ["x"], 16)], 16)
    scale, zero = net.constant(np.array(0.04, np.float32)), net.constant(np.array(3, np.uint8))
    codes = net.node("QuantizeLinear", [function, scale, zero], 16)
    graph = from_proto(net.model(function, net.node("DequantizeLinear", [codes, scale, zero], 16))).graph
    optimize(graph)
    target = load_target("x86-64")
    assert not functions(schedule(lower(graph, target, "net"), target))


def test_its_result_may_lie_where_its_operands_do() -> None:
    found = schedule(program("x86-64", "Add"), load_target("x86-64"))
    number = next(n for n, call in enumerate(found.calls) if isinstance(call, TemplateCall) and isinstance(call.arguments, SwishFloat))
    (swish,) = functions(found)
    assert swish.residual is not None
    pairs = [pair for pair in in_place_pairs(found) if pair[0] == number]
    assert pairs == [(number, swish.y.buffer, swish.x.buffer), (number, swish.y.buffer, swish.residual.buffer)]
    assert all(found.buffers[name].kind is Kind.ARENA for _, *names in pairs for name in names)
    assert any(
        isinstance(call, TemplateCall) and isinstance(call.arguments, ConvFloat) and not call.arguments.in_place() for call in found.calls
    )
    (apart,) = functions(schedule(program("x86-64", "Concat"), load_target("x86-64")))
    assert apart.in_place() == ()


def test_a_function_whose_result_is_turned_is_a_kernel_and_a_loop_behind_it() -> None:
    net = Net("net", 1, (1, 16, 12, 12))
    x = net.node("Conv", ["x", net.normal(16, 16, 1, 1)], 16, kernel_shape=[1, 1])
    graph = from_proto(net.model(net.node("Mul", [x, net.node("Sigmoid", [x], 16)], 16))).graph
    optimize(graph)
    target = load_target("x86-64")
    lowered = lower(graph, target, "net")
    found = schedule(lowered, target)
    (swish,) = functions(found)
    moved = found.calls[-1]
    assert type(swish) is SwishFloat and isinstance(moved, LoopCall)
    assert moved.call.reads == (swish.y.buffer,) and moved.call.writes == (found.outputs[0].buffer,)
    taken = replace(lowered.calls[0], call=replace(lowered.calls[0].call, name=f"{swish.y.buffer}_call"))
    (other,) = functions(schedule(replace(lowered, calls=[taken, *lowered.calls[1:]]), target))
    assert other.y.buffer == f"{swish.y.buffer}_"
