"""What a graph's states are at first, and what a run makes of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from edgec.ir.graph import Graph


def first_states(graph: Graph) -> dict[str, np.ndarray]:
    """The states of the first run, by the inputs that they are."""
    return {
        name: _held(graph, name, np.full(graph.types[name].static_shape, state.start, graph.dtype(name).numpy))
        for name, state in graph.states.items()
    }


def next_states(graph: Graph, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The states of the run behind one that made these values."""
    return {name: _held(graph, name, values[state.output]) for name, state in graph.states.items()}


def _held(graph: Graph, name: str, array: np.ndarray) -> np.ndarray:
    """As it comes out of memory that holds another type of floats, perhaps."""
    with np.errstate(over="ignore"):
        return array.astype(graph.held_dtype(name).numpy).astype(array.dtype)
