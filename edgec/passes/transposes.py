"""Transposes sink towards the outputs, where they meet their inverses. T is one with permutation p: axis k of T(x) is axis p[k] of x.

A rule that sinks T never makes more transposes than there were: it applies when a transpose that only this node reads goes away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.ir.types import TensorType
from edgec.ops import OPERATORS
from edgec.passes.reshapes import ELEMENTWISE
from edgec.passes.rewrite import axes_of, become, emit, fixed_shape, integers, rewrites, why_not

Perm = tuple[int, ...]
REDUCTIONS = tuple(name for name in OPERATORS if name.startswith("Reduce"))


@rewrites("Transpose")
def merge_transposes(graph: Graph, node: Node) -> bool:
    """T_q(T_p(x)) -> T_r(x) with r[k] = p[q[k]]; inverse pairs become the identity, which goes away."""
    first = graph.producer(node.inputs[0], "Transpose")
    if first is None:
        return False
    inner, outer = perm_of(graph, first), perm_of(graph, node)
    return become(graph, node, "Transpose", first.inputs, {"perm": [inner[axis] for axis in outer]})


@rewrites("Transpose")
def transpose_to_reshape(graph: Graph, node: Node) -> bool:
    """T(x) -> reshape(x) when only axes of extent one change places."""
    shape = fixed_shape(graph, node.inputs[0])
    perm = perm_of(graph, node)
    if shape is None or 0 in shape or perm == tuple(range(len(perm))):
        return False
    kept = [axis for axis in perm if shape[axis] != 1]
    if kept != sorted(kept):
        return False
    target = integers(graph, f"{node.outputs[0]}_shape", [shape[axis] for axis in perm])
    return become(graph, node, "Reshape", [node.inputs[0], target])


@rewrites(*ELEMENTWISE)
def sink_through_elementwise(graph: Graph, node: Node) -> bool:
    """f(T(x), T(y), c...) -> T(f(x, y, T^-1(c)...)), for elementwise f, which broadcasts; c a constant or a scalar."""
    perm = _shared_perm(graph, node)
    if perm is None or len(graph.shape(node.outputs[0])) != len(perm):
        return False
    if node.op in ("QuantizeLinear", "DequantizeLinear") and any(graph.types[name].elements > 1 for name in node.inputs[1:] if name):
        return why_not(node, "it has a scale for each channel")
    inputs = [_before(graph, name, perm) for name in node.inputs]
    if None in inputs:
        return why_not(node, "an operand is neither transposed alike nor constant")
    return _sink(graph, node, perm, [name or "" for name in inputs], node.attributes)


@rewrites("Concat")
def sink_through_concat(graph: Graph, node: Node) -> bool:
    """concat(T(x), T(y), c; axis) -> T(concat(x, y, T^-1(c); p[axis]))."""
    perm = _shared_perm(graph, node)
    if perm is None:
        return False
    inputs = [_before(graph, name, perm) for name in node.inputs]
    if None in inputs:
        return why_not(node, "an operand is neither transposed alike nor constant")
    return _sink(graph, node, perm, [name or "" for name in inputs], {"axis": perm[node.attributes["axis"] % len(perm)]})


@rewrites("Pad")
def sink_through_pad(graph: Graph, node: Node) -> bool:
    """pad(T(x), a) -> T(pad(x, a')) with a'[p[k]] = a[k]."""
    perm = _shared_perm(graph, node)
    amounts = graph.constant(node.inputs[1])
    axes = graph.constant(node.input(3)) if node.input(3) else None
    if perm is None or amounts is None or (node.input(3) and axes is None):
        return False
    rank = len(perm)
    moved = np.zeros((2, rank), np.int64)
    named = np.arange(rank) if axes is None else axes.reshape(-1) % rank
    moved[:, np.asarray(perm)[named]] = amounts.reshape(2, -1)
    inputs = [_source(graph, node.inputs[0]), integers(graph, node.inputs[1], moved.reshape(-1).tolist())]
    return _sink(graph, node, perm, [*inputs, *([node.inputs[2]] if node.input(2) else [])], node.attributes)


@rewrites(*REDUCTIONS)
def sink_through_reduction(graph: Graph, node: Node) -> bool:
    """reduce(T(x); axes) -> T'(reduce(x; p[axes])), where T' permutes the axes that are left."""
    perm, axes = _shared_perm(graph, node), axes_of(graph, node)
    if perm is None or not axes:
        return False
    keepdims = node.attributes.get("keepdims", 1)
    before = sorted(perm[axis] for axis in axes)
    left = [axis for axis in range(len(perm)) if axis not in before]
    after = perm if keepdims else tuple(left.index(perm[axis]) for axis in range(len(perm)) if axis not in axes)
    inputs = [_source(graph, node.inputs[0]), integers(graph, node.input(1) or f"{node.outputs[0]}_axes", before)]
    return _sink(graph, node, after, inputs, {**node.attributes, "keepdims": keepdims})


@rewrites("Softmax", "LogSoftmax")
def sink_through_softmax(graph: Graph, node: Node) -> bool:
    """softmax(T(x); axis) -> T(softmax(x; p[axis])), but for a Softmax over the last axis alone, which integers compute (clause 17)."""
    perm = _shared_perm(graph, node)
    if perm is None:
        return False
    last = len(perm) - 1
    given = node.attributes.get("axis", -1) % len(perm)
    axis = perm[given]
    if node.op == "Softmax" and given == last != axis:
        return why_not(node, "it would no longer be over the last axis")
    return _sink(graph, node, perm, [_source(graph, node.inputs[0])], {**node.attributes, "axis": axis})


@rewrites("Slice")
def sink_through_slice(graph: Graph, node: Node) -> bool:
    """slice(T(x); axes) -> T(slice(x; p[axes]))."""
    perm = _shared_perm(graph, node)
    axes = graph.constant(node.input(3)) if node.input(3) else None
    if perm is None or (node.input(3) and axes is None):
        return False
    count = graph.shape(node.inputs[1])[0]
    named = range(count if isinstance(count, int) else 0) if axes is None else axes.reshape(-1).tolist()
    moved = integers(graph, node.input(3) or f"{node.outputs[0]}_axes", [perm[int(axis) % len(perm)] for axis in named])
    return _sink(graph, node, perm, [_source(graph, node.inputs[0]), *node.inputs[1:3], moved, *node.inputs[4:]], node.attributes)


@rewrites("Resize")
def sink_through_resize(graph: Graph, node: Node) -> bool:
    """resize(T(x); s) -> T(resize(x; s')) with s'[p[k]] = s[k]."""
    perm = _shared_perm(graph, node)
    if perm is None or node.input(1) or node.attributes.get("axes"):
        return False
    resized = _resized(graph, node)
    if _is_common(node, resized) and not _is_common(node, resized[np.argsort(perm)]):
        return why_not(node, "ONNX Runtime, which runs what packages have beside the code, would refuse it")
    inputs = [_source(graph, node.inputs[0])]
    for index, name in enumerate(node.inputs[1:], 1):
        array = graph.constant(name) if name else None
        if name and array is None:
            return why_not(node, "its scale is computed")
        moved = None if array is None or array.size == 0 else array[np.argsort(perm)]
        inputs.append("" if moved is None else graph.add_constant(node.inputs[index], moved))
    return _sink(graph, node, perm, inputs, node.attributes)


def _resized(graph: Graph, node: Node) -> np.ndarray:
    """Of each axis whether its scale is not 1."""
    scales = graph.constant(node.input(2)) if node.input(2) else None
    if scales is not None and scales.size:
        return np.asarray(scales != 1)
    one, other = graph.shape(node.inputs[0]), graph.shape(node.outputs[0])
    return np.array([before != behind for before, behind in zip(one, other, strict=True)])


def _is_common(node: Node, resized: np.ndarray) -> bool:
    """Whether ONNX Runtime interpolates along these axes: the last two of pictures, linearly also those before channels, or three."""
    mode, rank = node.attributes.get("mode", "nearest"), len(resized)
    if mode == "nearest" or rank == 2:
        return True
    if mode == "cubic":
        return rank == 4 and not resized[:2].any()
    return rank == 3 or (rank == 4 and not resized[0] and not (resized[1] and resized[3])) or (rank == 5 and not resized[:2].any())


def perm_of(graph: Graph, node: Node) -> Perm:
    """The permutation of a Transpose; reversal when it names none."""
    return tuple(node.attributes.get("perm") or range(len(graph.shape(node.inputs[0])))[::-1])


def _shared_perm(graph: Graph, node: Node) -> Perm | None:
    """The permutation of the transposes that `node` reads, when they agree and one of them goes away once `node` reads its operand."""
    sources = {name: source for name in node.inputs if (source := graph.producer(name, "Transpose")) is not None}
    perms = {perm_of(graph, source) for source in sources.values()}
    if len(perms) != 1 or all(graph.reader_count(name) > 1 for name in sources):
        return None
    return perms.pop()


def _source(graph: Graph, value: str) -> str:
    transpose = graph.producer(value, "Transpose")
    return value if transpose is None else transpose.inputs[0]


def _before(graph: Graph, value: str, perm: Perm) -> str | None:
    """`value` as it was before the transpose: its operand, the constant transposed back, or itself when it has one element."""
    source = graph.producer(value, "Transpose") if value else None
    if source is not None:
        return source.inputs[0]
    if not value or graph.shape(value) == () or (graph.types[value].is_static and graph.shape(value) == (1,)):
        return value
    constant = graph.constant(value)
    if constant is None or constant.ndim > len(perm):
        return None
    padded = constant.reshape((1,) * (len(perm) - constant.ndim) + constant.shape)
    return graph.add_constant(value, np.transpose(padded, np.argsort(perm)))


def _sink(graph: Graph, node: Node, perm: Perm, inputs: Sequence[str], attributes: Mapping[str, Any]) -> bool:
    """Let `node` become T(the same operator on `inputs`)."""
    hint = f"{node.outputs[0]}_untransposed"
    value = emit(graph, node, node.op, inputs, attributes, hint=hint, name=node.name)
    expected = TensorType(graph.dtype(value), tuple(graph.shape(value)[axis] for axis in perm))
    if expected != graph.types[node.outputs[0]]:
        raise RuntimeError(f"sinking a transpose through {node.op} {node.name} gives {expected}, not {graph.types[node.outputs[0]]}")
    if perm == tuple(range(len(perm))):
        return become(graph, node, "Identity", [value])
    return become(graph, node, "Transpose", [value], {"perm": list(perm)})
