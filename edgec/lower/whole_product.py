"""Products of matrices of whole numbers as float products, where every sum of these is a float32: then no order of summing rounds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType, TensorType

EXACT = 1 << 24  # whole numbers up to here are floats, and so are their sums
FEWEST = 64  # products of a sum, below which parts cost more than they save
LARGEST = {DType.UINT8: 255, DType.INT8: 128, DType.BOOL: 1}
MOVES = frozenset(("Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Slice", "Gather", "Expand", "Identity"))
FLOAT, INT = DType.FLOAT32, DType.INT32


def with_float_products(graph: Graph) -> Graph:
    """`graph`, or a copy in which each MatMul of int32 whose numbers are known to be small is one, or a sum of several, of float32."""
    products = [(place, node) for place, node in enumerate(graph.nodes) if node.op == "MatMul" and graph.dtype(node.inputs[0]) is INT]
    found = [(place, bounds) for place, node in products if (bounds := _parts(graph, node))]
    if not found:
        return graph
    graph = graph.copy()
    nodes = list(graph.nodes)
    for place, bounds in found:
        _replace(graph, nodes[place], bounds)
    return graph


def _parts(graph: Graph, node: Node) -> list[int]:
    """Where to cut the sums so that each part is exact: places from 0 to the number of products. Empty where it is not known to be."""
    first, second = (largest(graph, name) for name in node.inputs)
    if first is None or second is None or not graph.types[node.inputs[0]].is_static:
        return []
    inner, weights = int(graph.types[node.inputs[0]].static_shape[-1]), graph.constant(node.inputs[1])
    if weights is None or weights.ndim < 2:
        step = EXACT // max(first * second, 1)
        return [*range(0, inner, step), inner] if step >= min(FEWEST, inner) else []
    sizes = first * np.abs(weights.astype(np.int64)).reshape(-1, *weights.shape[-2:])
    if sizes.max(initial=0) > EXACT:
        return []
    cuts, total = [0], np.zeros((len(sizes), weights.shape[-1]), np.int64)
    for place in range(inner):
        total = total + sizes[:, place]
        if total.max(initial=0) > EXACT:
            cuts.append(place)
            total = sizes[:, place].copy()
    return [*cuts, inner] if len(cuts) == 1 or inner >= FEWEST * len(cuts) else []


def largest(graph: Graph, name: str) -> int | None:
    """What no number of this value is larger than, by its magnitude; None where nothing is known."""
    node = graph.producer(name)
    while node is not None and (node.op in MOVES or pads_with_zeros(graph, node)):
        name = node.inputs[0]
        node = graph.producer(name)
    constant = graph.constant(name)
    if constant is not None:
        return int(np.abs(constant.astype(np.int64)).max(initial=0))
    if node is not None and node.op == "Cast":
        return LARGEST.get(graph.dtype(node.inputs[0]))
    kinds = {codes_behind(graph, operand) for operand in node.inputs} if node is not None and node.op == "Sub" else set()
    return 255 if len(kinds) == 1 and kinds <= {DType.UINT8, DType.INT8} else None


def pads_with_zeros(graph: Graph, node: Node) -> bool:
    fill = graph.constant(node.input(2)) if node.op == "Pad" and node.input(2) else None
    return node.op == "Pad" and (not node.input(2) or (fill is not None and not fill.any()))


def codes_behind(graph: Graph, name: str) -> DType | None:
    """The type of 8 bits that a value was made of."""
    node = graph.producer(name)
    while node is not None and node.op in MOVES:
        node = graph.producer(node.inputs[0])
    return graph.dtype(node.inputs[0]) if node is not None and node.op == "Cast" else None


def _replace(graph: Graph, node: Node, bounds: list[int]) -> None:
    """cast(sum over parts of cast(cast(a[..., part]) @ cast(b[part, ...]))), the casts of constants done."""
    shape, sums = graph.types[node.outputs[0]].shape, []
    a, b = (_as_float(graph, node, name) for name in node.inputs)
    for start, end in pairwise(bounds):
        parts = (a, b) if len(bounds) == 2 else (_cut(graph, node, a, -1, start, end), _cut(graph, node, b, -2, start, end))
        product = _add(graph, node, "MatMul", list(parts), TensorType(FLOAT, shape), {})
        if len(bounds) == 2:
            read_as_float(graph, node.outputs[0], product)
        sums.append(_add(graph, node, "Cast", [product], TensorType(INT, shape), {"to": INT.value}))
    total = sums[0]
    for other in sums[1:]:
        total = _add(graph, node, "Add", [total, other], TensorType(INT, shape), {})
    (name,) = node.outputs
    graph.rewire(node, [total])
    node.op, node.attributes = "Identity", {}
    assert graph.producer(name) is node


def read_as_float(graph: Graph, name: str, product: str) -> None:
    """Who takes the whole numbers as floats again may have these."""
    for reader in graph.readers(name):
        if reader.op == "Cast" and reader.attributes["to"] == FLOAT.value:
            graph.rewire(reader, [product])
            reader.op, reader.attributes = "Identity", {}


def _as_float(graph: Graph, node: Node, name: str) -> str:
    constant = graph.constant(name)
    if constant is not None:
        return graph.add_constant(f"{name}_float", constant.astype(np.float32))
    return _add(graph, node, "Cast", [name], TensorType(FLOAT, graph.shape(name)), {"to": FLOAT.value})


def _cut(graph: Graph, node: Node, name: str, axis: int, start: int, end: int) -> str:
    constant, shape = graph.constant(name), list(graph.shape(name))
    axis = 0 if len(shape) == 1 else axis % len(shape)
    if constant is not None:
        return graph.add_constant(f"{name}_part", constant.take(range(start, end), axis))
    shape[axis] = end - start
    ends = [
        graph.add_constant(f"{name}_{what}", np.array([value]))
        for what, value in (("start", start), ("end", end), ("axis", axis), ("step", 1))
    ]
    return _add(graph, node, "Slice", [name, *ends], TensorType(FLOAT, tuple(shape)), {})


def _add(graph: Graph, node: Node, op: str, inputs: list[str], kind: TensorType, attributes: dict[str, str]) -> str:
    name = graph.fresh(f"{node.outputs[0]}_{op}")
    graph.insert(Node(op, inputs, [name], dict(attributes), node.name), [kind], before=node)
    return name
