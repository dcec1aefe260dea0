"""Reshapes, slices and casts: one form, and one instead of two."""

from __future__ import annotations

from math import prod

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType, Shape
from edgec.ops import OPERATORS
from edgec.passes.rewrite import become, emit, fixed_shape, integers, rewrites, why_not

ELEMENTWISE = frozenset(name for name, known in OPERATORS.items() if known.scalar is not None) | {"QuantizeLinear", "DequantizeLinear"}

# Every value of the first type is a value of the second: a cast there loses nothing.
HOLDS: dict[DType, frozenset[DType]] = {
    DType.BOOL: frozenset(DType),
    DType.UINT8: frozenset(DType) - {DType.BOOL, DType.INT8, DType.UINT8},
    DType.INT8: frozenset({DType.INT16, DType.INT32, DType.INT64, DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64}),
    DType.UINT16: frozenset({DType.INT32, DType.UINT32, DType.INT64, DType.UINT64, DType.FLOAT32, DType.FLOAT64}),
    DType.INT16: frozenset({DType.INT32, DType.INT64, DType.FLOAT32, DType.FLOAT64}),
    DType.UINT32: frozenset({DType.INT64, DType.UINT64, DType.FLOAT64}),
    DType.INT32: frozenset({DType.INT64, DType.FLOAT64}),
    DType.FLOAT16: frozenset({DType.FLOAT32, DType.FLOAT64}),
    DType.BFLOAT16: frozenset({DType.FLOAT32, DType.FLOAT64}),
    DType.FLOAT32: frozenset({DType.FLOAT64}),
}


@rewrites("Reshape", "Flatten", "Squeeze", "Unsqueeze")
def canonical_reshape(graph: Graph, node: Node) -> bool:
    """flatten(x), squeeze(x), unsqueeze(x), reshape(x, s) -> reshape(x, constant), all extents written out (a symbol as -1 or 0)."""
    source, target = graph.shape(node.inputs[0]), graph.shape(node.outputs[0])
    wanted = _written_out(source, target)
    if wanted is None:
        return why_not(node, "its extents are zero or several symbols")
    current = graph.constant(node.input(1)) if node.op == "Reshape" else None
    if current is not None and current.tolist() == wanted and not node.attributes["allowzero"]:
        return False
    shape = integers(graph, f"{node.outputs[0]}_shape", wanted)
    return become(graph, node, "Reshape", [node.inputs[0], shape])


def _written_out(source: Shape, target: Shape) -> list[int] | None:
    if 0 in source or 0 in target:
        return None
    copied = [isinstance(extent, int) or (index < len(source) and source[index] == extent) for index, extent in enumerate(target)]
    symbols = sum(not isinstance(extent, int) for extent in target)
    if copied.count(False) > 1:
        return None
    single = symbols == 1
    return [extent if isinstance(extent, int) else -1 if single or not copied[index] else 0 for index, extent in enumerate(target)]


@rewrites("Reshape")
def merge_reshapes(graph: Graph, node: Node) -> bool:
    """reshape(reshape(x)) -> reshape(x)."""
    first = graph.producer(node.inputs[0], "Reshape")
    if first is None:
        return False
    shape = graph.constant(node.inputs[1])
    if shape is None or np.any(shape == 0):
        return why_not(node, "its shape depends on the operand's")
    return become(graph, node, "Reshape", [first.inputs[0], node.inputs[1]])


@rewrites(*ELEMENTWISE)
def sink_reshape(graph: Graph, node: Node) -> bool:
    """f(reshape(x), reshape(y), c) -> reshape(f(x, y, c)) for elementwise f, x and y of one shape, and c of one element or a
    constant over one axis alone that stays what it is."""
    sources = {name: source for name in node.inputs if (source := graph.producer(name, "Reshape")) is not None}
    shapes = {graph.shape(source.inputs[0]) for source in sources.values()}
    target = graph.constant(next(iter(sources.values())).inputs[1]) if sources else None
    if len(shapes) != 1 or target is None or all(graph.reader_count(name) > 1 for name in sources):
        return False
    shape = graph.shape(node.outputs[0])
    if any(graph.shape(name) != shape for name in sources):
        return why_not(node, "it broadcasts the reshaped operand")
    old = next(iter(shapes))
    free = node.op not in ("QuantizeLinear", "DequantizeLinear")  # those count axes from the first one
    axes = {name: _kept_axis(graph, name, shape, old) for name in dict.fromkeys(node.inputs) if free and name not in sources}
    along = {name: behind for name, behind in axes.items() if behind is not None}
    others = [name for name in node.inputs if name and name not in sources and name not in along]
    if any(not graph.types[name].is_static or graph.types[name].elements != 1 for name in others):
        return why_not(node, "another operand has the new shape")
    if np.any(target == 0) or any(len(graph.shape(name)) > len(old) for name in others):
        return why_not(node, "the old shape has fewer axes than an operand")
    before = {name: source.inputs[0] for name, source in sources.items()}
    for name, behind in along.items():
        form = (-1, *[1] * behind)
        if graph.shape(name) != (graph.constants[name].size, *form[1:]):
            before[name] = graph.add_constant(name, graph.constants[name].reshape(form))
    inputs = [before.get(name, name) for name in node.inputs]
    value = emit(graph, node, node.op, inputs, node.attributes, hint=f"{node.outputs[0]}_unshaped", name=node.name)
    return become(graph, node, "Reshape", [value, next(iter(sources.values())).inputs[1]])


