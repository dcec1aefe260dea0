"""Data movement on arrays of any type; the operators of clause 7 and the plain numpy meaning of each."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from edgec.oracle.context import Context, Run, Step
from edgec.oracle.grid import Array, Grid, dequantize, quantize
from edgec.oracle.model import Node, integers
from edgec.oracle.resize import resize_nearest

MOVES = ("Reshape", "Transpose", "Slice", "Split", "Gather", "Squeeze", "Unsqueeze", "Flatten", "Expand", "Tile",
         "DepthToSpace", "SpaceToDepth", "Identity", "Dropout")  # fmt: skip


def reference(context: Context, node: Node) -> Run:
    """The node through onnx's reference implementation, which is exact for movement and integers."""
    proto = helper.make_node(node.op, list(node.inputs), list(node.outputs), domain=node.proto.domain)
    proto.attribute.extend(node.proto.attribute)
    names = list(dict.fromkeys(name for name in node.inputs if name))
    value = [helper.make_value_info(name, helper.make_tensor_type_proto(TensorProto.UNDEFINED, None)) for name in names]
    results = [name for name in node.outputs if name]
    outputs = [helper.make_value_info(name, helper.make_tensor_type_proto(TensorProto.UNDEFINED, None)) for name in results]
    graph = helper.make_graph([proto], "node", value, outputs)
    opsets = [helper.make_opsetid(domain, version) for domain, version in context.model.opsets.items()]
    session = ReferenceEvaluator(helper.make_model(graph, opset_imports=opsets))

    def run(*inputs: Array | None) -> list[Any]:
        feeds = {name: array for name, array in zip(node.inputs, inputs, strict=True) if name}
        found = iter(session.run(None, feeds))
        return [np.asarray(next(found)) if name else None for name in node.outputs]

    return run


def move_step(context: Context, node: Node) -> Step | None:
    """The step of a data movement whose data is q, else None."""
    grid = context.grids.get(node.input(0)) if node.op != "Concat" else _common(context, node)
    others = node.inputs[1:] if node.op not in ("Concat", "Gather") else ()
    if grid is None or not all(context.constant(name) is not None for name in others if name):
        return None
    if node.op == "Concat":
        run: Run = lambda *parts: (np.concatenate(parts, node.attributes["axis"]),)  # noqa: E731
    elif node.op == "Resize":
        nearest = resize_nearest(context, node)
        if nearest is None:
            return None
        run = nearest
    elif node.op == "Pad":
        padded = _pad(context, node, grid)
        if padded is None:
            return None
        run = padded
    elif node.op in MOVES:
        run = reference(context, node)
    else:
        return None
    return Step(node, node.inputs, node.outputs, run, raw=True, grids=(grid,) * len(node.outputs))


def _common(context: Context, node: Node) -> Grid | None:
    """The grid of all operands, when it is one."""
    grids = {context.grid(name) for name in node.inputs}
    return grids.pop() if len(grids) == 1 else None


def _pad(context: Context, node: Node, grid: Grid) -> Run | None:
    mode = node.get("mode", "constant")
    given = context.scalar(node.input(2)) if node.input(2) else np.float32(0)
    if given is None or mode not in PAD_MODES:
        return None
    fill = quantize(np.asarray(given), grid)
    if mode == "constant" and dequantize(fill, grid) != given:
        return None
    return lambda q, *_: (pad(context, node, q, fill),)


PAD_MODES = {"constant": "constant", "reflect": "reflect", "edge": "edge", "wrap": "wrap"}


def extreme(node: Node, x: Array) -> Array:
    """ArgMax and ArgMin: the place of the first (or last) extreme; NaN never is one, unless it is the first element."""
    axis = node.get("axis", 0)
    rows = np.moveaxis(x, axis, 0)
    before, or_equal = {"ArgMax": (np.greater, np.greater_equal), "ArgMin": (np.less, np.less_equal)}[node.op]
    better = or_equal if node.get("select_last_index", 0) else before
    best, place = rows[0], np.zeros(rows.shape[1:], np.int64)
    for k, seen in enumerate(rows):
        wins = better(seen, best)
        best, place = np.where(wins, seen, best), np.where(wins, k, place)
    result: Array = np.expand_dims(place, axis) if node.get("keepdims", 1) else np.asarray(place)
    return result


def pad(context: Context, node: Node, x: Array, fill: Array) -> Array:
    """Pad with constant pads; negative ones crop."""
    pads = integers(context.constant(node.input(1)))
    axes = integers(context.constant(node.input(3))) if node.input(3) else list(range(x.ndim))
    widths = np.zeros((x.ndim, 2), np.int64)
    for i, axis in enumerate(axes):
        widths[axis % x.ndim] = pads[i], pads[i + len(axes)]
    x = x[tuple(slice(max(0, -before), extent - max(0, -after)) for extent, (before, after) in zip(x.shape, widths, strict=True))]
    mode: Any = PAD_MODES[node.get("mode", "constant")]
    extra = {"constant_values": fill.astype(x.dtype)} if mode == "constant" else {}
    result: Array = np.pad(x, np.maximum(widths, 0), mode, **extra)
    return result
