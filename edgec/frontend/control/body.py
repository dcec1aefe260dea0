"""Graphs inside of a node, as If, Loop and Scan have them: put in place of the node, as often as they run."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Mapping, Sequence
from copy import copy

import onnx
from onnx import numpy_helper

from edgec.base.budget import spend_constant
from edgec.base.errors import ModelError
from edgec.frontend.file.structure import live_nodes, reads
from edgec.frontend.translation.builder import Broken, Builder
from edgec.frontend.translation.source import Source, read_node


class Body:
    """A graph that reads the values around it. What does not depend on its inputs is computed once, by its first run.

    wanted: places of the outputs that somebody reads, all by default. Shadowed names mean the inner value.
    """

    def __init__(self, b: Builder, source: Source, graph: onnx.GraphProto, wanted: Collection[int] | None = None) -> None:
        assert source.scope is not None
        if graph.sparse_initializer:
            raise ModelError("sparse tensors are not supported", hint="store them densely")
        outer, self._versions = source.scope
        self._b, self._graph, self._prefix = b, graph, source.name
        self._shared: ChainMap[str, str] = ChainMap({}, outer)
        self._outputs = [value.name for place, value in enumerate(graph.output) if wanted is None or place in wanted]
        varying = {value.name for value in graph.input}
        self._once: list[onnx.NodeProto] = []
        self._each: list[onnx.NodeProto] = []
        for node in live_nodes(graph, self._outputs):
            depends = not varying.isdisjoint(reads(node))
            (self._each if depends else self._once).append(node)
            varying.update(node.output if depends else ())
        for tensor in graph.initializer:
            if tensor.name not in varying:  # before IR version 4 each was an input too, with this as its default
                array = numpy_helper.to_array(tensor)
                spend_constant(array.nbytes, source.where)  # a node in a loop has its graphs anew in each turn
                self._shared[tensor.name] = b.define(b.fresh(f"{source.name}/{tensor.name}"), array)

    @property
    def nodes(self) -> int:
        """How many each run adds, at least."""
        return len(self._each)

    def repeats(self, output: int, known: int) -> bool:
        """Whether that output is the same in every run with the same value for that input: it depends on no other one."""
        needed = {self._graph.output[output].name}
        for node in reversed(self._each):
            needed.update(() if needed.isdisjoint(node.output) else reads(node))
        return needed.isdisjoint(value.name for place, value in enumerate(self._graph.input) if place != known)

    def run(self, inputs: Sequence[str], turn: str = "", into: Sequence[str] = ()) -> list[str]:
        """The names of the wanted outputs where the graph's inputs are these values. Broken when something in it failed.

        into: what they shall be called, where nodes make them; of a graph that runs once.
        """
        before, prefix = len(self._b.problems), f"{self._prefix}/{turn}"
        called = dict(zip(self._outputs, into, strict=False)) if len(set(self._outputs)) == len(self._outputs) else {}
        self._do_once(called)
        names = ChainMap(dict(zip((value.name for value in self._graph.input), inputs, strict=False)), self._shared)
        self._add(self._each, names, prefix, called)
        results = [names.get(name, name) for name in self._outputs]
        unknown = [name for name in results if not self._b.knows(name) and name not in self._b.broken]
        if unknown:
            raise ModelError(f"gives {', '.join(map(repr, unknown))}, which nothing defines")
        if len(self._b.problems) > before or self._b.is_broken(results):
            raise Broken
        return results

    def begin(self) -> None:
        """Adds what is computed once. Broken when something in it failed."""
        before = len(self._b.problems)
        self._do_once({})
        if len(self._b.problems) > before:
            raise Broken

    def around(self) -> list[str]:
        """What every run reads of the graph around it, and of what was computed once."""
        inner = {name for node in self._each for name in node.output} | {value.name for value in self._graph.input}
        read = [*(name for node in self._each for name in reads(node)), *self._outputs]
        return list(dict.fromkeys(self._shared.get(name, name) for name in read if name not in inner))

    def within(self, b: Builder) -> Body:
        """The same body, which has begun, for another builder that knows what is around it."""
        other = copy(self)
        other._b, other._shared = b, self._shared.new_child()
        return other

    def _do_once(self, called: Mapping[str, str]) -> None:
        self._add(self._once, self._shared, f"{self._prefix}/", called)
        self._once = []

    def _add(self, nodes: Sequence[onnx.NodeProto], names: ChainMap[str, str], prefix: str, called: Mapping[str, str]) -> None:
        made = [name for node in nodes for name in node.output if name]
        names.maps[0].update({name: called.get(name) or self._b.fresh(f"{prefix}{name}") for name in made})
        for node in nodes:
            self._b.add(read_node(self._b.fresh, node, self._versions, names, prefix))
