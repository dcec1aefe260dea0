"""Squares that are summed, and what becomes of their sums: the statistics of a normalization that is written out in other operators.

A square needs twice the bits of its number, and a variance is often the small difference of two large numbers; 8 bits for these ruin what
is divided by their root. They are few numbers, so they stay in float with what they scale. Normalizations that edgec/passes found again are
one operator, see edgec/quant/floats/attention.py.
"""

from __future__ import annotations

from edgec.ir.graph import Graph, Node

WHY = "the statistics of a normalization, or what they scale"
SUMS = ("ReduceSum", "ReduceMean", "ReduceSumSquare")
# what makes factors and offsets of sums
INSIDE = frozenset(
    {"Add", "Sub", "Mul", "Div", "Pow", "Sqrt", "Reciprocal", "Relu", "Clip", "Max", "Neg", "Abs"}
    | {"Reshape", "Squeeze", "Unsqueeze", "Expand", "Transpose", "Identity"}
)


def written_out(graph: Graph) -> frozenset[Node]:
    """The squares that are summed, the sums, all that is computed of sums alone, and what scales or moves other numbers by that."""
    squares = {node for node in graph.nodes if node.op == "ReduceSumSquare" or (is_square(graph, node) and summed(graph, node))}
    sources = {node.inputs[0] for node in squares} | {name for node in squares for name in node.outputs}
    found, known = set(squares), set[str]()
    for node in graph.nodes if squares else ():
        data = [name for name in node.inputs if name and name not in graph.constants]
        if node.op in SUMS and node.inputs[0] in sources:
            inside = True
        elif node.op in INSIDE and not known.isdisjoint(data):
            inside = known.issuperset(data)
        else:
            continue
        found.add(node)
        known.update(node.outputs if inside else ())
    return frozenset(found)


def summed(graph: Graph, node: Node) -> bool:
    return any(reader.op in SUMS for reader in graph.readers(node.outputs[0]))


def is_square(graph: Graph, node: Node) -> bool:
    """Whether it multiplies computed numbers by themselves."""
    if node.op == "Mul":
        return len(set(node.inputs)) == 1 and node.inputs[0] not in graph.constants
    exponent = graph.constant(node.input(1)) if node.op == "Pow" else None
    return exponent is not None and exponent.size == 1 and float(exponent.item()) == 2.0
