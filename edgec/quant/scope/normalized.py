"""What scales, shifts and bounds the channels of a normalization that stays in float: it is a part of that, and in float with it.

Files have a normalization of groups as one without a scale, a Reshape, and a product and a sum with numbers of each channel. Were each of
these stored in 8 bits, what a function or product reads behind them would have been rounded three times, for numbers that are floats
anyway; and before a Relu half of the 256 numbers are for what it takes away.
"""

from __future__ import annotations

from collections.abc import Collection

from edgec.ir.graph import Graph, Node

WHY = "scales, shifts or bounds what a normalization in float gives"
NORMALIZATION = "InstanceNormalization"  # groups, mean and variance, and norms of vectors come as this, or written out
STEPS = frozenset({"Mul", "Add", "Sub", "Div", "Relu", "Clip", "LeakyRelu"})
MOVES = frozenset({"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose", "Identity"})


def behind_normalizations(graph: Graph, written: Collection[Node]) -> frozenset[Node]:
    """The steps by constants behind float normalizations, and what moves numbers to them. written: normalizations in other operators."""
    found: set[Node] = set()
    given = {name for node in written for name in node.outputs}
    for node in graph.nodes:
        moves = _moved(graph, node, given) if node.op in STEPS else None
        if moves is not None:
            found.update([*moves, node])
        if moves is not None or node.op == NORMALIZATION:
            given.update(node.outputs)
    return frozenset(found)


def _moved(graph: Graph, node: Node, given: Collection[str]) -> list[Node] | None:
    """What moves one of these values to a node that reads nothing else but constants; None where another reaches it."""
    read, moves = [name for name in node.inputs if name and name not in graph.constants], list[Node]()
    while len(read) == 1 and read[0] not in given:
        maker = graph.producer(read[0])
        if maker is None or maker.op not in MOVES:
            return None
        moves.append(maker)
        read = maker.inputs[:1]
    return moves if len(read) == 1 else None
