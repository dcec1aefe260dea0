"""Split a value whose channels need very different scales.

conv -> unary functions -> depthwise conv -> unary functions works channel by channel behind the first convolution. So its channels may be
dealt into groups, each with nodes and parameters of its own, and joined by a Concat behind the depthwise convolution; the convolutions
that read on take their columns in the new order. This is exact, and it is the way out where a function in between (Swish), as a table,
forbids to equalize by factors, or where they do not do as much.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from edgec.integer.roles import role_of
from edgec.ir.graph import Graph, Node
from edgec.ir.types import TensorType
from edgec.ops.registry import Role
from edgec.quant.channels.streams import COMMUTING, rectifier

MOST_GROUPS = 3
WORTH = 10.0  # the predicted noise of the value falls by this factor (10 dB), or it stays whole
WORTH_MORE = 4.0  # and by this for one group more
LANES = (16, 8)  # channels that kernels compute at once: of a value with four times as many, parts hold multiples of it

Groups = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Chain:
    """The nodes that are split, the first a convolution, and the last's output."""

    nodes: tuple[Node, ...]

    @property
    def value(self) -> str:
        return self.nodes[0].outputs[0]

    @property
    def before_depthwise(self) -> tuple[Node, ...]:
        """The first convolution, and the functions behind it."""
        depthwise = next(place for place, node in enumerate(self.nodes) if place and node.op == "Conv")
        return self.nodes[:depthwise]

    @property
    def end(self) -> str:
        return self.nodes[-1].outputs[0]


def find_chain(graph: Graph, node: Node) -> Chain | None:
    """The chain that starts at the convolution `node`, when its end is read by plain convolutions only."""
    if node.op != "Conv" or node.attributes.get("group", 1) != 1 or not all(name in graph.constants for name in node.inputs[1:] if name):
        return None
    nodes = [node, *unary_behind(graph, node.outputs[0])]
    depthwise = only_reader(graph, nodes[-1].outputs[0])
    channels = graph.constants[node.inputs[1]].shape[0]
    if depthwise is None or depthwise.op != "Conv" or depthwise.attributes.get("group", 1) != channels:
        return None
    weights = graph.constant(depthwise.inputs[1])
    if weights is None or weights.shape[0] != channels or channels == 1:
        return None
    nodes += [depthwise, *unary_behind(graph, depthwise.outputs[0])]
    end = nodes[-1].outputs[0]
    readers = graph.readers(end)
    plain = all(
        reader.op == "Conv" and reader.attributes.get("group", 1) == 1 and reader.inputs[1] in graph.constants for reader in readers
    )
    return Chain(tuple(nodes)) if readers and plain and end not in graph.outputs else None


def only_reader(graph: Graph, value: str) -> Node | None:
    return graph.readers(value)[0] if graph.reader_count(value) == 1 and graph.readers(value) else None


def unary_behind(graph: Graph, value: str) -> list[Node]:
    """The elementwise functions of one operand, the first of which alone reads `value`, and each other one the one before it."""
    found: list[Node] = []
    while (reader := only_reader(graph, value)) is not None and role_of(graph, reader)[0] is Role.TABLE:
        others = [name for name in reader.inputs if name and name != value]
        if len(others) + 1 < sum(map(bool, reader.inputs)) or any(graph.constants[name].size > 1 for name in others):
            break
        found.append(reader)
        value = reader.outputs[0]
    return found


def choose_splits(
    graph: Graph,
    stored: Collection[str],
    widths: Mapping[str, np.ndarray],
    weights: Mapping[str, np.ndarray],
    excluded: Collection[str] = (),
) -> dict[str, list[list[int]]]:
    """The groups of channels for each value that is worth it.

    stored: the values that have 8 bits; widths: largest magnitude per channel; weights: how much errors matter;
    excluded: names of nodes that stay in float, and so stay as they are.
    """
    splits = {}
    for node in graph.nodes:
        chain = find_chain(graph, node)
        if chain is None or any(part.name in excluded for part in chain.nodes) or equalizable(graph, chain):
            continue
        first = next((node.outputs[0] for node in chain.before_depthwise if node.outputs[0] in stored), chain.value)
        if len(widths.get(first, ())) != len(weights.get(first, ())):
            continue
        groups = group_channels(widths[first], weights[first])
        if len(groups) > 1:
            splits[chain.value] = groups
    return splits


def equalizable(graph: Graph, chain: Chain) -> bool:
    """Whether factors do as much for what the depthwise convolution reads, and cost nothing."""
    return all(node.op in COMMUTING or rectifier(graph, node) for node in chain.before_depthwise[1:])


