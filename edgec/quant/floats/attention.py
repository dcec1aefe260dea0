"""Products of two computed matrices, Softmax between them, and normalizations: in integers where the outputs hardly lose by it.

Integers make attention several times as fast, but 8 bits for scores and for probabilities, of which a row has many small ones, always lose
something. So these layers are float when all else is decided; then they become integers, as many as cost no more than ALLOWED on other
samples, too, as far as those that judge tell: by its standard error. All of them,
else without Softmax, else the products of queries and keys alone, whose results stay float; and beside these groups of neighbouring blocks.
Then LayerNormalization, of which 8 bits for a residual stream often ask more: all of them, or groups of neighbours. And what gives each
feature of an input its own middle and scale before matrices read it: the input's 256 codes are those of the widest feature.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import pairwise

from edgec.ir.graph import Graph, Node
from edgec.ops.registry import Role
from edgec.quant.scope.coverage import Layer, Selection
from edgec.quant.trials.scores import Score
from edgec.quant.trials.steps import GROUPS

ALLOWED = 0.25  # dB of the outputs' SQNR


def attention(selection: Selection) -> list[Layer]:
    """The layers that attention is made of and that have names to tell them by, in the order of the graph."""
    return [layer for layer in selection.layers if layer.role in (Role.PAIR, Role.SOFTMAX) and layer.node.name]


def normalizations(selection: Selection) -> list[Layer]:
    """The normalizations that could compute in integers, in the order of the graph."""
    return [layer for layer in selection.layers if layer.role is Role.NORM and layer.node.name]


def standardizations(graph: Graph, selection: Selection) -> list[Layer]:
    """What gives each feature of a float input numbers of its own, added or multiplied, where only matrices read what comes of it.

    Of pictures' channels it does not: they go equally far, and a picture has many numbers.
    """
    reached = {name for name in graph.inputs if graph.types[name].dtype.is_float}
    found: dict[Node, Layer] = {}
    for layer in selection.layers:
        read = [name for name in layer.node.inputs if graph.constant(name) is None]
        if len(read) != 1 or read[0] not in reached:
            continue
        if layer.role in (Role.ADD, Role.MUL) and layer.node.name and _of_features(graph, layer):
            found[layer.node] = layer
        elif layer.role is not Role.MOVE:
            continue
        reached.update(layer.results)
    leading = {layer.node for layer in selection.matrices if layer.node.op in ("Gemm", "MatMul") or _reads_signal(graph, layer)}
    passing = {layer.node for layer in selection.layers if layer.role is Role.MOVE or layer.node in found}
    for node in reversed(graph.nodes):
        if node in passing and _read_by_all(graph, node, leading):
            leading.add(node)
    return [layer for layer in found.values() if layer.node in leading]


def _reads_signal(graph: Graph, layer: Layer) -> bool:
    return len(graph.shape(layer.node.inputs[0])) < 4


def _read_by_all(graph: Graph, node: Node, readers: Collection[Node]) -> bool:
    """Whether nothing but these reads what a node makes."""
    return all(value not in graph.outputs and all(one in readers for one in graph.readers(value)) for value in node.outputs if value)


def _of_features(graph: Graph, layer: Layer) -> bool:
    """Whether the constant that a layer reads has several numbers; of pictures: along the last axis."""
    pictures = len(graph.shape(layer.node.outputs[0])) > 3
    numbers = (graph.constant(name) for name in layer.node.inputs)
    return any(array is not None and array.size > 1 and (array.shape[-1] > 1 or not pictures) for array in numbers)


def choose_floats(
    graph: Graph, inner: list[Layer], norms: list[Layer], heads: list[Layer], floats: Score, score: Callable[[Collection[str]], Score]
) -> frozenset[str]:
    """The names of the nodes of all three that stay in float. score: of these in float; floats: of all of them."""
    ends, others = ({layer.node.name for layer in layers} for layers in (heads, norms))
    attended = choose_attention(graph, inner, floats, lambda names: score({*names, *others, *ends})) if inner else frozenset()
    kept = attended | choose_normalizations(norms, floats, lambda names: score({*names, *attended, *ends}))
    return kept | choose_normalizations(heads, floats, lambda names: score({*names, *kept}))


def choose_normalizations(layers: list[Layer], floats: Score, score: Callable[[Collection[str]], Score]) -> frozenset[str]:
    """The names of those that stay in float. score: of these in float; floats: of all of them, and attention."""
    names = [layer.node.name for layer in layers]
    if not names or hardly_loses(score(()), floats):
        return frozenset()
    kept, size = frozenset(names), -(-len(names) // GROUPS)
    for begin in range(0, len(names), size) if size < len(names) else ():
        fewer = kept.difference(names[begin : begin + size])
        kept = fewer if hardly_loses(score(fewer), floats) else kept
    return kept


def choose_attention(graph: Graph, layers: list[Layer], floats: Score, score: Callable[[Collection[str]], Score]) -> frozenset[str]:
    """The names of the nodes that stay in float. score: of these in float; floats: of all of them."""
    kept = frozenset(layer.node.name for layer in layers)

    def allowed(kept: Collection[str]) -> bool:
        return hardly_loses(score(kept), floats)

    if allowed(frozenset()):
        return frozenset()
    softmaxes = frozenset(layer.node.name for layer in layers if layer.role is Role.SOFTMAX)
    for fewer in (softmaxes, softmaxes | {layer.node.name for layer in layers if reads_softmax(graph, layer.node)}):
        if fewer < kept and allowed(fewer):
            kept = fewer
            break
    for group in groups(graph, layers):
        if group & kept and allowed(kept - group):
            kept -= group
    return kept


def hardly_loses(found: Score, floats: Score) -> bool:
    """Whether the outputs lose ALLOWED at most, the standard error of that included."""
    return found.ratio - found.chance(floats) >= floats.ratio - ALLOWED


def groups(graph: Graph, layers: list[Layer]) -> Iterator[frozenset[str]]:
    """The names of a few neighbouring blocks each: a block ends with the product that reads a Softmax."""
    names = [layer.node.name for layer in layers]
    ends = [place + 1 for place, layer in enumerate(layers) if reads_softmax(graph, layer.node)][:-1]
    size = -(-(len(ends) + 1) // GROUPS)
    for begin, end in pairwise([0, *ends[size - 1 :: size], len(names)]):
        yield frozenset(names[begin:end])


def reads_softmax(graph: Graph, node: Node) -> bool:
    """Whether the first operand of a product is a Softmax."""
    producer = graph.producer(node.inputs[0])
    while producer is not None and producer.op in ("Transpose", "Reshape", "Identity"):
        producer = graph.producer(producer.inputs[0])
    return producer is not None and producer.op == "Softmax" and node.op == "MatMul"
