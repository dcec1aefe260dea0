"""What some of the samples say, and the calibration that follows from it for any choice of steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from edgec.budget import check_time
from edgec.ir.graph import Graph
from edgec.quant.calibration import Calibration, LayerWeights, fingerprint
from edgec.quant.equalize import Equalization, choose_factors, store_equalized
from edgec.quant.layers import Rounded, gather_moments, layer_scales, round_layer
from edgec.quant.observers import CHOOSE, Histogram, Range, by_minmax
from edgec.quant.options import QuantizeOptions, Samples
from edgec.quant.parameters import Parameters, choose_parameters, moved_values
from edgec.quant.see_through import see_through_tables
from edgec.quant.selection import Layer, Selection, excluded_nodes
from edgec.quant.sensitivity import sensitivities
from edgec.quant.split import apply_splits, choose_splits
from edgec.quant.statistics import Extent, measure_histograms
from edgec.quant.steps import BOUNDED, CORRECT, EQUALIZE, OBSERVE, ROUND, SCALE, SPLIT, TIGHT, Choice, places, upto
from edgec.quant.weights import layer_axis, peak_scales, rows_of, weight_scales

STRENGTH = 0.5  # of equalization: half the unevenness stays in the activations, half goes to the weights
T = TypeVar("T")


@dataclass(frozen=True)
class Structure:
    """The float graph with splits and factors, as it will be stored, and the ends of every value of the selection."""

    graph: Graph
    selection: Selection
    splits: Mapping[str, Sequence[Sequence[int]]]
    factors: Mapping[str, np.ndarray]
    ends: Mapping[str, Range]
    pixels: tuple[str, ...]


class Fit:
    """Calibrations from `count` samples, whose extents are known; the others of their statistics are gathered when a step needs them.

    Each stage remembers its latest result: steps are decided in order, so what a stage depends on changes seldom.
    """

    def __init__(self, graph: Graph, extents: Mapping[str, Extent], samples: Samples, count: int, options: QuantizeOptions) -> None:
        self._graph, self._extents, self._samples, self._count, self._options = graph, extents, samples, count, options
        self._latest: dict[str, tuple[Any, Any]] = {}
        self._model = fingerprint(graph)

    def candidates(self, step: str, choice: Choice) -> Sequence[str]:
        """Where `step` can be taken, in the order of the graph."""
        if step == SPLIT:
            return tuple(self._splits())
        if step in (EQUALIZE, BOUNDED, TIGHT):
            by_typical, _ = self._equalizations(choice)
            return by_typical.free if step == EQUALIZE else by_typical.bounded
        structure = self._structure(choice)
        if step == OBSERVE:
            moved = moved_values(structure.selection)
            return [value for value in structure.selection.values if value not in moved and value not in structure.pixels]
        layers = [layer.node.outputs[0] for layer in structure.selection.matrices]
        if step == SCALE:
            return layers
        rounded = self._rounded(choice)
        return [layer for layer in layers if layer in rounded and (step == ROUND or rounded[layer].shift is not None)]

    def calibration(self, choice: Choice) -> Calibration:
        """Everything that `choice` decides."""
        structure, parameters, options = self._structure(choice), self._parameters(choice), self._options
        weights = {layer.node.outputs[0]: self._weights(layer, choice) for layer in structure.selection.matrices}
        return Calibration(
            self._model, self._count, options.observer, options.exclude, structure.splits, structure.factors, parameters, weights
        )

    def _once(self, stage: str, key: Any, make: Callable[[], T]) -> T:
        if stage not in self._latest or self._latest[stage][0] != key:
            self._latest.pop(stage, None)
            self._latest[stage] = key, make()
        return self._latest[stage][1]  # type: ignore[no-any-return]

    def _splits(self) -> dict[str, list[list[int]]]:
        def choose() -> dict[str, list[list[int]]]:
            excluded = excluded_nodes(self._graph, self._options.exclude)
            return choose_splits(self._graph, typical(self._extents, self._count), sensitivities(self._graph), excluded)

        return self._once("splits", None, choose)

    def _divided(self, choice: Choice) -> tuple[Graph, dict[str, list[list[int]]], dict[str, Extent]]:
        """The graph with the chosen splits, those, and the extents of its values."""

        def divide() -> tuple[Graph, dict[str, list[list[int]]], dict[str, Extent]]:
            graph, chosen = self._graph.copy(), places(choice, SPLIT)
            splits = {value: groups for value, groups in self._splits().items() if value in chosen} if chosen else {}
            origins = apply_splits(graph, splits)
            parts = {new: self._extents[old].of(channels) for new, (old, channels) in origins.items() if old in self._extents}
            return graph, splits, {**self._extents, **parts}

        return self._once("divided", upto(choice, SPLIT), divide)

    def _equalizations(self, choice: Choice) -> tuple[Equalization, Equalization]:
        """By the typical magnitudes of channels, and by the largest ones."""

        def propose() -> tuple[Equalization, Equalization]:
            graph, _, extents = self._divided(choice)
            largest = {value: extent.largest for value, extent in extents.items()}
            by_typical, by_largest = (choose_factors(graph, widths, STRENGTH) for widths in (typical(extents, self._count), largest))
            return by_typical, by_largest

        return self._once("equalizations", upto(choice, SPLIT), propose)

    def _factors(self, choice: Choice) -> dict[str, np.ndarray]:
        tight = places(choice, TIGHT)
        if not tight and not places(choice, EQUALIZE) and not places(choice, BOUNDED):
            return {}
        by_typical, by_largest = self._equalizations(choice)
        factors = by_largest.taken(places(choice, BOUNDED) - tight)
        for value, r in by_typical.taken(places(choice, EQUALIZE) | tight).items():
            factors[value] = factors[value] * r if value in factors else r
        return factors

    def _structure(self, choice: Choice) -> Structure:
        def build() -> Structure:
            divided, splits, extents = self._divided(choice)
            factors, graph = self._factors(choice), divided.copy()
            selection = store_equalized(graph, factors, self._options.exclude)
            ends = {value: bounded(graph, value, extents[value].ends(factors.get(value))) for value in selection.values}
            pixels = tuple(value for value, extent in extents.items() if extent.pixels and value not in selection.produced)
            return Structure(graph, selection, splits, factors, ends, pixels)

        return self._once("structure", upto(choice, TIGHT), build)

    def _histograms(self, choice: Choice) -> Mapping[str, Histogram]:
        """Counted where the observer needs them, else of the ends only."""
        structure, options = self._structure(choice), self._options
        if not places(choice, OBSERVE):
            return {value: Histogram(*ends) for value, ends in structure.ends.items()}

        def count() -> dict[str, Histogram]:
            weights = sensitivities(structure.graph)
            found = measure_histograms(structure.graph, structure.ends, weights, self._samples, self._count, options.progress)
            see_through_tables(structure.graph, structure.selection, found)
            return found

        return self._once("histograms", upto(choice, TIGHT), count)

    def _parameters(self, choice: Choice) -> dict[str, Parameters]:
        structure, observed, options = self._structure(choice), places(choice, OBSERVE), self._options

        def choose() -> dict[str, Parameters]:
            histograms = self._histograms(choice)
            known: dict[tuple[str, ...], Range] = self._once("limits", upto(choice, TIGHT), dict)

            def limits(members: tuple[str, ...], histogram: Histogram) -> Range:
                if members[0] not in observed:
                    return by_minmax(histogram, options)
                if members not in known:
                    known[members] = CHOOSE[options.observer](histogram, options)
                return known[members]

            return choose_parameters(structure.graph, structure.selection, histograms, limits, structure.pixels)

        return self._once("parameters", upto(choice, OBSERVE), choose)

    def _scales(self, layer: Layer, choice: Choice) -> np.ndarray:
        structure, output = self._structure(choice), layer.node.outputs[0]
        rows = rows_of(structure.graph.constants[layer.node.inputs[1]], layer_axis(layer))
        if output not in places(choice, SCALE):
            return layer_scales(structure.graph, layer, self._parameters(choice), peak_scales(rows))
        known: dict[str, np.ndarray] = self._once("scales", upto(choice, TIGHT), dict)
        if output not in known:
            known[output] = weight_scales(rows)
        return layer_scales(structure.graph, layer, self._parameters(choice), known[output])

    def _rounded(self, choice: Choice) -> Mapping[str, Rounded]:
        """What the input of each layer says about its weights, by its output."""
        structure, parameters, options = self._structure(choice), self._parameters(choice), self._options

        def solve() -> dict[str, Rounded]:
            layers, found = structure.selection.matrices, dict[str, Rounded]()
            moments = gather_moments(structure.graph, layers, parameters, self._samples, options, self._count)
            for number, layer in enumerate(layers):
                output, started = layer.node.outputs[0], time.monotonic()
                known = moments.pop(output, None)
                if known is not None and known.count:
                    found[output] = round_layer(structure.graph, layer, self._scales(layer, choice), known)
                check_time(f"{layer.node.name} ({layer.node.op})", started)
                if options.progress:
                    options.progress("rounding", number + 1, len(layers))
            return found

        return self._once("rounded", upto(choice, SCALE), solve)

    def _weights(self, layer: Layer, choice: Choice) -> LayerWeights:
        output, scales = layer.node.outputs[0], self._scales(layer, choice)
        rounds, corrects = output in places(choice, ROUND), output in places(choice, CORRECT)
        if not (rounds or corrects):
            weights = self._structure(choice).graph.constants[layer.node.inputs[1]]
            return LayerWeights(scales, np.zeros(weights.shape, np.int8), None)
        known = self._rounded(choice)[output]
        steps = known.steps if rounds else np.zeros_like(known.steps)
        shift = known.shift if rounds else known.shift_nearest
        return LayerWeights(scales, steps, shift if corrects else None)


def typical(extents: Mapping[str, Extent], count: int) -> dict[str, np.ndarray]:
    """Per channel the mean over samples of each sample's largest magnitude: one outlier does not decide."""
    return {value: np.round(extent.magnitude / count, 9) for value, extent in extents.items()}


def bounded(graph: Graph, value: str, ends: Range) -> Range:
    """The ends, where a Clip computes the value within its bounds."""
    clip = graph.producer(value, "Clip")
    bounds = [graph.constant(clip.input(place)) if clip and clip.input(place) else None for place in (1, 2)]
    low = ends[0] if bounds[0] is None else max(ends[0], float(bounds[0]))
    return low, max(low, ends[1] if bounds[1] is None else min(ends[1], float(bounds[1])))