def group_channels(widths: np.ndarray, weights: np.ndarray) -> list[list[int]]:
    """Channels by rising width, cut where the sum over groups of (widest)^2 * sum of weights is least."""
    order = np.argsort(widths, kind="stable")
    wide, sums = widths[order] ** 2, np.concatenate([[0.0], np.cumsum(weights[order])])

    def cost(cuts: tuple[int, ...]) -> float:
        ends = (0, *cuts, len(order))
        return float(sum(wide[end - 1] * (sums[end] - sums[begin]) for begin, end in pairwise(ends)))

    best: tuple[int, ...] = ()
    for count in range(1, min(MOST_GROUPS, len(order))):
        cuts = min(combinations(candidates(wide), count), key=cost, default=())
        if cuts and cost(cuts) * WORTH_MORE < cost(best):
            best = cuts
    if cost(best) * WORTH > cost(()):
        return [list(range(len(order)))]
    ends = (0, *best, len(order))
    return [sorted(int(channel) for channel in order[begin:end]) for begin, end in pairwise(ends)]


def candidates(wide: np.ndarray) -> list[int]:
    """Places to cut: the 32 largest jumps of the width where kernels lose little."""
    jumps = wide[1:] / np.maximum(wide[:-1], 1e-30)
    step = next((lanes for lanes in LANES if len(wide) >= 4 * lanes), 1)
    return sorted([int(place) + 1 for place in np.argsort(-jumps, kind="stable") if (place + 1) % step == 0][:32])


def apply_splits(graph: Graph, splits: Mapping[str, Groups]) -> dict[str, tuple[str, list[int]]]:
    """Split in place. Returns for each new value the old one and the channels of it that it holds."""
    origins: dict[str, tuple[str, list[int]]] = {}
    for value, groups in splits.items():
        producer = graph.producer(value)
        chain = find_chain(graph, producer) if producer else None
        if chain is not None:
            origins |= split(graph, chain, groups)
    return origins


def split(graph: Graph, chain: Chain, groups: Groups) -> dict[str, tuple[str, list[int]]]:
    origins: dict[str, tuple[str, list[int]]] = {}
    first, ends = chain.nodes[0], []
    for serial, group in enumerate(groups):
        channels = list(group)
        read = current = first.inputs[0]
        for node in chain.nodes:
            current = part_of(graph, node, {read: current}, channels, f"part{serial}", first)
            read = node.outputs[0]
            origins[current] = (read, channels)
        ends.append(current)
    order = [channel for group in groups for channel in group]
    kind, readers = graph.types[chain.end], graph.readers(chain.end)
    joined = graph.fresh(f"{chain.end}_joined")
    graph.insert(Node("Concat", ends, [joined], {"axis": 1}, f"{chain.nodes[-1].name}_join"), [kind], before=first)
    origins[joined] = (chain.end, order)
    for reader in readers:
        weights = np.ascontiguousarray(graph.constants[reader.inputs[1]][:, order])
        reader.inputs = [joined, graph.add_constant(reader.inputs[1], weights), *reader.inputs[2:]]
    graph.touched()
    graph.remove(chain.nodes)
    return origins


def split_values(graph: Graph, splits: Collection[str]) -> frozenset[str]:
    """What there is in parts only when these values are split."""
    chains = [find_chain(graph, producer) for value in splits if (producer := graph.producer(value)) is not None]
    return frozenset(node.outputs[0] for chain in chains if chain is not None for node in chain.nodes)


def part_of(graph: Graph, node: Node, sources: Mapping[str, str], channels: list[int], suffix: str, before: Node) -> str:
    """A copy of `node` for some of its channels. sources: what it reads instead of what. Returns its output."""
    attributes, inputs = dict(node.attributes), [sources.get(name, name) for name in node.inputs]
    if node.op == "Conv":
        inputs = [inputs[0], *(graph.add_constant(f"{name}_{suffix}", graph.constants[name][channels]) for name in node.inputs[1:] if name)]
        if attributes.get("group", 1) != 1:
            attributes["group"] = len(channels)
    kind = graph.types[node.outputs[0]]
    output = graph.fresh(f"{node.outputs[0]}_{suffix}")
    narrowed = TensorType(kind.dtype, (kind.shape[0], len(channels), *kind.shape[2:]))
    graph.insert(Node(node.op, inputs, [output], attributes, f"{node.name}_{suffix}"), [narrowed], before=before)
    return output
