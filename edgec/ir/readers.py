"""Who computes and who reads each value, and in which order nodes stand: kept up to date while nodes change one by one.

Every change costs what it touches, not the size of the graph: a rewrite of each of n nodes takes n steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgec.ir.graph import Node

Place = tuple[int, ...]  # compared as tuples are: (4, 7) stands between (4,) and (5,)


class Index:
    """Over nodes in topological order."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.places: dict[Node, Place] = {}
        self.producers: dict[str, Node] = {}
        self._readers: dict[str, dict[Node, None]] = {}
        self._ordered: dict[str, list[Node]] = {}  # answers of `readers`, until they change
        self._serial = 0
        for number, node in enumerate(nodes):
            self.places[node] = (number,)
            self.connect(node)
        self._end = len(self.places)

    def readers(self, value: str) -> list[Node]:
        """The nodes that read `value`, each once, in order."""
        found = self._ordered.get(value)
        if found is None:
            found = self._ordered[value] = sorted(self._readers.get(value, ()), key=self.places.__getitem__)
        return found

    def some_readers(self, value: str, most: int) -> list[Node]:
        found = self._readers.get(value, {})
        return self.readers(value) if len(found) <= most else list(islice(found, most))

    def reader_count(self, value: str) -> int:
        return len(self._readers.get(value, ()))

    def in_order(self) -> list[Node]:
        return sorted(self.places, key=self.places.__getitem__)

    def add(self, node: Node, before: Node | None = None, after: Node | None = None) -> None:
        """Let `node` stand right before or behind another, at the end by default."""
        self._serial += 1
        if before is not None:
            *outer, last = self.places[before]
            self.places[node] = (*outer, last - 1, self._serial)
        elif after is not None:
            self.places[node] = (*self.places[after], -self._serial)
        else:
            self.places[node] = (self._end,)
            self._end += 1
        self.connect(node)

    def drop(self, node: Node) -> None:
        self.disconnect(node)
        del self.places[node]

    def connect(self, node: Node) -> None:
        for name in node.outputs:
            if name:
                self.producers[name] = node
        for name in node.inputs:
            self._readers.setdefault(name, {})[node] = None
            self._ordered.pop(name, None)

    def disconnect(self, node: Node) -> None:
        for name in node.outputs:
            if self.producers.get(name) is node:
                del self.producers[name]
        for name in node.inputs:
            self._readers.get(name, {}).pop(node, None)
            self._ordered.pop(name, None)
