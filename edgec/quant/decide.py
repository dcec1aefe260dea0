"""From samples to decisions: what the samples say, and the search for the steps that help."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from glob import escape
from itertools import chain
from typing import Any

from edgec.ir.graph import Graph
from edgec.quant.attention import attention, choose_floats, normalizations, standardizations
from edgec.quant.between import Between, choose_between
from edgec.quant.calibration import Calibration
from edgec.quant.coverage import Selection, excluded_nodes, select
from edgec.quant.durations import Durations
from edgec.quant.evening import evened_choices
from edgec.quant.features import feature_counts
from edgec.quant.final import SEEN, Fitter, least_harmful, luckiest
from edgec.quant.fit import Fit
from edgec.quant.fitted import Fitted, Start
from edgec.quant.levers import LEVERS, usual_levers, with_levers
from edgec.quant.options import Progress, QuantizeOptions, Sample, Samples
from edgec.quant.report import StepReport
from edgec.quant.scores import Score, scored
from edgec.quant.statistics import SHARES, Extent, joined, measure_extents
from edgec.quant.steps import PLAIN, Choice, places, search
from edgec.quant.streams import channel_values
from edgec.quant.thin import enough, turns_paid
from edgec.quant.trial import Trial, Tried
from edgec.quant.tries import without
from edgec.quant.verdict import PLAINLY, SURE, Judge, stands, verdict

FEW = 16  # samples: each half is measured with what was fitted to the other; of more a quarter measures what was fitted to the others
ALONE = 16  # held-back samples that are enough to judge a goal; with fewer all samples judge it
JUDGES = 32  # samples at most that a trial runs

Pairs = Sequence[tuple[Collection[int], Collection[int]]]  # shares that are fitted to, and those that judge
TURNS: Pairs = [((1, 2, 3), (0,)), ((0, 2, 3), (1,)), ((0, 1, 3), (2,))]  # what the usual one leaves


@dataclass(frozen=True)
class Searched:
    """The calibration, what each step was worth, and remarks; and `judges` samples that it is to be judged on.

    apart: whether nothing was fitted to these. Where all samples were fitted to, they are all of them. attention: its nodes in float;
    between: what is so besides.
    """

    calibration: Calibration
    steps: list[StepReport]
    notes: tuple[str, ...]
    held: Samples
    judges: int
    apart: bool
    attention: frozenset[str]
    between: Between


@dataclass(frozen=True)
class SampleExtents:
    """The samples that decide, the extents and the number of each share of them, and what all samples have in them at most.

    A range that these do not leave is what other data will mostly meet, so those that judge count, and those that decide nothing else.
    """

    samples: Samples
    extents: list[dict[str, Extent]]
    counts: list[int]
    ends: dict[str, Extent]
    notes: tuple[str, ...]

    def number(self, shares: Collection[int]) -> int:
        """How many samples these shares have."""
        return sum(self.counts[share] for share in shares)


def measured(graph: Graph, selection: Selection, samples: Samples, options: QuantizeOptions) -> SampleExtents:
    """What all samples say at first; where a run is long, some of them decide the rest."""

    def measure(samples: Samples) -> tuple[list[dict[str, Extent]], list[int]]:
        return measure_extents(graph, selection.values, channel_values(graph), samples, options.progress, feature_counts(graph))

    extents, counts = measure(samples)
    count, ends = sum(counts), joined(extents)
    few = enough(graph, count, options)
    if few == count:
        notes = () if count > 1 else ("one sample: what was fitted to it was measured on it too",)
        return SampleExtents(samples, extents, counts, ends, notes)
    samples = some(samples, count, few)
    note = f"a run is long: {few} of {count} samples decide all but the ranges; effort high takes all"
    return SampleExtents(samples, *measure(samples), ends, (note,))


def calibrate(graph: Graph, selection: Selection, samples: Samples, options: QuantizeOptions) -> Searched:
    """Decide everything that `apply_calibration` needs."""
    wholly, inner, norms, heads = options, attention(selection), normalizations(selection), standardizations(graph, selection)
    layers = [*inner, *norms, *heads]
    options = with_floats(options, [layer.node.name for layer in layers])
    known = measured(graph, selection, samples, options)
    samples, extents, count = known.samples, known.extents, sum(known.counts)

    def fit(shares: Collection[int], options: QuantizeOptions) -> Fit:
        fitted = {value: extent.between(known.ends[value]) for value, extent in joined([extents[share] for share in shares]).items()}
        return Fit(graph, fitted, part(samples, shares), known.number(shares), options)

    def trial(shares: Collection[int], most: int = JUDGES) -> Trial:
        return Trial(graph, some(part(samples, shares), known.number(shares), most), min(known.number(shares), most), options.progress)

    def folds(pairs: Pairs, options: QuantizeOptions) -> Folds:
        return Folds([(fit(fitted, options), trial(held)) for fitted, held in pairs], options.progress)

    def turns(choices: Sequence[Choice]) -> list[Score]:
        """Of all samples: each share judges what was fitted to the others."""
        paid = TURNS[: turns_paid(graph, count, len(TURNS), options)]
        return scores_of(choices, chain([judged], (folds([pair], options) for pair in paid)))

    judged = folds(shares_of(count), options)
    judged, between, choice, steps = searched(graph, judged, options, partial(folds, shares_of(count)))
    wholly, options = with_floats(wholly, between.nodes), with_floats(options, between.nodes)
    choice = judged.first.effective(choice)
    once = judged.beside(choice)  # by the samples that judged so far
    held = shares_of(count)[0][1]
    apart = len(judged) == 1 and known.number(held) >= ALONE
    more = len(judged) == 1 and count > 1  # samples could judge
    certain = not any(choice.values()) or (more and stands(choice, once, SURE if apart else PLAINLY))
    if not certain:
        choice = verdict(choice, turns if more else once)
    steps = [replace(report, taken=len(places(choice, report.step))) for report in steps]
    kept = frozenset(layer.node.name for layer in layers)
    if layers:
        whole = folds(shares_of(count), wholly)
        kept = choose_floats(graph, inner, norms, heads, judged.score(choice), partial(whole.score, choice))
        judged, options = (whole, wholly) if len(kept) < len(layers) else (judged, options)
    high, few = options.effort == "high", len(judged) > 1 or (more and not apart)
    every = len(judged) > 1 or (few and not certain)  # share was fitted to and judged
    evened = evened_choices(choice, judged.candidates) if high and options.equalize else ()
    floats, whole_fit = sorted(kept) if options is wholly else (), partial(fit, range(SHARES), options)
    fitted, plain = (fitter(graph, one, others, floats) for one, others in ((choice, evened), (PLAIN, ())))
    # a quarter of few samples would take luck for a gain
    before, levers = usual_levers(graph, options) if apart else (), LEVERS if high else ()
    turned = (folds([pair], options) for pair in TURNS if more and (high or not apart))
    apiece = [(fitted(one), trial) for each in chain([judged], turned) for one, trial in each.pairs] if levers or before else []
    usual = least_harmful(fitted, plain, whole_fit, judged.fits, trial(range(SHARES))) if every else fitted(judged.first)
    of_all = (lambda: usual if every else fitted(whole_fit())) if few or (levers and more) else None
    ends, more_steps = with_levers(graph, apiece, usual, of_all, options, before, levers)
    final = luckiest(ends, trial(range(SHARES), SEEN)) if len(ends) > 1 else ends[0]
    held, apart = (held, True) if apart and not levers else (range(SHARES), False)
    return Searched(final, [*steps, *more_steps], known.notes, part(samples, held), known.number(held), apart, kept, between)


def with_floats(options: QuantizeOptions, nodes: Iterable[str]) -> QuantizeOptions:
    """The same with these nodes in float."""
    names = tuple(map(escape, nodes))
    return replace(options, exclude=(*options.exclude, *names)) if names else options


def searched(
    graph: Graph, judged: Folds, options: QuantizeOptions, folds: Callable[[QuantizeOptions], Folds]
) -> tuple[Folds, Between, Choice, list[StepReport]]:
    """What is chosen of the steps, and what judged it; of a network with some layers between products in float, where that pays."""
    between = in_between(graph, options, judged)
    choice, steps = search(judged.candidates, judged.score, options, judged.first.due)
    if between.nodes:
        options = with_floats(options, between.nodes)
        other = folds(options)
        chosen, reports = search(other.candidates, other.score, options, other.first.due)
        between = between.judged(judged.score(choice), other.score(chosen))
        if between.nodes:
            return other, between, chosen, reports
    return judged, between, choice, steps


def in_between(graph: Graph, options: QuantizeOptions, judged: Folds) -> Between:
    """What may stay in float between products, where nothing is asked that decides it."""
    if options.goal is not None or not options.rescue or options.effort == "fast":
        return Between()
    layers = select(graph, options.exclude, codes_out=options.codes_out).layers
    durations = Durations(graph, layers, excluded_nodes(graph, options.exclude), codes_out=options.codes_out)
    return choose_between(durations, partial(judged.score, PLAIN))


def fitter(graph: Graph, choice: Choice, evened: Sequence[Choice], floats: Collection[str]) -> Fitter:
    """Makes of a fit what follows from `choice`, with these nodes in float besides. evened: what else may be chosen, see Start."""

    def finish(found: Calibration) -> Calibration:
        return without(graph, found, floats) if floats else found

    return lambda fit: Fitted(finish(fit.calibration(choice)), fit.samples, fit.count, Start(fit.anew().anew, choice, evened, finish))


class Folds:
    """Fits to some of the samples, each with the trial of what follows from it on others."""

    def __init__(self, pairs: Sequence[tuple[Fit, Trial]], progress: Progress | None) -> None:
        self.pairs, self._progress = pairs, progress
        self._found: dict[Any, list[Tried]] = {}

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def fits(self) -> list[Fit]:
        return [fit for fit, _ in self.pairs]

    @property
    def first(self) -> Fit:
        return self.pairs[0][0]

    def aside(self) -> Folds:
        """The same, which may be fitted to other choices without giving up what was fitted here."""
        other = Folds([(fit.aside(), trial) for fit, trial in self.pairs], self._progress)
        other._found = self._found
        return other

    def beside(self, choice: Choice) -> Judge:
        """The scores of choices. What was fitted for `choice` is not given up for that of others."""
        aside = self.aside()
        return lambda choices: [(self if one is choice else aside).score(one) for one in choices]

    def candidates(self, step: str, choice: Choice) -> list[str]:
        return list(dict.fromkeys(place for fit, _ in self.pairs for place in fit.candidates(step, choice)))

    def score(self, choice: Choice, floats: Collection[str] = ()) -> Score:
        """floats: nodes that stay in float besides."""
        return scored(self._tried(choice, floats))

    def trials(self, choices: Sequence[Choice]) -> list[list[Tried]]:
        """For each choice what each fold has."""
        return [self._tried(choice) for choice in choices]

    def _tried(self, choice: Choice, floats: Collection[str] = ()) -> list[Tried]:
        key = frozenset((step, taken) for step, taken in choice.items() if taken), frozenset(floats)
        if key not in self._found:
            calibrations = [(fit.calibration(choice), trial) for fit, trial in self.pairs]
            self._found[key] = [trial(without(trial.graph, given, sorted(floats)) if floats else given) for given, trial in calibrations]
            if self._progress:
                self._progress("trials", len(self._found), 0)
        return self._found[key]


def scores_of(choices: Sequence[Choice], folds: Iterable[Folds]) -> list[Score]:
    """Of each choice by all these together. One of them at a time is kept."""
    trials = [each.trials(choices) for each in folds]
    return [scored(list(chain(*parts))) for parts in zip(*trials, strict=True)]


def shares_of(count: int) -> Pairs:
    """The shares of `count` samples that are fitted to, and those that are held back, for each fold."""
    if count == 1:
        return [(range(SHARES), range(SHARES))]
    return [((0, 2), (1, 3)), ((1, 3), (0, 2))] if count < FEW else [((0, 1, 2), (3,))]


def part(samples: Samples, shares: Collection[int]) -> Samples:
    """The samples of some shares."""

    def chosen() -> Iterator[Sample]:
        return (sample for index, sample in enumerate(samples()) if index % SHARES in shares)

    return chosen


def some(samples: Samples, count: int, most: int = JUDGES) -> Samples:
    """`most` of `count` samples, evenly spread."""
    wanted = {place * count // most for place in range(most)} if count > most else set(range(count))

    def chosen() -> Iterator[Sample]:
        return (sample for index, sample in enumerate(samples()) if index in wanted)

    return chosen
