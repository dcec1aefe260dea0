"""What each operator does with channels: hands them on, brings them together, ends them; or is not understood, and all must stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from edgec.base.errors import ModelError
from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType
from edgec.ops.evaluate import evaluate
from edgec.ops.registry import OPERATORS
from edgec.prune.channels import FIXED, Cells, Channels

MATRICES = ("Conv", "ConvTranspose", "Gemm", "MatMul")
MOVES = ("Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Slice", "Split", "DepthToSpace", "SpaceToDepth", "Expand")
POOLS = ("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool")
REDUCTIONS = ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd")


def find_cells(graph: Graph) -> Cells:
    """The cells of a float graph."""
    cells = Cells()
    for node in graph.nodes:
        reason = (_RULES.get(node.op) or _other)(graph, node, cells)
        for value in node.inputs if reason else ():
            cells.fix(value, f"{reason} ({node.op} {node.name or node.outputs[0]})")
    for value in graph.outputs:
        cells.fix(value, "an output of the model")
    return cells


def weighs(graph: Graph, node: Node) -> bool:
    """Whether the node multiplies computed data with a constant matrix, and adds a constant or nothing."""
    if node.op not in MATRICES or node.inputs[0] in graph.constants or graph.dtype(node.outputs[0]) is not DType.FLOAT32:
        return False
    if any(name and name not in graph.constants for name in node.inputs[1:]):
        return False
    return node.op in ("Conv", "ConvTranspose") or (graph.constants[node.inputs[1]].ndim == 2 and not node.attributes.get("transA", 0))


def groups_of(node: Node) -> int:
    return int(node.attributes.get("group", 1))


def depthwise(graph: Graph, node: Node) -> bool:
    """Whether each of several groups reads one channel."""
    return groups_of(node) > 1 and graph.types[node.inputs[0]].static_shape[1] == groups_of(node)


# Each rule gives "", or why the channels of what the node reads must stay


def _matrix(graph: Graph, node: Node, cells: Cells) -> str:
    if not weighs(graph, node):
        return "its weights are not constant"
    (source, output), groups = (node.inputs[0], node.outputs[0]), groups_of(node)
    axis = 1 if node.op in ("Conv", "ConvTranspose") else len(graph.shape(source)) - 1
    last = 1 if node.op in ("Conv", "ConvTranspose") else len(graph.shape(output)) - 1
    count, read = graph.types[output].static_shape[last], cells.of.get(source)
    if read is not None and read.axis != axis:
        return "it sums over another axis"
    if depthwise(graph, node):
        if read is not None:
            cells.of[output] = Channels(last, np.repeat(read.cells, count // groups))
        return ""
    cells.of[output] = Channels(last, cells.fresh(output, count))
    if groups > 1:
        for channels in (cells.of[output], read):
            if channels is not None:
                cells.unite_rows(channels.cells.reshape(groups, -1))
    return ""


def _elementwise(graph: Graph, node: Node, cells: Cells) -> str:
    output, rank = node.outputs[0], len(graph.shape(node.outputs[0]))
    computed = [name for name in node.inputs if name and name not in graph.constants]
    found = {(channels.axis + rank - len(graph.shape(name)), name): channels for name, channels in _known(cells, computed)}
    axes = {axis for axis, _ in found}
    if not axes:
        return ""
    (axis, *more), extents = sorted(axes), graph.types[output].static_shape
    if more:
        return "channels lie along different axes"
    if any(_extent(graph, name, axis, rank) not in (1, extents[axis]) for name in computed):
        return "extents that do not fit"
    whole = [name for name in computed if _extent(graph, name, axis, rank) == extents[axis]]
    if any(name not in cells.of for name in whole) or any(len(one.cells) != extents[axis] for one in found.values()):
        return "it is joined with numbers that no layer makes"
    first, *rest = found.values()
    cells.of[output] = Channels(axis, first.cells)
    for channels in rest:
        cells.unite(first.cells, channels.cells)
    return ""


def _extent(graph: Graph, value: str, axis: int, rank: int) -> int:
    """Of a value that is broadcast to `rank`, along `axis` of the result."""
    shape = graph.types[value].static_shape
    place = axis - (rank - len(shape))
    return shape[place] if place >= 0 else 1


def _known(cells: Cells, values: list[str]) -> Iterator[tuple[str, Channels]]:
    return ((name, cells.of[name]) for name in values if name in cells.of)


def _pool(graph: Graph, node: Node, cells: Cells) -> str:
    read = cells.of.get(node.inputs[0])
    if read is not None and (read.axis != 1 or any(node.outputs[1:])):
        return "it pools over channels, or gives places"
    return _hand_on(node, cells)


def _hand_on(node: Node, cells: Cells) -> str:
    if node.inputs[0] in cells.of:
        cells.of[node.outputs[0]] = cells.of[node.inputs[0]]
    return ""


def _along(graph: Graph, node: Node, cells: Cells) -> str:
    """Softmax and its kin."""
    read = cells.of.get(node.inputs[0])
    rank = len(graph.shape(node.inputs[0]))
    first = int(node.attributes.get("axis", -1)) % rank
    normalized = range(first, rank) if node.op in ("LayerNormalization", "RMSNormalization") else (first,)
    if read is not None and read.axis in normalized:
        return "it compares channels with each other"
    return _hand_on(node, cells)


def _reduction(graph: Graph, node: Node, cells: Cells) -> str:
    read, rank = cells.of.get(node.inputs[0]), len(graph.shape(node.inputs[0]))
    if read is None:
        return ""
    axes = graph.constant(node.input(1)) if node.input(1) else None
    if axes is None or read.axis in {int(axis) % rank for axis in axes.ravel()}:
        return "it sums over channels"
    less = 0 if node.attributes.get("keepdims", 1) else sum(int(axis) % rank < read.axis for axis in axes.ravel())
    cells.of[node.outputs[0]] = Channels(read.axis - less, read.cells)
    return ""


def _pad(graph: Graph, node: Node, cells: Cells) -> str:
    read, pads = cells.of.get(node.inputs[0]), graph.constant(node.inputs[1])
    rank = len(graph.shape(node.inputs[0]))
    if read is not None and (pads is None or len(pads) != 2 * rank or node.input(3) or pads[read.axis] or pads[read.axis + rank]):
        return "it pads channels"
    return _hand_on(node, cells)


def _resize(graph: Graph, node: Node, cells: Cells) -> str:
    read, source, output = cells.of.get(node.inputs[0]), node.inputs[0], node.outputs[0]
    if read is not None and (graph.shape(source)[read.axis] != graph.shape(output)[read.axis] or node.attributes.get("axes")):
        return "it resizes channels"
    return _hand_on(node, cells)


def _concat(graph: Graph, node: Node, cells: Cells) -> str:
    known = [channels for _, channels in _known(cells, node.inputs)]
    arrays = [_spread(graph, name, cells) for name in node.inputs]
    if known:
        axis = int(node.attributes["axis"]) % len(graph.shape(node.outputs[0]))
        _settle(node.outputs[0], np.concatenate(arrays, axis=axis), known[0].axis, cells)
    return ""


def _move(graph: Graph, node: Node, cells: Cells) -> str:
    """Cells are moved as the numbers are."""
    if node.inputs[0] not in cells.of:
        return ""
    rest = [graph.constant(name) if name else None for name in node.inputs[1:]]
    if any(array is None and name for array, name in zip(rest, node.inputs[1:], strict=True)):
        return "its operands are not constant"
    if node.op == "Slice" and _strides(node, rest, cells.of[node.inputs[0]].axis, len(graph.shape(node.inputs[0]))):
        return "it leaves channels out in between"
    try:
        moved = evaluate(node, [np.ascontiguousarray(_spread(graph, node.inputs[0], cells)), *rest])
    except ModelError:
        return "it is not understood"
    for output, array in zip(node.outputs, moved, strict=True):
        _settle(output, array, None, cells)
    return ""


def _strides(node: Node, rest: list[np.ndarray | None], axis: int, rank: int) -> bool:
    """Whether a Slice takes other than neighbours along `axis`."""
    _, _, axes, steps = rest
    assert axes is not None and steps is not None
    return any(int(one) % rank == axis and step != 1 for one, step in zip(axes, steps, strict=True))


def _spread(graph: Graph, value: str, cells: Cells) -> np.ndarray:
    """The cell of every number of a value."""
    shape, channels = graph.types[value].static_shape, cells.of.get(value)
    if channels is None:
        return np.full(shape, FIXED)
    along = [len(channels.cells) if axis == channels.axis else 1 for axis in range(len(shape))]
    return np.broadcast_to(channels.cells.reshape(along), shape)


def _settle(value: str, spread: np.ndarray, preferred: int | None, cells: Cells) -> None:
    """The channels of a value whose numbers have these cells: where they lie along several axes, all of an index of one go together."""
    varying = [axis for axis in range(spread.ndim) if (spread != np.take(spread, [0], axis)).any()]
    if not varying:
        varying = [axis for axis in range(spread.ndim) if spread.shape[axis] > 1][:1] or [0]
    axis = preferred if preferred in varying else max(varying, key=lambda one: (spread.shape[one], one))
    rows = np.moveaxis(spread, axis, -1).reshape(-1, spread.shape[axis])
    if len(varying) > 1:
        cells.unite_rows(np.unique(rows, axis=0))
    cells.of[value] = Channels(axis, rows[0])


def _other(graph: Graph, node: Node, cells: Cells) -> str:
    known = OPERATORS.get(node.op)
    if known is not None and known.scalar is not None and len(node.outputs) == 1:
        return _elementwise(graph, node, cells)
    return "it is not understood"


_Rule = Callable[[Graph, Node, Cells], str]
_RULES: dict[str, _Rule] = {
    **dict.fromkeys(MATRICES, _matrix),
    **dict.fromkeys(POOLS, _pool),
    **dict.fromkeys(REDUCTIONS, _reduction),
    **dict.fromkeys(MOVES, _move),
    **dict.fromkeys(("Softmax", "LogSoftmax", "LayerNormalization", "RMSNormalization"), _along),
    "Concat": _concat,
    "Pad": _pad,
    "Resize": _resize,
}
