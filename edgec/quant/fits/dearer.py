"""What steps that make every run longer must gain for it, in dB of the outputs.

The time is told in multiply-accumulates, of those that the whole network has. Parts of a split value have as many channels as kernels
compute at once, or a multiple of it; the function of a sum takes as long as so many products on ARM, whose table would take hardly any.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from edgec.ir.graph import Graph
from edgec.quant.channels.split import LANES, Groups, find_chain
from edgec.quant.scope.cost import multiplications
from edgec.quant.scope.coverage import elements

LEAST = 0.25  # dB, however little time it takes
TWICE = 4.0  # dB for twice the time
OF_A_RESULT = 60.0  # 10 to 12 instructions, where a product takes .2
OF_A_FACTOR = 5.0  # an instruction, and one that reads it
OF_PADDING = 2.0  # few channels lie in large images, where kernels are at their slowest


def due_for_functions(graph: Graph, sums: Collection[str]) -> float:
    """sums: of which functions are computed in place of tables."""
    return _due(graph, OF_A_RESULT * sum(elements(graph, value) for value in sums))


def due_for_features(graph: Graph, values: Collection[str]) -> float:
    """values: each number of which is multiplied before it is stored."""
    return _due(graph, OF_A_FACTOR * sum(elements(graph, value) for value in values)) if values else 0.0


def due_for_splits(graph: Graph, splits: Mapping[str, Groups]) -> float:
    return _due(graph, OF_PADDING * sum(_padding(graph, value, groups) for value, groups in splits.items()))


def _due(graph: Graph, more: float) -> float:
    return max(LEAST, TWICE * more / max(sum(multiplications(graph, node) for node in graph.nodes), 1))


def _padding(graph: Graph, value: str, groups: Groups) -> float:
    """How many products more its convolutions have, and those that read it channel by channel."""
    producer = graph.producer(value)
    chain = find_chain(graph, producer) if producer is not None else None
    channels = sum(map(len, groups))
    more = sum(map(_padded, map(len, groups))) - _padded(channels)
    return sum(multiplications(graph, node) for node in chain.nodes if node.op == "Conv") * more / channels if chain else 0.0


def _padded(channels: int) -> int:
    return -(-channels // LANES[0]) * LANES[0]
