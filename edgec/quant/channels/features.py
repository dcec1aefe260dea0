"""Equalize features: the numbers along the last axis of what matrices read, so that one scale fits them all.

A spectrum has some bins far louder than the others, a normalization some channels; what is quiet has few of the 256 codes. Where all that
read v are columns of matrices, v / r may be stored in place of v, with the columns times r. Who writes v takes 1 / r for nothing where that
is a matrix, also before a Relu, or a LayerNormalization; what comes in float, as a graph's input, is multiplied by it before it is stored,
one multiplication for each number. See edgec/quant/channels/equalize.py for channels of convolutions, whose streams end where features
begin.

Each r is the square root of how far the feature goes, of the widest one: half the unevenness goes to the weights, whose columns become as
uneven. So a feature may go on other data as far as the geometric mean of its own and the widest one's end, no further: the step must gain
RISK for that, see edgec/quant/trials/steps.py. What few samples showed may go farther than they say, and gets more room for that; what none
showed may go anywhere, and gets as much room as its columns may be wide for nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import escape

import numpy as np

from edgec.integer.roles import channel_axis, role_of
from edgec.ir.graph import Graph, Node
from edgec.ops.registry import Role
from edgec.quant.runs.statistics import Extent
from edgec.quant.scope.coverage import Selection, select
from edgec.quant.scope.patches import grouped_rows

MOVED = frozenset({"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"})  # keep the last axis where its extent stays
RECTIFIED = frozenset({"LeakyRelu", "Relu"})
NARROWEST = 1 / 256  # of the widest feature: emptier ones are not blown up further
STRENGTH = 0.5
FEWEST = 2  # samples: of one nothing says how far its quiet features go elsewhere
FEW = 8.0  # samples that speak for a feature: of fewer nobody knows how far it goes
WORTH = 1.0  # dB less noise in what the matrices give, as far as ranges and weights tell


@dataclass(frozen=True)
class Feature:
    """A value and what is moved or rectified of it, all with the same factors; `readers` of it, which lead to nothing but `matrices`.

    writer: whose constants take the factors; None: the value is multiplied, for these readers.
    """

    origin: str
    values: tuple[str, ...]
    readers: tuple[Node, ...]
    matrices: tuple[Node, ...]
    writer: Node | None


def find_features(graph: Graph) -> dict[str, Feature]:
    """By their origin, in the order of the graph."""
    leading = _leading(graph)
    found: dict[str, Feature] = {}
    for value in [*graph.inputs, *(name for node in graph.nodes for name in node.outputs if name)]:
        kind = graph.types[value]
        readers = [node for node in graph.readers(value) if id(node) in leading and node.inputs[0] == value]
        producer = graph.producer(value)
        moved = producer is not None and value in _behind(graph, producer) and id(producer) in leading
        if moved or not readers or kind.static_shape[-1] == 1 or not kind.dtype.is_float:
            continue
        values, matrices = _reached(graph, readers)
        if _shared(graph, matrices):
            continue
        whole = len(readers) == len(graph.readers(value)) and value not in graph.outputs
        found[value] = Feature(value, (value, *values), tuple(readers), tuple(matrices), _writer(graph, producer) if whole else None)
    return found


def feature_counts(graph: Graph) -> dict[str, int]:
    """How many features each value has."""
    return {value: graph.types[value].static_shape[-1] for one in find_features(graph).values() for value in one.values}


def is_standardized(graph: Graph, value: str) -> bool:
    """Whether a graph's input is this less a middle and by a scale of each feature: such features go equally far but by chance.

    Of n numbers none is more than sqrt(n) deviations from their middle: what goes further was not like that when it was standardized.
    """
    met: set[bool] = set()
    node = graph.producer(value)
    while node is not None and node.op in ("Add", "Sub", "Mul"):
        data = [name for name in node.inputs if graph.constant(name) is None]
        sizes = [graph.types[name].elements for name in node.inputs if name not in data]
        if len(data) != 1 or sizes == [1]:
            return False
        met.add(node.op == "Mul")
        value = data[0]
        node = graph.producer(value)
    return value in graph.inputs and len(met) == 2


def choose_features(
    graph: Graph, selection: Selection, extents: Mapping[str, Extent], count: int, coded: Collection[str] = ()
) -> dict[str, np.ndarray]:
    """The factors (float32) of every origin that is worth equalizing, by what was seen of `count` samples. coded: what comes in codes."""
    layers = {id(layer.node) for layer in selection.matrices}
    stored = defaultdict[str, set[int]](set)  # the nodes that read a value as codes
    for layer in selection.layers:
        for name in layer.operands:
            stored[name].add(id(layer.node))
    found = {}
    for value, feature in find_features(graph).items() if count >= FEWEST else ():
        known = [extents[name] for name in feature.values if name in extents]
        matrices = [node for node in feature.matrices if id(node) in layers]
        held = any(value in names for names in (selection.produced, graph.states, coded)) or not stored[value] <= {
            *map(id, feature.readers)
        }
        fixed = feature.writer is None and held
        if not known or not matrices or fixed:
            continue
        largest = _reach(known)
        square = np.maximum.reduce([one.square for one in known]) / count
        widest = largest.max()
        rows = count * graph.types[value].elements // len(largest)
        if not 0 < widest < np.inf or (is_standardized(graph, value) and widest <= np.sqrt(rows) * np.median(largest)):
            continue
        factors = (np.maximum(largest / widest, NARROWEST) ** STRENGTH).astype(np.float32)
        factors = _roomy(graph, matrices, factors, largest == 0)
        noise = [_noise(graph, matrices, largest / r, square / r**2, r) for r in (np.ones(len(factors)), factors.astype(np.float64))]
        if noise[0] > noise[1] * 10 ** (WORTH / 10):
            found[value] = factors
    return found


def _reach(known: Sequence[Extent]) -> np.ndarray:
    """How far each feature goes: as far as it was seen, but where few samples speak for it.

    Of k that do there is, by the rule of succession, one chance to k that the next one goes as far as that of the widest feature.
    """
    largest, speak = (np.maximum.reduce(each) for each in zip(*((one.largest, one.speak) for one in known), strict=True))
    return np.asarray(np.where((largest > 0) & (speak < FEW), (speak * largest + largest.max()) / (speak + 1), largest))


def _roomy(graph: Graph, matrices: Iterable[Node], factors: np.ndarray, unseen: np.ndarray) -> np.ndarray:
    """The factors where features that no sample showed have the largest with which no row of weights gets a coarser scale."""
    room = np.ones(len(factors))
    for node in matrices if unseen.any() else ():
        columns = np.abs(grouped_rows(graph, node)[0])
        rows = (columns * np.where(unseen, 0, factors)).max(axis=1, keepdims=True)
        room = np.minimum(room, np.divide(rows, columns, out=np.full(columns.shape, np.inf), where=columns > 0).min(axis=0))
    return np.where(unseen, np.maximum(room, factors), factors).astype(np.float32)


def multiplied(graph: Graph, origins: Collection[str]) -> list[str]:
    """Those that nobody's constants take the factors of."""
    return [value for value, feature in find_features(graph).items() if value in origins and feature.writer is None]


