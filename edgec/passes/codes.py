"""Weights that stay codes: what dense layers read through DequantizeLinear, in 8 bits or fewer."""

from __future__ import annotations

from edgec.ir.graph import Graph, Node
from edgec.ops import OPERATORS, Role
from edgec.ops.quantize import FEWEST_CODED, dequantized
from edgec.passes.rewrite import become, derived, rewrites, why_not


def is_dense_weight(graph: Graph, value: str) -> bool:
    """Whether `value` is a constant that DequantizeLinear reads, large, and nothing but the matrix of products."""
    source = graph.producer(value, "DequantizeLinear")
    stored = graph.constant(source.inputs[0]) if source is not None else None
    if stored is None or stored.ndim != 2 or stored.dtype.itemsize != 1 or stored.size <= FEWEST_CODED:
        return False
    return graph.dtype(value).value == "float32" and _feeds_products(graph, value)


def _feeds_products(graph: Graph, value: str) -> bool:
    """Whether all that reads `value`, perhaps through a Transpose, multiplies by it."""
    readers = graph.readers(value)
    return bool(readers) and value not in graph.outputs and all(_multiplies(graph, reader, value) for reader in readers)


def _multiplies(graph: Graph, reader: Node, value: str) -> bool:
    if reader.op == "Transpose":
        return _feeds_products(graph, reader.outputs[0])
    return reader.op in ("MatMul", "Gemm") and reader.inputs[1] == value and reader.inputs.count(value) == 1


def feeds_quantized(graph: Graph, value: str) -> bool:
    """Whether a reader of `value`, perhaps behind data movement, also reads a computed value that was dequantized."""
    seen, front = {value}, [value]
    while front:
        readers = graph.readers(front.pop())
        if any(_is_dequantized(graph, name) for reader in readers for name in reader.inputs):
            return True
        moved = {reader.outputs[0] for reader in readers if _moves(reader)} - seen
        seen |= moved
        front += sorted(moved)
    return False


def _is_dequantized(graph: Graph, value: str) -> bool:
    """Whether `value` is computed, and (the first part of) it comes from a DequantizeLinear, perhaps behind data movement and a
    multiplier by channel."""
    source = graph.producer(value)
    while source is not None and (_moves(source) or source.op == "Concat" or _scales(graph, source)):
        source = graph.producer(source.inputs[0])
    return source is not None and source.op == "DequantizeLinear" and source.inputs[0] not in graph.constants


def _moves(node: Node) -> bool:
    return node.op in OPERATORS and OPERATORS[node.op].role is Role.MOVE


def _scales(graph: Graph, node: Node) -> bool:
    return node.op == "Mul" and graph.constant(node.inputs[1]) is not None


@rewrites("Transpose")
def transpose_codes(graph: Graph, node: Node) -> bool:
    """T(dequantize(q, s, z)) -> dequantize(T(q), T(s), T(z)) for constants of two axes, whose codes nobody else reads."""
    source = graph.producer(node.inputs[0], "DequantizeLinear")
    known = [graph.constant(name) if name else None for name in source.inputs] if source is not None else []
    if source is None or known[0] is None or known[1] is None or known[0].ndim != 2 or node.attributes["perm"] != [1, 0]:
        return False
    if graph.reader_count(source.outputs[0]) > 1:
        return why_not(node, "the codes have another reader")
    inputs = ["" if array is None else graph.add_constant(name, array.T) for name, array in zip(source.inputs, known, strict=True)]
    attributes = {**source.attributes, "axis": 1 - source.attributes.get("axis", 1) % 2}
    return become(graph, node, "DequantizeLinear", inputs, attributes, name=derived(node.name, "DequantizeLinear"))


def decode_weights(graph: Graph) -> None:
    """Let the weights of dense layers be floats, as every rule knows them, but for those of layers that read codes: they are quantized."""
    dense = [node for node in graph.nodes if is_dense_weight(graph, node.outputs[0])]
    for node in [node for node in dense if not feeds_quantized(graph, node.outputs[0])]:
        codes, scale, zero = (graph.constant(name) if name else None for name in (*node.inputs[:2], node.input(2)))
        assert codes is not None and scale is not None
        output, kind = node.outputs[0], graph.types[node.outputs[0]]
        graph.remove([node])
        graph.constants[output], graph.types[output] = dequantized(codes, scale, zero, node.attributes), kind
