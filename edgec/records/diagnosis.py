"""What the search for the layers that lose most found: facts alone, for tables, pages and JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

BEST = 200.0  # dB, stands for no error at all
LOW_SQNR = 15.0  # dB of an output: with less a package is hardly what its model is


@dataclass(frozen=True)
class LayerFacts:
    """One value that is stored, or that a layer gives in float, and that layer, over all samples. SQNR in dB, shares from 0 to 1.

    scale: 0 of what a layer gives in float. low, high: what the value's codes can hold; seen_low, seen_high: what the float values were.
    saturated: share of float values outside. channels: of the value; dead: how many of them hold one number alone once they are stored,
    though the float ones vary; constant: how many vary in neither.
    weights, rounding: SQNR of what the layer's integer weights and bias do, and of the storing of its result; local: of both together.
    The layer reads the exact values as they are stored, so each error counts at the layer that makes it and at no other.
    accumulated: SQNR with all errors before it. cost: its part of the outputs' error, where each layer errs by itself.
    """

    node: str
    operator: str
    value: str
    scale: float
    zero_point: int
    low: float
    high: float
    seen_low: float
    seen_high: float
    saturated: float
    channels: int
    dead: int
    constant: int
    weights: float
    rounding: float
    local: float
    accumulated: float
    cost: float
    readers: tuple[str, ...] = ()  # nodes that compute with the stored value


@dataclass(frozen=True)
class HistogramFacts:
    """How often the float values of one stored value lie in equal parts of first..last; middle: where all but 0.1 % at either end lie."""

    value: str
    first: float
    last: float
    counts: tuple[int, ...]
    middle: tuple[float, float]


@dataclass(frozen=True)
class Advice:
    """What was noticed, and what to try; node: where, if it is one layer."""

    what: str
    attempt: str
    node: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """layers: in the order of the graph; worst: their places, the one that costs most first. outputs: SQNR of each in dB.

    judged: the same of what stands for the outputs: what a final Softmax or Sigmoid reads, where each sample counts and not only the
    doubtful ones.
    histograms: of the worst layers. kept_in_float: nodes, and why.
    """

    samples: int
    observer: str
    outputs: dict[str, float]
    judged: dict[str, float]
    layers: tuple[LayerFacts, ...]
    worst: tuple[int, ...]
    histograms: tuple[HistogramFacts, ...]
    kept_in_float: dict[str, str]
    advice: tuple[Advice, ...] = ()

    @property
    def ranked(self) -> tuple[LayerFacts, ...]:
        """The layers, the one that costs most first."""
        return tuple(self.layers[place] for place in self.worst)

    @property
    def facts(self) -> dict[str, Any]:
        return asdict(self)
