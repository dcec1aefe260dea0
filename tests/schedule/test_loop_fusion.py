"""Calls of a node that fill a tensor together are one, unless an iteration touches what another one has."""

from __future__ import annotations

import numpy as np
import pytest

from edgec.frontend import from_proto
from edgec.ir.types import DType
from edgec.lower import lower
from edgec.passes import optimize
from edgec.program.expr import FLOAT, Expr, Number, const, expr, load, var
from edgec.program.program import Buffer, Call, For, Kind, LoopCall, Program, Store
from edgec.schedule import schedule
from edgec.schedule.loop_fusion import with_fused_loops
from edgec.targets import load_target
from tests.nets import Net

ROW, COLUMN = var("i"), var("j")
SIZE = 1000


def call(target: Expr, source: str = "x", node: str = "n", rows: Number = 8, columns: int = 4) -> LoopCall:
    """y[target] = source[i] for rows i and columns j."""
    body = For(ROW, expr(rows), (For(COLUMN, const(columns), (Store("y", target, load(source, ROW, FLOAT)),)),))
    return LoopCall(Call(node, (node,), (), (source,), ("y",), 0), (body,), True)


def calls_of(*calls: LoopCall) -> int:
    """How many calls of several are left."""
    kinds = {"x": Kind.INPUT, "z": Kind.INPUT, "y": Kind.ARENA}
    buffers = {name: Buffer(name, DType.FLOAT32, const(SIZE), kind) for name, kind in kinds.items()}
    return len(with_fused_loops(Program("p", "t", buffers=buffers, calls=list(calls))).calls)


@pytest.mark.parametrize(
    ("second", "left"),
    [
        (call(ROW * 8 + COLUMN + 4), 1),
        (call(ROW * 8 + COLUMN + 4, source="z"), 1),
        (call(ROW * 8 + COLUMN + 8), 2),  # a row that the first call's next iteration has
        (call(ROW * 8 + COLUMN + 4, columns=5), 2),
        (call(ROW * 4 + COLUMN + 100), 2),
        (call(ROW * 8 + COLUMN + 4, rows=7), 2),
        (call(ROW * 8 + COLUMN + 4, source="y"), 2),
        (call(ROW * 8 + COLUMN + 4, node="other"), 2),
        (call((ROW // 2) * 8 + COLUMN + 4), 2),
        (call(ROW * 8 + COLUMN), 1),  # the later one still comes last
    ],
)
def test_only_iterations_that_are_apart_share_a_loop(second: LoopCall, left: int) -> None:
    assert calls_of(call(ROW * 8 + COLUMN), second) == left


def test_an_inner_loop_of_the_common_name_stays_apart() -> None:
    other = var("k")
    inner = For(ROW, const(4), (Store("y", other * 8 + ROW + 4, load("x", other, FLOAT)),))
    second = LoopCall(Call("n", ("n",), (), ("x",), ("y",), 0), (For(other, const(8), (inner,)),), True)
    assert calls_of(call(ROW * 8 + COLUMN), second) == 2


def test_slices_that_are_put_together_again_are_one_loop() -> None:
    net = Net("net", 1, (1, 3, 16, 16))
    parts = []
    for row, column in ((0, 0), (1, 0), (0, 1), (1, 1)):
        ends = [net.constant(np.array(numbers, np.int64)) for numbers in ((row, column), (16, 16), (2, 3), (2, 2))]
        parts.append(net.node("Slice", ["x", *ends], 3))
    x = net.node("Concat", parts, 12, axis=1)
    graph = from_proto(net.model(net.node("Conv", [x, net.normal(16, 12, 3, 3)], 16, kernel_shape=[3, 3]))).graph
    optimize(graph)
    target = load_target("x86-64")
    loops = [
        call for call in schedule(lower(graph, target, "net"), target).calls if isinstance(call, LoopCall) and "input" not in call.call.name
    ]
    outermost = [item for item in loops[0].body if isinstance(item, For)]
    assert len(outermost) == 1 and len(outermost[0].body) == 4
