"""From samples to decisions: what the samples say, and the search for the steps that help."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from glob import escape
from itertools import chain

from edgec.ir.graph import Graph
from edgec.quant.decisions.calibration import Calibration
from edgec.quant.decisions.without import without
from edgec.quant.fits.final import SEEN, Fitter, least_harmful, luckiest
from edgec.quant.fits.fit import Fit
from edgec.quant.fits.fitted import Fitted, Start
from edgec.quant.fits.folds import Folds
from edgec.quant.fits.judges import Judges
from edgec.quant.fits.known import measured
from edgec.quant.floats.attention import attention, choose_floats, normalizations, standardizations
from edgec.quant.floats.between import DEARER, ENOUGH, FURTHER, Between, choose_between
from edgec.quant.floats.durations import Durations
from edgec.quant.floats.ranking import Names
from edgec.quant.given.options import QuantizeOptions, Samples
from edgec.quant.runs.statistics import SHARES, joined
from edgec.quant.runs.thin import turns_paid
from edgec.quant.scope.coverage import Selection, excluded_nodes, select
from edgec.quant.search.evening import evened_choices
from edgec.quant.search.levers import LEVERS, usual_levers, with_levers
from edgec.quant.trials.scores import Score
from edgec.quant.trials.shares import JUDGES, TURNS, Pairs, part, shares_of, some
from edgec.quant.trials.steps import FEATURES, JOIN, PLAIN, Choice, StepReport, places, search
from edgec.quant.trials.trial import Trial
from edgec.quant.trials.verdict import PLAINLY, SURE, final_verdict, stands
from edgec.records.diagnosis import LOW_SQNR

ALONE = 16  # held-back samples that are enough to judge a goal; with fewer all samples judge it


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


def calibrate(graph: Graph, selection: Selection, samples: Samples, options: QuantizeOptions) -> Searched:
    """Decide everything that `apply_calibration` needs."""
    wholly, inner, norms, heads = options, attention(selection), normalizations(selection), standardizations(graph, selection)
    layers = [*inner, *norms, *heads]
    options = with_floats(options, [layer.node.name for layer in layers])
    known = measured(graph, selection, samples, options)
    samples, extents, count = known.samples, known.extents, sum(known.counts)

    def fit(shares: Collection[int], options: QuantizeOptions, own: bool = False) -> Fit:
        """own: these samples alone say how far even features go."""
        seen = joined([extents[share] for share in shares])
        fitted = {value: extent.between(known.ends[value]) for value, extent in seen.items()}
        return Fit(graph, fitted, part(samples, shares), known.number(shares), options, seen if own else {})

    def trial(shares: Collection[int], most: int = JUDGES) -> Trial:
        return Trial(graph, some(part(samples, shares), known.number(shares), most), min(known.number(shares), most), options.progress)

    def folds(pairs: Pairs, options: QuantizeOptions, own: bool = False) -> Folds:
        return Folds([(fit(fitted, options, own), trial(held)) for fitted, held in pairs], options.progress)

    pairs = shares_of(count)
    apart = len(pairs) == 1 and known.number(pairs[0][1]) >= ALONE
    judging = partial(folds, own=not apart)  # few that judge would widen the ranges of even features until nothing of theirs is cut
    judged, between, choice, steps = searched(graph, judging(pairs, options), options, partial(judging, pairs))
    wholly, options = with_floats(wholly, between.nodes), with_floats(options, between.nodes)
    choice = judged.first.effective(choice)
    more = len(pairs) == 1 and count > 1  # samples could judge
    turns = [partial(judging, [pair], options) for pair in TURNS[: turns_paid(graph, count, len(TURNS), options)] if more]
    choice, certain = confirmed(choice, Judges(judged, choice, turns), apart)
    judged = folds(pairs, options) if not apart and places(choice, FEATURES) else judged
    steps = [replace(report, taken=len(places(choice, report.step))) for report in steps]
    kept = frozenset(layer.node.name for layer in layers)
    if layers:
        whole = folds(pairs, wholly)
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
    held, apart = (pairs[0][1], True) if apart and not levers else (range(SHARES), False)
    return Searched(final, [*steps, *more_steps], known.notes, part(samples, held), known.number(held), apart, kept, between)


def confirmed(choice: Choice, judges: Judges, apart: bool) -> tuple[Choice, bool]:
    """What is left of it by the last word of all samples, and whether those that were held back so far were certain of it.

    apart: whether these are enough, and any part of the others as well.
    """
    most = judges.turns
    if not any(choice.values()) or (most and stands(choice, judges.by(0), SURE if apart else PLAINLY)):
        return choice, True
    return final_verdict(choice, [judges.by(turns) for turns in range(1 if apart else most, most + 1)]), False


def with_floats(options: QuantizeOptions, nodes: Iterable[str]) -> QuantizeOptions:
    """The same with these nodes in float."""
    names = tuple(map(escape, nodes))
    return replace(options, exclude=(*options.exclude, *names)) if names else options


def searched(
    graph: Graph, judged: Folds, options: QuantizeOptions, folds: Callable[[QuantizeOptions], Folds]
) -> tuple[Folds, Between, Choice, list[StepReport]]:
    """What is chosen of the steps, and what judged it; of a network with some layers between products in float, where that pays."""
    between = in_between(graph, options, partial(judged.score, PLAIN))
    choice, steps = search(judged.candidates, judged.score, options, judged.first.due)
    found = searched_between(between, judged, choice, options, folds)
    if found is None and judged.score(choice).ratio < LOW_SQNR:
        between = in_between(graph, options, partial(judged.score, choice), FURTHER)
        found = searched_between(between, judged, choice, options, folds)
    return found or (judged, Between(), choice, steps)


def searched_between(
    between: Between, judged: Folds, choice: Choice, options: QuantizeOptions, folds: Callable[[QuantizeOptions], Folds]
) -> tuple[Folds, Between, Choice, list[StepReport]] | None:
    """The same with these layers in float, where that pays when all steps are decided anew; None elsewhere.

    What of them is joined is asked for apart, as it would be in float; and what is joined must be surpassed, too.
    """
    apart = {step: taken for step, taken in choice.items() if step != JOIN}
    if not between.nodes or not between.promises(judged.score(apart), judged.score(apart, between.nodes)):
        return None
    options = with_floats(options, between.nodes)
    other = folds(options)
    chosen, reports = search(other.candidates, other.score, options, other.first.due)
    found = other.score(chosen)
    between = between.judged(judged.score(apart), found)
    ahead = not places(choice, JOIN) or found.ratio >= judged.score(choice).ratio + ENOUGH
    return (other, between, chosen, reports) if between.nodes and ahead else None


def in_between(graph: Graph, options: QuantizeOptions, score: Callable[[Names], Score], dearer: float = DEARER) -> Between:
    """What may stay in float between products, where nothing is asked that decides it."""
    if options.goal is not None or not options.rescue or options.effort == "fast":
        return Between()
    layers = select(graph, options.exclude, codes_out=options.codes_out).layers
    durations = Durations(graph, layers, excluded_nodes(graph, options.exclude), codes_out=options.codes_out)
    return choose_between(durations, score, dearer)


def fitter(graph: Graph, choice: Choice, evened: Sequence[Choice], floats: Collection[str]) -> Fitter:
    """Makes of a fit what follows from `choice`, with these nodes in float besides. evened: what else may be chosen, see Start."""

    def finish(found: Calibration) -> Calibration:
        return without(graph, found, floats) if floats else found

    return lambda fit: Fitted(finish(fit.calibration(choice)), fit.samples, fit.count, Start(fit.anew().anew, choice, evened, finish))
