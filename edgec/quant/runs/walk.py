"""The values of a graph for several samples at once, computed in the order in which they are asked for.

Every node runs once for each sample, and a value goes when nothing that is still to be computed reads it. Constants may change on the
way, as long as nothing has been computed from them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from edgec.export import to_onnx
from edgec.export.runtime import Effort, Session
from edgec.ir.graph import Graph, Node
from edgec.quant.given.options import Sample


class Walk:
    """Asked for values of `graph`, one after the other."""

    def __init__(self, graph: Graph, samples: Iterable[Sample]) -> None:
        self._graph = graph
        self._alive: list[Sample] = [{name: sample[name] for name in graph.inputs} for sample in samples]
        self._constant = set(graph.constants)
        for node in graph.nodes:
            if self._constant.issuperset(name for name in node.inputs if name):
                self._constant.update(node.outputs)
        self._todo = {id(node) for node in graph.nodes if not self._constant.issuperset(node.outputs)}

    def __call__(self, value: str) -> list[np.ndarray]:
        """`value` for each sample."""
        if self._alive and value not in self._alive[0]:
            self._compute(value)
        return [values[value] for values in self._alive]

    def _compute(self, value: str) -> None:
        graph, nodes = self._graph, self._before(value)
        self._todo -= set(map(id, nodes))
        made = [name for node in nodes for name in node.outputs if name]
        read = list(dict.fromkeys(name for node in nodes for name in node.inputs if name))
        inputs = [name for name in read if name not in made and name not in graph.constants]
        outputs = [name for name in made if name not in self._constant and (name == value or self._needed(name))]
        constants = {name: graph.constants[name] for name in read if name in graph.constants}
        part = Graph(graph.name, inputs, outputs, nodes, constants, graph.types, graph.metadata).copy()
        session = Session(to_onnx(part).SerializeToString(), Effort.ALL, lean=True)
        for values in self._alive:
            values.update(zip(outputs, session(outputs, {name: values[name] for name in inputs}), strict=True))
            for name in [name for name in values if name != value and not self._needed(name)]:
                del values[name]

    def _before(self, value: str) -> list[Node]:
        """What computes `value` from the values that are alive."""
        found, asked = set[int](), [value]
        while asked:
            name = asked.pop()
            node = None if name in self._alive[0] else self._graph.producer(name)
            if node is not None and id(node) not in found:
                found.add(id(node))
                asked += [name for name in node.inputs if name]
        return [node for node in self._graph.nodes if id(node) in found]

    def _needed(self, name: str) -> bool:
        return any(id(reader) in self._todo for reader in self._graph.readers(name))
