"""Each step beyond plain min-max is kept only where it helps on samples that it was not fitted to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

from edgec.ir.graph import Graph
from edgec.quant import QuantizeOptions, quantize
from edgec.quant.channels.streams import channel_values
from edgec.quant.fits.fit import Fit
from edgec.quant.given.options import Sample
from edgec.quant.runs.statistics import joined, measure_extents
from edgec.quant.scope.coverage import select
from edgec.quant.search.levers import CENTRED
from edgec.quant.trials.scores import Score
from edgec.quant.trials.shares import FEW, JUDGES, part, shares_of, some
from edgec.quant.trials.steps import BOUNDED, CORRECT, EQUALIZE, GROUPS, MILD, OBSERVE, RISK, ROUND, SCALE, STEPS, Choice, places, search
from tests.quant.small import Small, net, samples, score_of, sqnr

PLACES = [f"place{number:02}" for number in range(2 * GROUPS)]
PLAIN = QuantizeOptions(observer="minmax", equalize=False, round_weights=False, correct_bias=False, shape_sums=False)
FAMILIES = ("mobilenet", "resnet")


def only(step: str) -> Callable[[str, Choice], Sequence[str]]:
    return lambda name, choice: PLACES if name == step else []


def scored(judge: Callable[[Choice], float]) -> Callable[[Choice], Score]:
    """Four samples that all have the SQNR that `judge` gives, in dB."""
    return lambda choice: score_of(np.full(4, 10 ** (-judge(choice) / 10) / 4))


def test_a_step_that_harms_everywhere_is_left() -> None:
    choice, (report,) = search(only(ROUND), scored(lambda choice: 20.0 - len(places(choice, ROUND))), QuantizeOptions())
    assert not places(choice, ROUND)
    assert (report.before, report.everywhere, report.after, report.taken) == (20.0, 12.0, 20.0, 0)


def test_a_step_is_undone_in_the_one_group_where_it_harms() -> None:
    harmed = set(PLACES[2:4])

    def score(choice: Choice) -> float:
        return 20.0 + sum(-2.0 if place in harmed else 1.0 for place in places(choice, OBSERVE))

    choice, (report,) = search(only(OBSERVE), scored(score), QuantizeOptions())
    assert places(choice, OBSERVE) == set(PLACES) - harmed
    assert (report.before, report.everywhere, report.after, report.taken) == (20.0, 22.0, 26.0, len(PLACES) - 2)


def test_a_step_is_taken_in_the_one_group_where_it_helps() -> None:
    helped = set(PLACES[:2])

    def score(choice: Choice) -> float:
        return sum(1.0 if place in helped else -9.0 for place in places(choice, SCALE))

    choice, _ = search(only(SCALE), scored(score), QuantizeOptions())
    assert places(choice, SCALE) == helped


def unevenly(step: str, gain: float) -> Callable[[Choice], Score]:
    """With the step everywhere each of eight samples has `gain` dB more, by turns 2 dB more or less than that."""

    def score(choice: Choice) -> Score:
        apart = np.array([2.0, -2.0] * 4) + gain if places(choice, step) else np.zeros(8)
        return score_of(10 ** (-(20 + apart) / 10) / 8)

    return score


@pytest.mark.parametrize(("step", "gain", "stays"), [(ROUND, -0.5, True), (ROUND, -4.0, False), (SCALE, -0.1, False), (SCALE, 1.0, True)])
def test_a_step_that_theory_speaks_for_stays_unless_it_is_measurably_worse(step: str, gain: float, stays: bool) -> None:
    def score(choice: Choice) -> Score:
        found = unevenly(step, gain)(choice)
        return score_of(found.shares / (10.0 if places(choice, CORRECT) else 1.0))

    choice, _ = search(lambda name, choice: PLACES[:1] if name in (CORRECT, step) else [], score, QuantizeOptions())
    assert bool(places(choice, step)) is stays


@pytest.mark.parametrize(("gain", "taken"), [(2.0, {OBSERVE, ROUND}), (0.7, {OBSERVE}), (0.0, set())])
def test_an_end_worse_than_plain_goes_back_to_the_best_on_the_way(gain: float, taken: set[str]) -> None:
    """Rounding is worse, but not measurably so: it would stay, and with it less than plain min-max has."""

    def score(choice: Choice) -> Score:
        return score_of(unevenly(ROUND, -0.9)(choice).shares / (10 ** (gain / 10) if places(choice, OBSERVE) else 1.0))

    choice, reports = search(lambda name, choice: PLACES[:1] if name in (OBSERVE, ROUND) else [], score, QuantizeOptions())
    assert {step for step in choice if places(choice, step)} == taken
    assert {report.step for report in reports if report.taken} == taken


@pytest.mark.parametrize(("gain", "stays"), [(RISK / 2, False), (RISK * 2, True)])
def test_what_cuts_must_gain_more_than_what_does_not(gain: float, stays: bool) -> None:
    scores = scored(lambda choice: 20.0 + gain * bool(places(choice, OBSERVE)))
    choice, _ = search(lambda name, choice: PLACES[:1] if name == OBSERVE else [], scores, QuantizeOptions())
    assert bool(places(choice, OBSERVE)) is stays


@pytest.mark.parametrize(("gain", "taken"), [(1.0, MILD), (4.0, EQUALIZE)])
def test_equalization_that_is_not_certain_is_taken_halfway(gain: float, taken: str) -> None:
    """Where it gains 1 dB, half of the samples lose 1."""

    def left(name: str, choice: Choice) -> Sequence[str]:
        return PLACES[:1] if name == EQUALIZE or (name == MILD and not places(choice, EQUALIZE)) else []

    def score(choice: Choice) -> Score:
        return unevenly(EQUALIZE, gain)(choice) if places(choice, EQUALIZE) else unevenly(MILD, gain / 2)(choice)

    choice, _ = search(left, score, QuantizeOptions())
    assert {step for step in choice if places(choice, step)} == {taken}


def test_halfway_the_factors_are_the_square_roots() -> None:
    graph = net("mobilenet")
    known = samples(graph)
    selection = select(graph, ())
    extents, counts = measure_extents(graph, selection.values, channel_values(graph), known, None)
    fit = Fit(graph, joined(extents), known, sum(counts), QuantizeOptions())
    places = fit.candidates(EQUALIZE, {})
    whole, half = (fit.calibration({step: frozenset(places)}).factors for step in (EQUALIZE, MILD))
    assert whole and whole.keys() == half.keys()
    assert all((half[value] == np.sqrt(factors)).all() for value, factors in whole.items())
    left = [fit.candidates(MILD, {EQUALIZE: frozenset(taken)}) for taken in (places, places[1:])]
    assert left == [[], places[:1]]


def test_one_sample_does_not_decide() -> None:
    """The step is better on seven samples and much worse on the eighth."""

    def score(choice: Choice) -> Score:
        return score_of(np.array([1.0] * 7 + [4.0]) if places(choice, SCALE) else np.array([1.4] * 7 + [1.0]))

    choice, _ = search(lambda name, choice: PLACES[:1] if name == SCALE else [], score, QuantizeOptions())
    assert places(choice, SCALE)


def test_a_group_goes_its_own_way_only_for_a_gain_that_is_hardly_chance() -> None:
    """Without the first places the errors are less on the whole, but of some samples only."""

    def score(choice: Choice) -> Score:
        if places(choice, ROUND) == set(PLACES[2:]):
            return score_of(np.array([0.2, 0.9, 1.1, 1.0]))
        return score_of(np.full(4, 1.0 if places(choice, ROUND) == set(PLACES) else 2.0))

    choice, (report,) = search(only(ROUND), score, QuantizeOptions())
    assert places(choice, ROUND) == set(PLACES) and report.taken == len(PLACES)


def test_options_say_what_is_tried_at_all() -> None:
    assert search(lambda step, choice: PLACES, scored(lambda choice: 0.0), PLAIN)[1] == []
    tried = [report.step for report in search(lambda step, choice: PLACES, scored(lambda choice: 0.0), QuantizeOptions())[1]]
    assert tried == list(STEPS)


@pytest.mark.parametrize("count", [1, 2, 5, 15, 16, 64, 200])
def test_no_sample_judges_what_was_fitted_to_it(count: int) -> None:
    held_back = []
    for fitted, held in shares_of(count):
        fit, judges = ([int(sample["x"]) for sample in part(numbered(count), shares)()] for shares in (fitted, held))
        assert fit and judges
        assert count == 1 or not set(fit) & set(judges)
        held_back += judges
    assert count >= FEW or sorted(held_back) == list(range(count))


def numbered(count: int) -> Callable[[], Iterator[Sample]]:
    return lambda: ({"x": np.asarray(number)} for number in range(count))


def test_those_that_judge_are_spread_over_all() -> None:
    chosen = [int(sample["x"]) for sample in some(numbered(100), 100)()]
    assert len(chosen) == JUDGES and chosen[0] < 4 and chosen[-1] >= 96
    assert len(list(some(numbered(5), 5)())) == 5


@pytest.mark.parametrize("family", FAMILIES)
def test_the_steps_make_it_better_and_the_report_says_what_was_tried(family: str) -> None:
    graph = net(family)
    report = quantize(graph, samples(graph, 24)).report
    assert [step["step"] for step in report.steps] == [
        step for step in (*STEPS, CENTRED.name) if step in {row["step"] for row in report.steps}
    ]
    assert report.steps[0]["before"] < report.steps[-1]["after"]
    for step in report.steps:
        assert 0 <= step["taken"] <= step["places"]


def rarely(count: int = 16, seed: int = 0) -> tuple[Graph, Callable[[], Iterator[Sample]]]:
    """A network of ReLU6 whose channels fire on few samples only, and samples of it."""
    small = Small((1, 4, 16, 16), seed=7)
    bounds = [small.constant(np.asarray(bound, np.float32)) for bound in (0.0, 6.0)]
    value = "x"
    for _ in range(3):
        value = small.node("Clip", small.conv(value, 24, 1), *bounds)
        value = small.node("Clip", small.conv(value, 24, 3, group=24), *bounds)
        value = small.conv(value, 4, 1)
    graph = small.done(value)

    def opened() -> Iterator[Sample]:
        rng = np.random.default_rng(seed)
        for _ in range(count):
            direction = rng.standard_normal((1, 4, 1, 1)) * rng.choice([0.3, 0.3, 0.3, 12.0])
            yield {"x": (direction + 0.1 * rng.standard_normal((1, 4, 16, 16))).astype(np.float32)}

    return graph, opened


def test_channels_that_rarely_fire_are_not_cut() -> None:
    graph, known = rarely()
    _, others = rarely(40, seed=1)
    found = quantize(graph, known)
    plain = quantize(graph, known, PLAIN)
    assert sqnr(graph, found.graph, others=others) > sqnr(graph, plain.graph, others=others) - 0.5
    assert BOUNDED in {step["step"] for step in found.report.steps}


def test_a_lever_is_not_bought_with_the_samples_of_the_largest_errors() -> None:
    usual, gained = score_of(np.array([1e-4, 1e-4, 1e-4, 1e-2])), score_of(np.array([2e-5, 2e-5, 2e-5, 2e-2]))
    assert gained.ratio > usual.ratio and not gained.surpasses(usual)
    assert score_of(usual.shares * 0.9).surpasses(usual) and not usual.surpasses(usual)
    assert not score_of(usual.shares * np.array([0.5, 0.5, 1.2, 1.0])).surpasses(usual)  # as chance may have it