def spread(graph: Graph, origins: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The factors of all values of these features."""
    found = find_features(graph) if origins else {}
    return {value: r for origin, r in origins.items() for value in found[origin].values}


def even_features(graph: Graph, factors: Mapping[str, np.ndarray], *, whole: bool = True) -> None:
    """Store features divided by their factors, in place. whole: constants change as well, which no choice of layers asks for."""
    taken = [feature for value, feature in find_features(graph).items() if value in factors] if factors else []
    scaled: dict[tuple[str, bytes], str] = {}
    for feature in taken:
        r = factors[feature.origin].astype(np.float64)
        if feature.writer is None:
            _multiply(graph, feature, r)
        for node in feature.matrices if whole else ():
            key = node.inputs[1], r.tobytes()
            if key not in scaled:
                weights = graph.constants[node.inputs[1]].astype(np.float64)
                each = r if channel_axis(node) == 0 else r[:, None]
                scaled[key] = graph.add_constant(node.inputs[1], finite(weights * each))
            graph.rewire(node, [node.inputs[0], scaled[key], *node.inputs[2:]])
        if whole and feature.writer is not None:
            _divide_writer(graph, feature.writer, r)


def select_even(graph: Graph, factors: Iterable[str], exclude: tuple[str, ...], codes_out: bool, shaped: Collection[str]) -> Selection:
    """The layers of a graph with even features: what multiplies these is no layer. factors: whose there are."""
    even = even_nodes(graph, factors)
    found = select(graph, (*exclude, *map(escape, even)), codes_out=codes_out, shaped=shaped)
    return replace(found, refused={name: why for name, why in found.refused.items() if name not in even}) if even else found


def even_nodes(graph: Graph, factors: Iterable[str]) -> list[str]:
    """The names of the nodes that multiply features."""
    wanted = {_name(value) for value in factors}
    return [node.name for node in graph.nodes if node.op == "Mul" and node.name in wanted] if wanted else []


def even_names(graph: Graph, factors: Collection[str]) -> dict[str, str]:
    """Of a graph with even features: what was multiplied, by the name of the product."""
    named = {_name(value): value for value in factors}
    return {node.outputs[0]: named[node.name] for node in graph.nodes if node.op == "Mul" and node.name in named}


def finite(numbers: np.ndarray) -> np.ndarray:
    """The nearest that float32 has: numbers that a factor moves beyond it stay numbers, and the end result judges the factor."""
    largest = np.finfo(np.float32).max
    return np.asarray(np.where(np.isinf(numbers), numbers, np.clip(numbers, -largest, largest)), np.float32)


def _name(value: str) -> str:
    return f"{value}_even"


def _multiply(graph: Graph, feature: Feature, r: np.ndarray) -> None:
    value = feature.origin
    even = graph.fresh(_name(value))
    each = graph.add_constant(f"{value}_factors", finite(1 / r))
    node = Node("Mul", [value, each], [even], {}, _name(value))
    producer = graph.producer(value)
    if producer is None:
        graph.insert(node, [graph.types[value]], before=graph.nodes[0])
    else:
        graph.insert(node, [graph.types[value]], after=producer)
    for reader in feature.readers:
        graph.rewire(reader, [even if name == value else name for name in reader.inputs])


def _divide_writer(graph: Graph, node: Node, r: np.ndarray) -> None:
    """Rows of a matrix and its bias, or scale and bias of a normalization, divided by the factors of what it writes."""
    rows = r[:, None] if node.op == "Gemm" and node.attributes.get("transB", 0) else r
    inputs = [graph.add_constant(node.inputs[1], finite(graph.constants[node.inputs[1]].astype(np.float64) / rows))]
    if node.input(2):
        bias = graph.constants[node.inputs[2]].astype(np.float64)
        inputs.append(graph.add_constant(node.inputs[2], finite(bias.reshape(-1) / r)))
    graph.rewire(node, [node.inputs[0], *inputs])


def _noise(graph: Graph, matrices: Iterable[Node], largest: np.ndarray, square: np.ndarray, r: np.ndarray) -> float:
    """What rounding features of these ranges and mean squares makes of the results, and what rounding the weights does, in no unit."""
    whole = 0.0
    for node in matrices:
        columns = grouped_rows(graph, node)[0] * r
        whole += (largest.max() / 255) ** 2 * float(np.square(columns).sum())
        whole += float(np.square(np.abs(columns).max(axis=1) / 127).sum()) * float(square.sum())
    return whole


def _behind(graph: Graph, node: Node) -> list[str]:
    """What has the features of the node's first input, if anything has."""
    data, value = node.inputs[0] if node.inputs else "", node.outputs[0]
    if node.op in RECTIFIED:
        return [value]
    if not data or node.op not in (*MOVED, "Transpose"):
        return []
    one, other = graph.types[data].shape, graph.types[value].shape
    if node.op == "Transpose":
        rank = len(one)
        perm = node.attributes.get("perm", range(rank)[::-1])
        return [value] if rank and perm[-1] == rank - 1 else []
    return [value] if one and other and one[-1] == other[-1] else []


def _leading(graph: Graph) -> set[int]:
    """The nodes that make of their first input, and of nothing else that has its features, what nothing but matrices reads."""
    found: set[int] = set()
    for node in reversed(graph.nodes):
        if not node.inputs or node.inputs[0] in node.inputs[1:]:
            continue
        if node.op in ("Gemm", "MatMul"):
            leads = role_of(graph, node)[0] is Role.MATRIX
        else:
            behind = _behind(graph, node)
            readers = graph.readers(behind[0]) if behind and behind[0] not in graph.outputs else []
            leads = bool(readers) and all(id(reader) in found and reader.inputs[0] == behind[0] for reader in readers)
        if leads:
            found.add(id(node))
    return found


def _reached(graph: Graph, readers: Sequence[Node]) -> tuple[list[str], list[Node]]:
    """What leading `readers` of a value make of it on the way to matrices, and these."""
    values, matrices, left = list[str](), list[Node](), list(reversed(readers))
    while left:
        node = left.pop()
        if node.op in ("Gemm", "MatMul"):
            matrices.append(node)
            continue
        for behind in _behind(graph, node):
            values.append(behind)
            left += reversed(graph.readers(behind))
    return values, matrices


def _shared(graph: Graph, matrices: Collection[Node]) -> bool:
    """Whether others read the weights of these, so that they would be stored twice."""
    mine = {id(node) for node in matrices}
    return any(id(reader) not in mine for node in matrices for reader in graph.readers(node.inputs[1]))


def _writer(graph: Graph, node: Node | None) -> Node | None:
    """The node, if its own constants can take factors."""
    if node is None or any(len(graph.readers(name)) > 1 for name in node.inputs[1:] if name):
        return None
    if node.op == "LayerNormalization":
        last = node.attributes.get("axis", -1) in (-1, len(graph.shape(node.inputs[0])) - 1)
        constant = all(name in graph.constants and graph.constants[name].ndim == 1 for name in node.inputs[1:] if name)
        return node if last and constant and len([name for name in node.outputs if name]) == 1 else None
    matrix = node.op in ("Gemm", "MatMul") and role_of(graph, node)[0] is Role.MATRIX
    return node if matrix else None
