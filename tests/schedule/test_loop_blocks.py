"""Loops that turn rows into columns, and those that do not."""

from __future__ import annotations

import pytest

from edgec.frontend import from_proto
from edgec.lower import lower
from edgec.passes import optimize
from edgec.program.expr import bound
from edgec.program.program import For, LoopCall, Program
from edgec.schedule import schedule
from edgec.targets import load_target
from tests.nets import Net


def program(target: str, channels: int, side: int, ending: str = "") -> Program:
    """A convolution, whose result lies in pixels and goes out in channels, and perhaps a function or what is added behind it."""
    net = Net("net", 1, (1, 3, side, side))
    weights = net.normal(channels, 3, 1, 1)
    x = net.node("Conv", ["x", weights], channels, kernel_shape=[1, 1])
    if ending:
        x = net.node(ending, [x, net.normal(1, channels, side, side)] if ending == "Mul" else [x], channels)
    graph = from_proto(net.model(x)).graph
    optimize(graph)
    return schedule(lower(graph, load_target(target), "net"), load_target(target))


def extents(found: Program) -> list[int]:
    """Of the loops that make the output, outermost first."""
    (call,) = [call for call in found.calls if call.call.writes == (found.outputs[0].buffer,)]
    assert isinstance(call, LoopCall)
    sizes, body = list[int](), call.body
    while isinstance(body[0], For):
        sizes.append(bound(body[0].extent))
        body = body[0].body
    return sizes


@pytest.mark.parametrize("target", ["x86-64", "linux-arm64", "portable"])
@pytest.mark.parametrize(("channels", "sizes"), [(64, [8, 8]), (16, [4, 4]), (21, [3, 7])])
def test_columns_are_read_a_block_at_a_time(target: str, channels: int, sizes: list[int]) -> None:
    blocks, size = sizes
    assert extents(program(target, channels, 12)) == [blocks, 144, size]


def test_what_makes_no_blocks_or_is_near_in_memory_stays() -> None:
    assert extents(program("x86-64", 19, 12)) == [19, 144]  # no number of blocks
    assert extents(program("x86-64", 64, 5)) == [64, 25]  # few rows
    assert extents(program("x86-64", 12, 12)) == [12, 144]  # rows beside each other
    assert extents(program("x86-64", 64, 12, "Tanh")) == [64, 144]  # a function
    assert extents(program("x86-64", 64, 12, "Mul")) == [64, 144]  # times what lies in columns