def _kept_axis(graph: Graph, name: str, shape: Shape, old: Shape) -> int | None:
    """How many axes of `old` are behind the one over which alone a constant goes, if that is one axis of `shape` that `old` has too."""
    constant = graph.constant(name) if name else None
    if constant is None or constant.size < 2 or constant.size not in constant.shape or constant.ndim > len(shape):
        return None
    behind = constant.ndim - 1 - constant.shape.index(constant.size)
    if shape[len(shape) - 1 - behind] != constant.size:  # it broadcasts the other operand
        return None
    places = _place(shape, behind)
    found = [axes for axes in range(len(old)) if old[len(old) - 1 - axes] == constant.size and _place(old, axes) == places]
    return found[0] if found and places is not None else None


def _place(shape: Shape, behind: int) -> int | None:
    """How many elements lie between neighbours along the axis that so many are behind; None where that is not known."""
    extents = shape[len(shape) - behind :]
    return prod(extent for extent in extents if isinstance(extent, int)) if all(isinstance(extent, int) for extent in extents) else None


@rewrites("Cast")
def merge_casts(graph: Graph, node: Node) -> bool:
    """cast(cast(x, A), B) -> cast(x, B) when A holds every value of x's type."""
    first = graph.producer(node.inputs[0], "Cast")
    if first is None:
        return False
    if graph.dtype(first.outputs[0]) not in HOLDS.get(graph.dtype(first.inputs[0]), frozenset()):
        return why_not(node, "the first cast may round")
    return become(graph, node, "Cast", [first.inputs[0]], node.attributes)


Range = tuple[int, int, int]


@rewrites("Slice")
def merge_slices(graph: Graph, node: Node) -> bool:
    """slice(slice(x)) -> slice(x): start = s1 + s2*step1, step = step1*step2, for positive steps."""
    first = graph.producer(node.inputs[0], "Slice")
    if first is None:
        return False
    inner, outer = slice_ranges(graph, first), slice_ranges(graph, node)
    shape = fixed_shape(graph, node.outputs[0])
    if inner is None or outer is None or shape is None or 0 in shape:
        return why_not(node, "its range is computed, empty or goes backwards")
    merged = []
    for extent, (start, _, step), (start2, _, step2) in zip(shape, inner, outer, strict=True):
        begin, stride = start + start2 * step, step * step2
        merged.append((begin, begin + (extent - 1) * stride + 1, stride))
    source = graph.shape(first.inputs[0])
    axes = [axis for axis, (begin, end, stride) in enumerate(merged) if (begin, end, stride) != (0, source[axis], 1)]
    columns = [[merged[axis][0] for axis in axes], [merged[axis][1] for axis in axes], axes, [merged[axis][2] for axis in axes]]
    return become(graph, node, "Slice", [first.inputs[0], *(integers(graph, f"{node.outputs[0]}_range", column) for column in columns)])


def slice_ranges(graph: Graph, node: Node) -> list[Range] | None:
    """(start, stop, step) of a Slice for every axis of its operand; None unless all are known and steps are positive."""
    shape = fixed_shape(graph, node.inputs[0])
    arrays = [graph.constant(name) if name else None for name in (node.input(index) for index in range(1, 5))]
    if shape is None or any(array is None and node.input(index + 1) for index, array in enumerate(arrays)):
        return None
    starts, ends, axes, steps = ([] if array is None else [int(number) for number in array] for array in arrays)
    ranges = [(0, extent, 1) for extent in shape]
    for index, start in enumerate(starts):
        axis = axes[index] % len(shape) if axes else index
        step = steps[index] if steps else 1
        if step < 1:
            return None
        ranges[axis] = slice(start, ends[index], step).indices(shape[axis])
    return ranges
