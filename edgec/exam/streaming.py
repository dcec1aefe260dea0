"""A model whose runs follow on each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from edgec.base.errors import ModelError
from edgec.ir.graph import Graph
from edgec.ir.states import first_states, next_states

Arrays = dict[str, np.ndarray]
Run = Callable[[Arrays], Sequence[np.ndarray]]


class Stream:
    """Calls `run`, which takes all of the graph's inputs and gives its outputs in their order, with the states of the call before.

    A call takes what a caller gives, and gives what one gets, in order.
    """

    def __init__(self, graph: Graph, run: Run) -> None:
        self._graph, self._run = graph, run
        self._states = first_states(graph)

    def __call__(self, given: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        found = dict(zip(self._graph.outputs, self._run({**given, **self._states}), strict=True))
        self._states = next_states(self._graph, found)
        return [found[name] for name in self._graph.answered]


def as_far(graph: Graph, run: Run, steps: Sequence[Arrays]) -> list[Arrays]:
    """The steps of a stream up to the first that the model cannot compute: a place that it counts may leave its tensor, for instance.

    ModelError where that is the first. Without states nothing is tried.
    """
    if not graph.states:
        return list(steps)
    stream, done = Stream(graph, run), list[Arrays]()
    for step in steps:
        try:
            stream(step)
        except ModelError:
            if not done:
                raise
            break
        done.append(step)
    return done


def streamed(graph: Graph, run: Run, steps: Sequence[Mapping[str, np.ndarray]]) -> list[list[np.ndarray]]:
    """The answers to each step of a stream, from its start."""
    stream = Stream(graph, run)
    return [stream(step) for step in steps]
