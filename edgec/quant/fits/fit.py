"""What some of the samples say, and the calibration that follows from it for any choice of steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from functools import reduce
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from edgec.base.budget import check_time
from edgec.ir.graph import Graph
from edgec.quant.channels.centre import apply_centres, choose_centres, middles_of
from edgec.quant.channels.equalize import Equalization, Evenness, choose_factors, store_equalized
from edgec.quant.channels.features import choose_features, even_names, multiplied, spread
from edgec.quant.channels.joined import join, joinable
from edgec.quant.channels.sensitivity import sensitivities
from edgec.quant.channels.split import apply_splits, choose_splits, split_values
from edgec.quant.codes.weights import layer_axis, peak_scales, rows_of, weight_scales
from edgec.quant.decisions.calibration import Calibration, LayerWeights, fingerprint
from edgec.quant.decisions.layers import Fed, Rounded, gather_fed, gather_moments, layer_scales, lost_mean, round_layers, takes_bias
from edgec.quant.fits.dearer import due_for_features, due_for_functions, due_for_splits
from edgec.quant.fits.proposals import Proposals, Structure, bounded
from edgec.quant.fits.see_through import see_through_tables
from edgec.quant.fits.shaped import functions_in, shapeable, with_functions
from edgec.quant.given.options import QuantizeOptions, Samples
from edgec.quant.ranges.observers import CHOOSE, WHOLE, Histogram, Range, by_minmax
from edgec.quant.ranges.parameters import Parameters, choose_parameters, moved_values
from edgec.quant.runs.statistics import Extent, joined, measure_extents, measure_histograms
from edgec.quant.scope.coverage import Layer, Selection, excluded_nodes, select
from edgec.quant.scope.patches import supported
from edgec.quant.trials.steps import (
    BEHIND,
    BOUNDED,
    CORRECT,
    EQUALIZE,
    FEATURES,
    JOIN,
    MILD,
    MORE,
    OBSERVE,
    RISK,
    ROUND,
    SCALE,
    SHAPE,
    SPLIT,
    TIGHT,
    Choice,
    chosen,
    places,
    risk,
)

HALF = Evenness(0.5, 0.5)  # half the unevenness stays in the activations, half goes to the weights
WIDER = Evenness(0.5, 0.75, 1 / 2048)  # behind functions, which are bounded below: channels that hardly ever leave 0 are told from others
DIVISION = (JOIN, SHAPE, SPLIT)  # steps that say which layers there are
STRUCTURE = (*DIVISION, FEATURES, BEHIND, EQUALIZE, MILD, BOUNDED, TIGHT)  # those that change the float graph
BEFORE = ("joinable", "joined", "shapeable", "shaped", "splits", "divided", "fed")  # stages that come before equalization
T = TypeVar("T")


class Fit:
    """Calibrations from `count` samples, whose extents are known; the others of their statistics are gathered when a step needs them.

    Each stage remembers its latest result: steps are decided in order, so what a stage depends on changes seldom.
    """

    def __init__(
        self, graph: Graph, extents: Mapping[str, Extent], samples: Samples, count: int, options: QuantizeOptions,
        seen: Mapping[str, Extent] | None = None,
    ) -> None:  # fmt: skip
        """seen: the extents of these samples alone, where others are to judge: how far features go that are equalized.

        Where the ends of `extents` are of those that judge as well, these see nothing of what equalized features cut of other samples.
        """
        self._graph, self._extents, self.samples, self.count, self._options = graph, extents, samples, count, options
        self._seen = seen or {}
        self._latest: dict[str, tuple[Any, Any]] = {}
        self._model, self._evenness = fingerprint(graph), HALF

    def aside(self) -> Fit:
        """The same, which goes on from what this one remembers and leaves it as it is."""
        other = copy(self)
        other._latest = dict(self._latest)
        return other

    def anew(self) -> Fit:
        """The same, which remembers nothing."""
        other = copy(self)
        other._latest = {}
        return other

    def knows(self, values: Iterable[str]) -> bool:
        """Whether the extents of all of these are known: of what no layer stores they are not."""
        return all(value in self._extents for value in values)

    def centred(self, values: Sequence[str]) -> tuple[Fit, dict[str, np.ndarray]]:
        """The same where linear `values` are stored less their middles, and what the results of convolutions are stored less."""
        ends = {value: self._extents[value] for value in values}
        centres = choose_centres(self._graph, {value: (extent.low + extent.high) / 2 for value, extent in ends.items()})
        graph = self._graph.copy()
        apply_centres(graph, centres)
        channels = {value: extent.channels for value, extent in ends.items()}
        measured = joined(measure_extents(graph, values, channels, self.samples, self._options.progress)[0])
        moved = {value: measured[value].between(ends[value].moved(middle)) for value, middle in middles_of(self._graph, centres).items()}
        other = self.anew()
        other._graph, other._extents = graph, {**self._extents, **moved}
        return other, centres

    def evened(self, evenness: Evenness, choice: Choice) -> Fit:
        """The same, where equalized channels become so even. What does not depend on that is gathered once for all of them."""
        self._fed(choice)
        other = copy(self)
        other._evenness = evenness
        other._latest = {stage: known for stage, known in self._latest.items() if stage in BEFORE}
        return other

    def candidates(self, step: str, choice: Choice) -> Sequence[str]:
        """Where `step` can be taken, in the order of the graph."""
        if step == JOIN:
            return self._once("joinable", None, lambda: joinable(self._graph, self._selected(self._graph)))
        if step == SHAPE:
            graph = self._joined(choice)
            return self._once("shapeable", places(choice, JOIN), lambda: shapeable(graph, self._selected(graph)))
        if step == SPLIT:
            return tuple(self._splits(choice))
        if step in (BOUNDED, TIGHT):
            return self._equalizations(choice).typical.bounded
        if step in (EQUALIZE, MILD):
            taken = places(choice, EQUALIZE) if step == MILD else frozenset()
            apart = places(choice, BEHIND) | self._equalizations(choice).forced
            return [name for name in self._equalizations(choice).expected.free if name not in taken | apart]
        if step == BEHIND:
            return self._equalizations(choice).offered
        if step == FEATURES:
            return tuple(self._features(choice))
        structure = self._structure(choice)
        if step == OBSERVE:
            moved = moved_values(structure.selection)
            return [value for value in structure.selection.values if value not in moved and value not in structure.pixels]
        if step == MORE:
            return shapeable(structure.graph, structure.selection)
        if step == CORRECT:
            return [layer.node.outputs[0] for layer in structure.selection.matrices if takes_bias(structure.graph, layer)]
        # what is decided of weights is decided once for all that read them
        layers = [group[0] for group in structure.groups]
        return [layer.node.outputs[0] for layer in layers if step != ROUND or supported(structure.graph, layer.node)]

    def effective(self, choice: Choice) -> Choice:
        """The same without functions of what is split."""
        return {**choice, SHAPE: frozenset(self._shaped(choice))} if places(choice, SHAPE) else choice

    def due(self, step: str, choice: Choice) -> float:
        """dB that `step` must gain where it is chosen."""
        if step in (SHAPE, MORE):
            return due_for_functions(self._divided(choice)[0], places(choice, step))
        if step == FEATURES:
            graph = self._divided(choice)[0]  # a feature may go where no sample that judges went, as what cuts
            return max(RISK, due_for_features(graph, multiplied(graph, places(choice, FEATURES))))
        if step == SPLIT:
            taken = places(choice, SPLIT)
            return due_for_splits(self._joined(choice), {value: groups for value, groups in self._splits(choice).items() if value in taken})
        return risk(step, choice)

    def calibration(self, choice: Choice) -> Calibration:
        """Everything that `choice` decides."""
        structure, parameters, options = self._structure(choice), self._parameters(choice), self._options
        weights = {layer.node.outputs[0]: self._weights(layer, choice) for layer in structure.selection.matrices}
        found = Calibration(
            self._model, self.count, options.observer, options.exclude, structure.splits, structure.factors, parameters, weights,
            effort=options.effort, codes_out=options.codes_out, shaped=self._shaped(choice),
            joined=tuple(value for value in self.candidates(JOIN, choice) if value in places(choice, JOIN)),
        )  # fmt: skip
        return with_functions(self._graph, found, places(choice, MORE))

    def _once(self, stage: str, key: Any, make: Callable[[], T]) -> T:
        if stage not in self._latest or self._latest[stage][0] != key:
            self._latest.pop(stage, None)
            self._latest[stage] = key, make()
        return self._latest[stage][1]  # type: ignore[no-any-return]

    def _selected(self, graph: Graph, shaped: Collection[str] = ()) -> Selection:
        """The layers of the graph, or of one that it became."""
        return select(graph, self._options.exclude, codes_out=self._options.codes_out, shaped=shaped)

    def _shaped(self, choice: Choice) -> tuple[str, ...]:
        """Of the values chosen for it those that are not split, in the order of the graph."""

        def remain() -> tuple[str, ...]:
            split = split_values(self._joined(choice), places(choice, SPLIT))
            return tuple(value for value in self.candidates(SHAPE, choice) if value in places(choice, SHAPE) and value not in split)

        return self._once("shaped", chosen(choice, *DIVISION), remain) if places(choice, SHAPE) else ()

    def _joined(self, choice: Choice) -> Graph:
        def build() -> Graph:
            graph = self._graph.copy()
            join(graph, [value for value in self.candidates(JOIN, choice) if value in places(choice, JOIN)])
            return graph

        return self._once("joined", places(choice, JOIN), build) if places(choice, JOIN) else self._graph

    def _splits(self, choice: Choice) -> dict[str, list[list[int]]]:
        def choose() -> dict[str, list[list[int]]]:
            graph = self._joined(choice)
            excluded, selection = excluded_nodes(graph, self._options.exclude), self._selected(graph)
            widths = {value: self._typical(extent) for value, extent in self._extents.items()}
            return choose_splits(graph, selection.values, widths, sensitivities(graph), excluded)

        return self._once("splits", places(choice, JOIN), choose)

    def _divided(self, choice: Choice) -> tuple[Graph, dict[str, list[list[int]]], dict[str, Extent]]:
        """The graph with the chosen splits, those, and the extents of its values."""

        def divide() -> tuple[Graph, dict[str, list[list[int]]], dict[str, Extent]]:
            graph, taken = self._joined(choice).copy(), places(choice, SPLIT)
            splits = {value: groups for value, groups in self._splits(choice).items() if value in taken} if taken else {}
            origins = apply_splits(graph, splits)
            parts = {new: self._extents[old].of(channels) for new, (old, channels) in origins.items() if old in self._extents}
            return graph, splits, {**self._extents, **parts}

        return self._once("divided", chosen(choice, JOIN, SPLIT), divide)

    def _fed(self, choice: Choice) -> Mapping[str, Fed]:
        """What each layer reads, before equalization."""

        def gather() -> dict[str, Fed]:
            graph = self._divided(choice)[0]
            return gather_fed(graph, self._selected(graph).matrices, self.samples, self._options, self.count)

        return self._once("fed", chosen(choice, JOIN, SPLIT), gather)

    def _equalizations(self, choice: Choice) -> Proposals:
        def propose() -> Proposals:
            graph, _, extents = self._divided(choice)
            selection = self._selected(graph, self._shaped(choice))
            functions, shaped = functions_in(graph, selection), functions_in(graph, selection, self._shaped(choice))

            def factors(width: Callable[[Extent], np.ndarray], evenness: Evenness = self._evenness) -> Equalization:
                return choose_factors(graph, {value: width(one) for value, one in extents.items()}, evenness, functions)

            expected, largest, typical = (factors(width) for width in (self._expected, lambda one: one.largest, self._typical))
            behind = factors(Extent.upward, WIDER)
            forced = frozenset(behind.through(shaped) if self._options.equalize else ())
            offered = tuple(name for name in behind.through(functions) if name not in forced)
            return Proposals(expected, largest, typical, behind, offered, forced)

        return self._once("equalizations", chosen(choice, *DIVISION), propose)

    def _typical(self, extent: Extent) -> np.ndarray:
        return extent.typical(self.count)

    def _expected(self, extent: Extent) -> np.ndarray:
        return extent.expected(self.count)

    def _factors(self, choice: Choice) -> dict[str, np.ndarray]:
        bounded, tight, free, mild, behind = chosen(choice, BOUNDED, TIGHT, EQUALIZE, MILD, BEHIND)
        if not bounded | tight | free | mild | behind | frozenset(self._shaped(choice)):
            return {}
        proposals = self._equalizations(choice)
        behind |= proposals.forced
        halfway = {value: np.sqrt(r) for value, r in proposals.expected.taken(mild - behind).items()}
        found = [
            proposals.largest.taken(bounded - tight),
            proposals.typical.taken(tight),
            proposals.expected.taken(free - behind),
            halfway,
            proposals.behind.taken(behind),
        ]
        return {value: reduce(np.multiply, [each[value] for each in found if value in each]) for value in dict.fromkeys(chain(*found))}

    def _features(self, choice: Choice) -> dict[str, np.ndarray]:
        """Factors of all features that are worth having them."""

        def choose() -> dict[str, np.ndarray]:
            graph, _, extents = self._divided(choice)
            coded = graph.inputs if self._options.codes_out else ()
            return choose_features(graph, self._selected(graph, self._shaped(choice)), extents, self.count, coded)

        return self._once("features", chosen(choice, *DIVISION), choose)

    def _structure(self, choice: Choice) -> Structure:
        def build() -> Structure:
            divided, splits, extents = self._divided(choice)
            even = {origin: r for origin, r in self._features(choice).items() if origin in places(choice, FEATURES)}
            factors, graph = self._factors(choice) | even, divided.copy()
            selection = store_equalized(graph, factors, self._options.exclude, self._options.codes_out, self._shaped(choice))
            divisors, named = factors | spread(divided, even), even_names(graph, even)
            divisors |= {value: divisors[origin] for value, origin in named.items()}
            known = extents | {value: self._seen[value] for value in spread(divided, even) if value in self._seen}
            ends = {value: bounded(graph, value, known[named.get(value, value)].ends(divisors.get(value))) for value in selection.values}
            ours = {*selection.produced, *divisors}
            pixels = tuple(value for value, extent in extents.items() if extent.pixels and value not in ours)
            return Structure(graph, selection, splits, factors, divisors, ends, pixels)

        return self._once("structure", chosen(choice, *STRUCTURE), build)

    def _histograms(self, choice: Choice) -> Mapping[str, Histogram]:
        """Counted where the observer needs them, else of the ends only."""
        structure, options = self._structure(choice), self._options
        if not places(choice, OBSERVE):
            return {value: Histogram(*ends) for value, ends in structure.ends.items()}

        def count() -> dict[str, Histogram]:
            weights, whole = sensitivities(structure.graph), options.observer in WHOLE
            found = measure_histograms(structure.graph, structure.ends, weights, self.samples, self.count, options.progress, whole=whole)
            see_through_tables(structure.graph, structure.selection, found)
            return found

        return self._once("histograms", chosen(choice, *STRUCTURE), count)

    def _parameters(self, choice: Choice) -> dict[str, Parameters]:
        structure, observed, options = self._structure(choice), places(choice, OBSERVE), self._options

        def choose() -> dict[str, Parameters]:
            histograms = self._histograms(choice)
            known: dict[tuple[str, ...], Range] = self._once("limits", chosen(choice, *STRUCTURE), dict)

            def limits(members: tuple[str, ...], histogram: Histogram) -> Range:
                if members[0] not in observed:
                    return by_minmax(histogram, options)
                if members not in known:
                    known[members] = CHOOSE[options.observer](histogram, options)
                return known[members]

            return choose_parameters(structure.graph, structure.selection, histograms, limits, structure.pixels)

        return self._once("parameters", chosen(choice, *STRUCTURE, OBSERVE), choose)

    def _scales(self, layer: Layer, choice: Choice) -> np.ndarray:
        structure = self._structure(choice)
        group = structure.sharers[layer.node.outputs[0]]
        first = group[0].node.outputs[0]
        of = weight_scales if first in places(choice, SCALE) else peak_scales
        known: dict[tuple[str, Any], np.ndarray] = self._once("scales", chosen(choice, *STRUCTURE), dict)
        if (first, of) not in known:
            known[first, of] = of(rows_of(structure.graph.constants[layer.node.inputs[1]], layer_axis(layer)))
        return layer_scales(structure.graph, group, self._parameters(choice), known[first, of])

    def _rounded(self, choice: Choice) -> Mapping[str, Rounded]:
        """What the input of each layer says about its weights, by its output."""
        structure, parameters, options = self._structure(choice), self._parameters(choice), self._options

        def solve() -> dict[str, Rounded]:
            groups, found = structure.groups, dict[str, Rounded]()
            moments = gather_moments(structure.graph, structure.selection.matrices, parameters, self.samples, options, self.count)
            for number, group in enumerate(groups):
                node, started = group[0].node, time.monotonic()
                known = moments.pop(node.outputs[0], None)
                if known is not None and known.count:
                    made = round_layers(structure.graph, group, self._scales(group[0], choice), known)
                    found |= {layer.node.outputs[0]: one for layer, one in zip(group, made, strict=True)}
                check_time(f"{node.name} ({node.op})", started)
                if options.progress:
                    options.progress("rounding", number + 1, len(groups))
            return found

        return self._once("rounded", chosen(choice, *STRUCTURE, OBSERVE, SCALE), solve)

    def _weights(self, layer: Layer, choice: Choice) -> LayerWeights:
        output, scales = layer.node.outputs[0], self._scales(layer, choice)
        first = self._structure(choice).sharers[output][0].node.outputs[0]
        rounds, corrects = first in places(choice, ROUND), output in places(choice, CORRECT)
        if rounds:
            known = self._rounded(choice)[output]
            return LayerWeights(scales, known.steps, known.shift if corrects else None)
        weights = self._structure(choice).graph.constants[layer.node.inputs[1]]
        return LayerWeights(scales, np.zeros(weights.shape, np.int8), self._shift(layer, choice, scales) if corrects else None)

    def _shift(self, layer: Layer, choice: Choice, scales: np.ndarray) -> np.ndarray:
        """What the bias gains where weights are rounded to nearest."""
        structure, output, kept = self._structure(choice), layer.node.outputs[0], self._parameters(choice)[layer.operands[0]]
        divisors, fed = structure.divisors.get(layer.node.inputs[0]), self._fed(choice)[output]
        key = kept, scales.tobytes(), divisors if divisors is None else divisors.tobytes()
        return self._once(f"shift of {output}", key, lambda: lost_mean(structure.graph, layer, scales, fed, divisors, kept))
