"""One graph in which every layer computes by itself: it reads exact values as they are stored, and nobody reads what it makes of them.

The float graph computes the exact values. Each of them is stored once, and two copies of each layer read it: the float layer and the
quantized one. What these two differ in is the layer's own error, so an error counts at the layer that makes it and at no other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgec.ir.graph import Graph, Node
from edgec.quant.decisions.rewrite import pair
from edgec.quant.decisions.twins import Twins


@dataclass(frozen=True)
class Lesson:
    """Names in the graph for one value that is stored, or that a layer gives in float.

    exact: what it is; wanted: what the float layer makes of stored operands; computed: what the quantized layer makes of them;
    stored: the same as its codes say, if it has any. Of a value from float the first three are one.
    """

    exact: str
    wanted: str
    computed: str
    stored: str

    @property
    def names(self) -> tuple[str, ...]:
        return self.exact, self.wanted, self.computed, self.stored


def teach(twins: Twins) -> tuple[Graph, dict[str, Lesson]]:
    """The graph, and the lesson of each of the results."""
    graph, selection = twins.exact.copy(), twins.selection
    read = {value: _store(graph, value, f"{value}_read", twins) for value in twins.values}
    by_float = _Graft(graph, twins.exact, "float", read)
    by_codes = _Graft(graph, twins.quantized, "codes", {twins.twin(value): name for value, name in read.items()})
    lessons = {}
    for value in twins.results:
        if value not in twins.computed:
            lessons[value] = Lesson(value, value, value, read[value])
            continue
        if value not in selection.produced:
            computed = by_codes(value)
            lessons[value] = Lesson(value, by_float(value), computed, computed)
            continue
        wanted, computed = by_float(value), by_codes(_before_storing(twins.quantized, value))
        lessons[value] = Lesson(value, wanted, computed, _store(graph, computed, f"{value}_stored", twins, value))
    return graph, lessons


def _store(graph: Graph, source: str, hint: str, twins: Twins, value: str = "") -> str:
    """What the codes of `source` say; value: whose parameters it has, by default its own."""
    target = graph.fresh(hint)
    graph.types[target], parameters = graph.types[source], twins.parameters(value or source)
    assert parameters is not None
    pair(graph, source, target, parameters, after=graph.producer(source))
    return target


def _before_storing(quantized: Graph, value: str) -> str:
    """The value that becomes `value` through QuantizeLinear and DequantizeLinear."""
    for _ in range(2):
        node = quantized.producer(value)
        assert node is not None
        value = node.inputs[0]
    return value


class _Graft:
    """Copies the nodes that compute a value of `source` to the end of `graph`; known: where values that are not computed anew stand."""

    def __init__(self, graph: Graph, source: Graph, hint: str, known: Mapping[str, str]) -> None:
        self._graph, self._source, self._hint, self._known = graph, source, hint, dict(known)
        self._copies: dict[Node, list[str]] = {}

    def __call__(self, value: str) -> str:
        node = self._source.producer(value)
        assert node is not None
        if node not in self._copies:
            inputs = [self._operand(name) for name in node.inputs]
            outputs = [self._graph.fresh(f"{name}_{self._hint}") if name else "" for name in node.outputs]
            kinds = [self._source.types[name or value] for name in node.outputs]
            self._graph.insert(Node(node.op, inputs, outputs, dict(node.attributes), f"{node.name}_{self._hint}"), kinds)
            self._graph.types.pop("", None)
            self._copies[node] = outputs
        return self._copies[node][node.outputs.index(value)]

    def _operand(self, name: str) -> str:
        if not name or name in self._known:
            return self._known.get(name, name)
        if name in self._source.constants:
            self._known[name] = self._graph.add_constant(name, self._source.constants[name])
            return self._known[name]
        return self(name)
