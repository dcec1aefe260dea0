"""What layers cost, in a measure that needs no processor: the time of one multiply-accumulate in int8.

A float one takes as long as FLOAT of them (two where int8 is widened to 16 bits, as in AVX2 and NEON; four where the processor has dot
products, as in VNNI and ARMv8.2), and each byte that is written as long as one. Good enough to choose between layers; what a
processor really needs is measured by `edgec bench`. One of codes of 16 bits takes as long as WIDE of them: one
where int8 is widened, two where the processor has dot products.
"""

from __future__ import annotations

from collections.abc import Iterable

from edgec.integer.roles import output_channels, role_of
from edgec.ir.graph import Graph, Node
from edgec.ops.registry import Role
from edgec.quant.selection import Layer, elements

FLOAT = 3.0
WIDE = 2.0


def multiplications(graph: Graph, node: Node) -> int:
    """Multiply-accumulates of an operator with constant weights; 0 for any other."""
    if role_of(graph, node)[0] is not Role.MATRIX:
        return 0
    data, weights = node.inputs[0], graph.constants[node.inputs[1]]
    if node.op == "ConvTranspose":  # each number that is read meets the weights of its channel
        return elements(graph, data) // int(weights.shape[0]) * weights.size
    return elements(graph, node.outputs[0]) // output_channels(node, weights.shape) * weights.size


def layer_cost(graph: Graph, layer: Layer, *, integers: bool) -> float:
    """Its products, and the bytes that it writes."""
    written = sum(elements(graph, name) for name in layer.results)
    return multiplications(graph, layer.node) * (1.0 if integers else FLOAT) + written * (1 if integers and not layer.ends_in_float else 4)


def conversion_cost(graph: Graph, value: str, *, to_float: bool) -> float:
    """Writing a value once more, as codes or as float numbers."""
    return elements(graph, value) * (4.0 if to_float else 1.0)


def saved_bytes(graph: Graph, layer: Layer) -> int:
    """Of weights, which int8 stores in a quarter."""
    return graph.constants[layer.node.inputs[1]].size * 3 if layer.role is Role.MATRIX else 0


def widening_cost(graph: Graph, value: str, readers: Iterable[Layer]) -> float:
    """What it costs that a value has 16 bits, of which `readers` read codes: it is written as floats first, products are slower, and what
    is no product computes in float."""
    return elements(graph, value) * 4.0 + sum(
        multiplications(graph, layer.node) * (WIDE - 1) if layer.role is Role.MATRIX else elements(graph, layer.node.outputs[0]) * 4.0
        for layer in readers
    )
