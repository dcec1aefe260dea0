"""Loops: what their bodies must be for the values around them."""

from __future__ import annotations

from collections.abc import Sequence

from edgec.ir.loop import Loop, loop_of
from edgec.ir.types import DType, TensorType
from edgec.ops.registry import Call, operator
from edgec.ops.rules import need


def _loop(call: Call) -> list[TensorType]:
    """The states, and the rows of all turns, stacked."""
    loop = loop_of(call.node)
    assert loop is not None
    body, types = loop.body, call.graph.types
    need(loop.turns >= 1, f"it has {loop.turns} turns")
    need(len(body.inputs) == len(call.node.inputs), f"its body has {len(body.inputs)} inputs")
    need(len(body.outputs) == len(call.node.outputs) + bool(loop.condition), f"its body has {len(body.outputs)} outputs")
    _need_types(loop, [loop.turn], [TensorType(DType.INT64, ())])
    _need_types(loop, [*loop.states, *loop.read], [types[name] for name in (*loop.firsts, *loop.around)])
    _need_types(loop, loop.next, [types[name] for name in loop.firsts])
    if loop.condition:
        _need_types(loop, [loop.goes_on], [types[loop.condition]])
        need(types[loop.condition] == TensorType(DType.BOOL, ()), f"its condition is {types[loop.condition]}")
    rows = [body.types[name] for name in loop.rows]
    return [*(types[name] for name in loop.firsts), *(TensorType(row.dtype, (loop.turns, *row.shape)) for row in rows)]


def _need_types(loop: Loop, names: Sequence[str], wanted: Sequence[TensorType]) -> None:
    for name, kind in zip(names, wanted, strict=True):
        need(loop.body.types[name] == kind, f"{name} of its body is {loop.body.types[name]} instead of {kind}")


operator("Loop", _loop)
