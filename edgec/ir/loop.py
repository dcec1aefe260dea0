"""Loops that a graph keeps: one body, which runs in turns. It is a graph of its own, and what it reads of the graph around is its input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from edgec.ir.graph import Graph, Node

LOOP = "Loop"


@dataclass(frozen=True)
class Loop:
    """A node of that operator: its operands are a condition (or ""), the first states, and values around it that every turn reads.

    body: its inputs are the number of the turn (int64), the states and those values; its outputs, behind the condition of a loop that has
    one, the next states and a row of each further output of the node, which stacks them on a new first axis. turns: how many there are,
    or may be: one begins where the condition holds. Rows of turns that do not begin are 0.
    """

    node: Node
    body: Graph
    turns: int

    @property
    def condition(self) -> str:
        """Whether the first turn begins, "" where all do."""
        return self.node.inputs[0]

    @property
    def count(self) -> int:
        """Of states."""
        return int(self.node.attributes["states"])

    @property
    def firsts(self) -> list[str]:
        """The states before the first turn."""
        return self.node.inputs[1 : self.count + 1]

    @property
    def around(self) -> list[str]:
        return self.node.inputs[self.count + 1 :]

    @property
    def lasts(self) -> list[str]:
        """The states behind the last turn."""
        return self.node.outputs[: self.count]

    @property
    def stacks(self) -> list[str]:
        return self.node.outputs[self.count :]

    # Of the body

    @property
    def turn(self) -> str:
        return self.body.inputs[0]

    @property
    def states(self) -> list[str]:
        return self.body.inputs[1 : self.count + 1]

    @property
    def read(self) -> list[str]:
        """What `around` is called in the body."""
        return self.body.inputs[self.count + 1 :]

    @property
    def goes_on(self) -> str:
        """Whether the next turn begins, "" where all do."""
        return self.body.outputs[0] if self.condition else ""

    @property
    def next(self) -> list[str]:
        """The states behind the turn."""
        return self._behind_condition[: self.count]

    @property
    def rows(self) -> list[str]:
        return self._behind_condition[self.count :]

    @property
    def _behind_condition(self) -> list[str]:
        return self.body.outputs[bool(self.condition) :]


def loop_of(node: Node) -> Loop | None:
    """A node as a loop, None where it is none."""
    return Loop(node, node.attributes["body"], int(node.attributes["turns"])) if node.op == LOOP else None


def all_graphs(graph: Graph) -> Iterator[Graph]:
    """The graph, and the bodies of its loops, those in bodies too."""
    yield graph
    for loop in loops_in(graph):
        yield from all_graphs(loop.body)


def loops_in(graph: Graph) -> Iterator[Loop]:
    """Those of the graph itself, not those in their bodies."""
    for node in graph.nodes:
        found = loop_of(node)
        if found is not None:
            yield found
