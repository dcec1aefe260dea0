"""What the steps propose to change in a float graph, and the graph that becomes of what is taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from edgec.ir.graph import Graph
from edgec.quant.channels.equalize import Equalization
from edgec.quant.decisions.sharers import Sharers, sharers_of, together
from edgec.quant.ranges.observers import Range
from edgec.quant.scope.coverage import Layer, Selection


@dataclass(frozen=True)
class Structure:
    """The float graph with splits and factors, as it will be stored, and the ends of every value of the selection.

    divisors: what each stored value is divided by; factors tell it of features by their origins alone.
    """

    graph: Graph
    selection: Selection
    splits: Mapping[str, Sequence[Sequence[int]]]
    factors: Mapping[str, np.ndarray]
    divisors: Mapping[str, np.ndarray]
    ends: Mapping[str, Range]
    pixels: tuple[str, ...]

    @cached_property
    def sharers(self) -> Sharers:
        return sharers_of(self.selection.matrices)

    @cached_property
    def groups(self) -> list[Sequence[Layer]]:
        """The layers, those that share weights together."""
        return together(self.sharers)


@dataclass(frozen=True)
class Proposals:
    """Factors by what is expected of other samples, by the largest magnitudes, and by the typical ones.

    What is free may go anywhere on other data; through a Clip nothing goes beyond its bound, and what is cut there is judged.
    behind: by the largest numbers, for streams behind functions of sums; offered: such streams that may also do without; forced: those that
    come with a function which is a table otherwise.
    """

    expected: Equalization
    largest: Equalization
    typical: Equalization
    behind: Equalization
    offered: tuple[str, ...]
    forced: frozenset[str]


def bounded(graph: Graph, value: str, ends: Range) -> Range:
    """The ends, where a Clip computes the value within its bounds."""
    clip = graph.producer(value, "Clip")
    bounds = [graph.constant(clip.input(place)) if clip and clip.input(place) else None for place in (1, 2)]
    low = ends[0] if bounds[0] is None else max(ends[0], float(bounds[0]))
    return low, max(low, ends[1] if bounds[1] is None else min(ends[1], float(bounds[1])))
