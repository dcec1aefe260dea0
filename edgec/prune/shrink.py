"""The graph without some of its channels: smaller constants, smaller shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.ir.verify import verify
from edgec.ops.infer import infer_graph
from edgec.prune.channels import Cells
from edgec.prune.ties import MATRICES, depthwise, groups_of, weighs
from edgec.quant.decisions.apply import drop_unused_constants

Kept = Mapping[str, tuple[int, np.ndarray]]  # of values that shrink: the axis, and whether each index of it stays


def kept_indices(cells: Cells, roots: np.ndarray, stays: np.ndarray) -> Kept:
    """stays: of every cell, by its root."""
    found = {value: (channels.axis, stays[roots[channels.cells]]) for value, channels in cells.of.items()}
    return {value: (axis, mask) for value, (axis, mask) in found.items() if not mask.all()}


def shrink(graph: Graph, kept: Kept) -> Graph:
    """A new graph; the names of nodes and values stay."""
    small = graph.copy()
    for node in small.nodes:
        if any(name in kept for name in (*node.inputs, *node.outputs)):
            _node(graph, small, node, kept)
    small.touched()
    drop_unused_constants(small)
    infer_graph(small)
    verify(small)
    for value, (axis, mask) in kept.items():
        if small.types[value].static_shape[axis] != mask.sum():
            raise RuntimeError(f"{value} became {small.types[value]}, not {int(mask.sum())} along axis {axis}")
    return small


def _node(graph: Graph, small: Graph, node: Node, kept: Kept) -> None:
    rule = _RULES.get(node.op, _elementwise)
    for place, array in rule(graph, node, kept).items():
        if array.shape != graph.constants[node.inputs[place]].shape or not np.array_equal(array, graph.constants[node.inputs[place]]):
            node.inputs[place] = small.add_constant(node.inputs[place], array)


Constants = dict[int, np.ndarray]  # by the place among a node's inputs


def _matrix(graph: Graph, node: Node, kept: Kept) -> Constants:
    assert weighs(graph, node)
    weights, groups = graph.constants[node.inputs[1]], groups_of(node)
    rows, columns = (kept[name][1] if name in kept else None for name in (node.outputs[0], node.inputs[0]))
    if depthwise(graph, node):
        assert columns is not None
        node.attributes["group"] = int(columns.sum())
        rows, columns = (rows, None) if node.op == "Conv" else (None, columns)
    elif groups > 1:  # each group loses the same
        rows, columns = (mask if mask is None or own else mask[: len(mask) // groups] for mask, own in _own(node, rows, columns))
    first = rows if node.op == "Conv" or (node.op == "Gemm" and node.attributes.get("transB", 0)) else columns
    second = columns if first is rows else rows
    for axis, mask in enumerate((first, second)):
        weights = weights if mask is None else np.compress(mask, weights, axis)
    found = {1: weights}
    if node.input(2) and node.outputs[0] in kept:
        bias, mask = graph.constants[node.inputs[2]], kept[node.outputs[0]][1]
        found[2] = np.compress(mask, bias, -1) if bias.ndim and bias.shape[-1] == len(mask) else bias
    return found


def _own(node: Node, rows: np.ndarray | None, columns: np.ndarray | None) -> tuple[tuple[Any, bool], tuple[Any, bool]]:
    """Each mask, and whether the weights have an axis for all of it: else for one group."""
    return ((rows, True), (columns, False)) if node.op == "Conv" else ((rows, False), (columns, True))


def _elementwise(graph: Graph, node: Node, kept: Kept) -> Constants:
    output = node.outputs[0]
    if output not in kept:
        return {}
    (axis, mask), rank, found = kept[output], len(graph.shape(output)), Constants()
    for place, name in enumerate(node.inputs):
        array = graph.constant(name) if name else None
        along = axis - (rank - array.ndim) if array is not None else -1
        if array is not None and along >= 0 and array.shape[along] == len(mask) > 1:
            found[place] = np.compress(mask, array, along)
    return found


def _shape(graph: Graph, node: Node, kept: Kept) -> Constants:
    """Where an extent is written out."""
    (axis, mask), place = kept[node.outputs[0]], 3 if node.op == "Resize" else 1
    if not node.input(place):
        return {}
    shape = graph.constants[node.inputs[place]].copy()
    shape[axis] = mask.sum()
    return {place: shape}


def _split(graph: Graph, node: Node, kept: Kept) -> Constants:
    axis, _ = kept[node.inputs[0]]
    if axis != int(node.attributes["axis"]) % len(graph.shape(node.inputs[0])):
        return {}
    whole = graph.constants[node.inputs[1]]
    parts = [kept[name][1].sum() if name in kept else count for name, count in zip(node.outputs, whole, strict=True)]
    return {1: np.asarray(parts, whole.dtype)}


def _slice(graph: Graph, node: Node, kept: Kept) -> Constants:
    """Neighbours stay neighbours."""
    (axis, mask), rank = kept[node.inputs[0]], len(graph.shape(node.inputs[0]))
    starts, ends, axes, steps = (graph.constants[name].copy() for name in node.inputs[1:5])
    for place, one in enumerate(axes):
        if int(one) % rank == axis:
            taken = range(len(mask))[slice(int(starts[place]), int(ends[place]), int(steps[place]))]
            starts[place], ends[place] = mask[: taken.start].sum(), mask[: taken.stop].sum()
    return {1: starts, 2: ends}


def _nothing(graph: Graph, node: Node, kept: Kept) -> Constants:
    return {}


_RULES: dict[str, Callable[[Graph, Node, Kept], Constants]] = {
    **dict.fromkeys(MATRICES, _matrix),
    **dict.fromkeys(("Reshape", "Expand", "Resize"), _shape),
    "Split": _split,
    "Slice": _slice,
    **dict.fromkeys(("Concat", "Transpose", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"), _nothing),
    **dict.fromkeys(("Squeeze", "Unsqueeze", "Flatten", "DepthToSpace", "SpaceToDepth", "Pad", "Softmax", "LogSoftmax"), _nothing),
    **dict.fromkeys(
        ("LayerNormalization", "RMSNormalization", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"), _nothing
    ),
}
