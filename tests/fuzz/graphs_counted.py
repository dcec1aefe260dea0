"""A drawer of axes that a run counts: what is selected is sorted, cut, joined and selected again."""

from __future__ import annotations

import numpy as np
from onnx import helper, numpy_helper

from tests.fuzz.graphs_draft import Draft
from tests.fuzz.graphs_pointwise import Drawer


def selected(d: Draft, op: str) -> None:
    """Rows of whole numbers, which no rounding puts in another order."""
    d.since(13)
    kind, wide = d.pick(np.int64, np.int32), d.number(1, 3)
    x = _some(d, d.input(kind, (d.pick(1, 2, 9, 40), wide)))
    for _ in range(d.number(1, 5)):
        x = d.pick(_sorted, _cut, _joined, _again, _moved, _filled, _decided)(d, x)
    if d.chance(0.3):
        d.op("Reshape", x, d.const([-1], np.int64))


def _some(d: Draft, x: str) -> str:
    mask = d.input(np.bool_, (d.shape(x)[0],))
    return str(d.op("Gather", x, d.op("Squeeze", d.op("NonZero", mask), d.const([0], np.int64)), axis=0))


def _count(d: Draft, x: str) -> str:
    return str(d.op("Unsqueeze", d.op("Gather", d.op("Shape", x), d.const(0, np.int64)), d.const([0], np.int64)))


def _sorted(d: Draft, x: str) -> str:
    """By the first column, at most some of them, and their rows."""
    k = _count(d, x)
    if d.chance(0.7):
        both = d.op("Concat", d.const([d.number(1, 20)], np.int64), k, axis=0)
        k = d.op("Reshape", d.op("ReduceMin", both, keepdims=0), d.const([1], np.int64))
    column = d.op("Gather", x, d.const(0, np.int64), axis=1)
    _, places = d.op("TopK", column, k, outputs=2, axis=0, largest=d.number(0, 1))
    return str(d.op("Gather", x, places, axis=0))


def _cut(d: Draft, x: str) -> str:
    limits = (d.number(0, 3), d.pick(2, 5, 50, -1, 2**62))
    return str(d.op("Slice", x, *(d.const([number], np.int64) for number in (*limits, 0))))


def _joined(d: Draft, x: str) -> str:
    """With itself, rows that are there, or others that are selected."""
    other = d.const(d.array(d.dtype(x), (d.number(1, 3), d.shape(x)[1])))
    others = [d.pick(x, other, _some(d, d.input(d.dtype(x), (d.number(1, 6), d.shape(x)[1])))) for _ in range(d.number(1, 2))]
    return str(d.op("Concat", x, *others, axis=0))


def _again(d: Draft, x: str) -> str:
    """Those whose first column is large, by a condition or by their places."""
    mask = d.op("Greater", d.op("Gather", x, d.const(0, np.int64), axis=1), d.const(0, d.dtype(x)))
    if d.chance(0.5):
        return str(d.op("Compress", x, mask, axis=0))
    return str(d.op("Gather", x, d.op("Squeeze", d.op("NonZero", mask), d.const([0], np.int64)), axis=0))


def _moved(d: Draft, x: str) -> str:
    """Arithmetic with the numbers of the rows, or columns in another order."""
    if d.chance(0.3):
        return str(d.op("Add", x, d.const(d.array(d.dtype(x), (d.shape(x)[1],)))))
    places = d.const(d.g.integers(0, d.shape(x)[1], d.shape(x)[1]), np.int64)
    return str(d.op("Gather", x, places, axis=1))


def _filled(d: Draft, x: str) -> str:
    """As many rows of one number beside them."""
    value = numpy_helper.from_array(np.asarray([d.number(-9, 9)], d.dtype(x)))
    return str(d.op("Where", d.op("Less", x, d.const(3, d.dtype(x))), x, d.op("ConstantOfShape", d.op("Shape", x), value=value)))


def _decided(d: Draft, x: str) -> str:
    """Nothing where there is nothing."""
    empty = d.op("Equal", d.op("ReduceProd", d.op("Shape", x), keepdims=0), d.const(0, np.int64))
    kind = helper.np_dtype_to_tensor_dtype(d.dtype(x))
    none = numpy_helper.from_array(np.zeros((0, d.shape(x)[1]), d.dtype(x)))
    branches = [
        helper.make_graph([node], "branch", [], [helper.make_tensor_value_info("made", kind, [None, d.shape(x)[1]])])
        for node in (helper.make_node("Constant", [], ["made"], value=none), helper.make_node("Add", [x, x], ["made"]))
    ]
    return str(d.op("If", empty, then_branch=branches[0], else_branch=branches[1]))


COUNTED: dict[str, Drawer] = {"NonZero and behind": selected}
