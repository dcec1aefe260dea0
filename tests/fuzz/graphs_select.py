"""Drawers of operators that sort, select and scatter."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from tests.fuzz.graphs_draft import FLOAT, Draft, Misfit
from tests.fuzz.graphs_matrix import spatial, window
from tests.fuzz.graphs_move import anything, indices
from tests.fuzz.graphs_pointwise import Drawer


def top_k(d: Draft, op: str) -> None:
    x = d.data((FLOAT,) if d.chance(0.7) or d.opset < 11 else (np.int32, np.int64, np.uint8, np.int8), 1)
    axis = d.axis(x) if d.opset >= 11 else d.number(0, d.rank(x) - 1)
    k = d.number(1, d.shape(x)[axis])
    if d.opset < 10:
        d.op(op, x, outputs=2, axis=axis, k=k)
        return
    d.op(op, x, d.const([k], np.int64), outputs=2, axis=axis, **({"largest": d.number(0, 1)} if d.opset >= 11 else {}))


def reduced(d: Draft, version: int) -> dict[str, Any]:
    names = ("none", "add", "mul", *(("max", "min") if d.opset >= 18 else ()))
    return {"reduction": d.pick(*names)} if d.opset >= version and d.chance(0.6) else {}


def scatter_elements(d: Draft, op: str) -> None:
    """Indices with as many axes as the data, none longer but the one that is written along."""
    if (op == "Scatter") != (d.opset < 11):
        raise Misfit("the other one")
    d.since(9)
    x = anything(d, 1, 4)
    axis, shape = d.axis(x), d.shape(x)
    wanted = tuple(d.number(1, 5) if place == axis % len(shape) else d.number(1, extent) for place, extent in enumerate(shape))
    updates = d.data((d.dtype(x),), len(shape), len(shape), where=lambda s: s == wanted, make=lambda: wanted)
    d.op(op, x, indices(d, wanted, [shape[axis]]), updates, axis=axis, **reduced(d, 16))


def scatter_nd(d: Draft, op: str) -> None:
    d.since(11)
    x = anything(d, 1, 4)
    shape = d.shape(x)
    depth = d.number(1, len(shape))
    places = d.extents(0, 2, 3)
    wanted = (*places, *shape[depth:])
    updates = d.data((d.dtype(x),), 0, 6, where=lambda s: s == wanted, make=lambda: wanted)
    d.op(op, x, indices(d, [*places, depth], shape[:depth]), updates, **reduced(d, 16))


def tensor_scatter(d: Draft, op: str) -> None:
    d.since(24)
    x = anything(d, 2, 4)
    shape = d.shape(x)
    axis = d.number(1, len(shape) - 1)
    length = d.number(1, shape[axis])
    updates = d.input(d.dtype(x), (*shape[:axis], length, *shape[axis + 1 :]))
    first = d.const(d.g.integers(0, shape[axis] - length + 1, shape[0]), np.int64)
    d.op(op, x, updates, first, axis=axis - (len(shape) if d.chance(0.5) else 0), mode=d.pick("linear", "circular"))


def reverse_sequence(d: Draft, op: str) -> None:
    d.since(10)
    x = anything(d, 2, 4)
    time = d.number(0, 1)
    lengths = d.const(d.g.integers(1, d.shape(x)[time] + 1, d.shape(x)[1 - time]), np.int64)
    d.op(op, x, lengths, time_axis=time, batch_axis=1 - time)


def max_unpool(d: Draft, op: str) -> None:
    """Behind the pool that says the places; the larger shape is one that it could have come from."""
    d.since(11)
    x = spatial(d)
    extents = d.shape(x)[2:]
    kernel = [d.number(1, min(3, extent)) for extent in extents]
    attributes = {"kernel_shape": kernel, "strides": [d.number(1, k) for k in kernel]}
    pooled, places = d.op("MaxPool", x, outputs=2, **attributes)
    implied = [(n - 1) * stride + k for n, stride, k in zip(d.shape(pooled)[2:], attributes["strides"], kernel, strict=True)]
    if tuple(implied) != extents:  # places are in the pooled tensor's shape, ONNX Runtime counts in the implied one
        raise Misfit("places in another shape")
    d.op(op, pooled, places, **attributes)


def pool_places(d: Draft, op: str) -> None:
    """A pool with places, which go by rows or by columns."""
    x = spatial(d)
    extents = d.shape(x)[2:]
    kernel = [d.number(1, min(4, extent)) for extent in extents]
    attributes = window(d, kernel, extents, dilated=d.opset >= 10)
    d.since(8)
    d.op("MaxPool", x, outputs=2, kernel_shape=kernel, storage_order=d.number(0, 1), **attributes)


def whole(d: Draft, low: int, high: int) -> str:
    """Numbers that no rounding moves over a limit."""
    return d.data((np.int32, np.int64, np.bool_), low, high)


def non_zero(d: Draft, op: str) -> None:
    d.since(9)
    d.op(op, whole(d, 1, 4))


def compress(d: Draft, op: str) -> None:
    d.since(9)
    x = anything(d, 1, 4)
    axis = None if d.chance(0.3) else d.axis(x) if d.opset >= 11 else d.number(0, d.rank(x) - 1)
    extent = int(np.prod(d.shape(x))) if axis is None else d.shape(x)[axis]
    d.op(op, x, d.input(np.bool_, (d.number(1, extent),)), **({} if axis is None else {"axis": axis}))


def unique(d: Draft, op: str) -> None:
    d.since(11)
    x = d.data((np.int64,), 1, 3)
    d.op(op, x, outputs=4, sorted=d.number(0, 1), **({} if d.chance(0.5) else {"axis": d.axis(x)}))


def non_max_suppression(d: Draft, op: str) -> None:
    """Of boxes and scores that are few whole numbers, so that many are equal."""
    d.since(11)
    samples, classes, count = d.number(1, 2), d.number(1, 3), d.pick(1, 7, 30)
    boxes, scores = (d.op("Cast", d.input(np.int8, shape), to=1) for shape in ((samples, count, 4), (samples, classes, count)))
    limits = [d.const([d.number(1, 9)], np.int64), d.const([d.pick(0.0, 0.3)], FLOAT), d.const([d.pick(-50.0, 0.0)], FLOAT)]
    d.op(op, boxes, scores, *limits[: d.number(1, 3)], center_point_box=d.number(0, 1))


def one_hot(d: Draft, op: str) -> None:
    """Of places some of which are beyond both ends."""
    d.since(9)
    depth = d.number(1, 6)
    x = d.data((np.int64,), 1, 3) if d.chance(0.3) else d.const(d.g.integers(-depth - 1, depth + 2, d.extents(1, 3)), np.int64)
    if d.chance(0.3):
        x = d.op("Cast", d.data((np.bool_,), 1, 3), to=TensorProto.INT64)
    kind = d.pick(FLOAT, np.int64)
    d.op(op, x, d.const([depth] if d.chance(0.5) else depth, np.int64), d.const(d.array(kind, (2,))), axis=d.axis(x, 1))


def hardmax(d: Draft, op: str) -> None:
    x = d.data((FLOAT,), 1, 4)
    d.op(op, x, **({"axis": d.axis(x) if d.opset >= 11 else d.number(0, d.rank(x) - 1)} if d.chance(0.7) else {}))


def eye_like(d: Draft, op: str) -> None:
    d.since(9)
    x = d.data((FLOAT, np.int32), 2, 2)
    made = d.op(op, x, k=d.number(-3, 3), **({"dtype": TensorProto.FLOAT} if d.chance(0.5) else {}))
    d.op("Add", made, d.partner(made))


SELECTION: dict[str, Drawer] = {
    "TopK": top_k, "ScatterND": scatter_nd, "TensorScatter": tensor_scatter, "ReverseSequence": reverse_sequence, "MaxUnpool": max_unpool,
    "MaxPool with places": pool_places, "NonZero": non_zero, "Compress": compress, "Unique": unique,
    "OneHot": one_hot, "Hardmax": hardmax, "EyeLike": eye_like, "NonMaxSuppression": non_max_suppression,
    **dict.fromkeys(("ScatterElements", "Scatter"), scatter_elements),
}  # fmt: skip
