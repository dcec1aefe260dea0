"""What a search chose has the last word of other samples: it is better than plain min-max by more than chance, or it is plain min-max."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from edgec.ir.graph import Graph
from edgec.quant import QuantizeOptions, quantize
from edgec.quant.fits.final import least_harmful
from edgec.quant.fits.fit import Fit
from edgec.quant.fits.fitted import Fitted
from edgec.quant.fits.known import measured
from edgec.quant.given.options import Sample
from edgec.quant.runs.statistics import joined
from edgec.quant.scope.coverage import select
from edgec.quant.trials.scores import Score, certainty
from edgec.quant.trials.steps import CORRECT, OBSERVE, PLAIN, ROUND, Choice
from edgec.quant.trials.trial import Trial
from edgec.quant.trials.verdict import EVEN, PLAINLY, SURE, final_verdict, stands, verdict
from tests.quant.small import Small, net, samples, score_of, sqnr

COUNT = 32
UNCUT: Choice = {CORRECT: frozenset({"a"}), ROUND: frozenset({"a"})}
BOTH: Choice = {**UNCUT, OBSERVE: frozenset({"b"})}
ONES = np.ones(COUNT)
LONE = np.append(np.zeros(COUNT - 1), 1.0)  # one sample


def judge(uncut: Score, whole: Score) -> Callable[[Sequence[Choice]], list[Score]]:
    """Plain min-max has an error of 1 on each sample, of outputs that others stand for as well."""

    def scores(choices: Sequence[Choice]) -> list[Score]:
        plain = score_of(ONES, ONES if uncut.outputs.size else None, float(uncut.even[0]) if uncut.even.size else 1.0)
        return [(whole if OBSERVE in choice else uncut) if choice else plain for choice in choices]

    return scores


@pytest.mark.parametrize(
    ("uncut", "whole", "wanted"),
    [
        (0.5 * ONES, 0.3 * ONES, BOTH),
        (0.5 * ONES, 0.49 * ONES, UNCUT),  # hardly better
        (0.5 * ONES, 0.3 * ONES + 8 * LONE, UNCUT),  # a sample is cut
        (0.5 * ONES, 2.0 * ONES, UNCUT),
        (1.1 * ONES, 0.5 * ONES, BOTH),
        (1.1 * ONES, 1.2 * ONES, PLAIN),
        (1 - 0.9 * LONE, 1.2 * ONES, PLAIN),  # one sample gains
        (0.5 * ONES + 17 * LONE, 0.6 * ONES + 18 * LONE, PLAIN),  # one sample loses more than the others gain
        (0.5 * ONES + 15 * LONE, 0.6 * ONES + 16 * LONE, UNCUT),
    ],
)
def test_what_is_left_of_a_choice(uncut: np.ndarray, whole: np.ndarray, wanted: Choice) -> None:
    assert verdict(BOTH, judge(score_of(uncut), score_of(whole))) == wanted


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        (0.5, 1.1, {ROUND: frozenset({"a"})}),
        (0.5, 0.4, {CORRECT: frozenset({"b"})}),  # each helps, and together they do not
        (1.1, 1.2, PLAIN),
        (0.97, 1.1, PLAIN),  # better, and not surely so
    ],
)
def test_one_step_may_stand_alone(first: float, second: float, wanted: Choice) -> None:
    steps: Choice = {ROUND: frozenset({"a"}), CORRECT: frozenset({"b"})}
    uneven = np.where(np.arange(COUNT) % 2, 0.8, 1.2)  # so that a little less is less than chance

    def scores(choices: Sequence[Choice]) -> list[Score]:
        found = {(): ONES, (ROUND,): first * uneven, (CORRECT,): second * uneven, (ROUND, CORRECT): 1.3 * ONES}
        return [score_of(found[tuple(choice)]) for choice in choices]

    assert verdict(steps, scores) == wanted


@pytest.mark.parametrize(
    ("whole", "least", "enough"),
    [
        (0.3 * ONES, PLAINLY, True),
        (0.49 * ONES, SURE, False),  # cutting does not pay
        (0.3 * ONES + 8 * LONE, SURE, False),
        (1 - 0.9 * np.arange(COUNT) / 31 * (np.arange(COUNT) > 26), SURE, False),  # five samples gain, and less than without cutting
    ],
)
def test_some_of_the_samples_are_enough_where_all_is_plain(whole: np.ndarray, least: float, enough: bool) -> None:
    assert stands(BOTH, judge(score_of(0.5 * ONES), score_of(whole)), least) is enough


@pytest.mark.parametrize(("second", "asked"), [(0.9, "ab"), (1.01, "abc")])
def test_more_samples_are_asked_until_one_is_sure(second: float, asked: str) -> None:
    """Of outputs that others stand for, whose errors must be no more then; plain min-max has 1."""
    told: list[str] = []

    def judge_of(name: str, outputs: float) -> Callable[[Sequence[Choice]], list[Score]]:
        found = score_of(0.1 * ONES, outputs * np.where(np.arange(COUNT) % 2, 0.5, 1.5))

        def scores(choices: Sequence[Choice]) -> list[Score]:
            told.append(name)
            return judge(found, found)(choices)

        return scores

    assert final_verdict(UNCUT, [judge_of("a", 1.01), judge_of("b", second), judge_of("c", 0.9)]) == UNCUT
    assert "".join(dict.fromkeys(told)) == asked


def test_whether_cutting_pays_is_asked_first_where_nothing_has_to_be_rounded_for_it() -> None:
    asked: list[Choice] = []
    found = judge(score_of(0.5 * ONES), score_of(0.3 * ONES))

    def scores(choices: Sequence[Choice]) -> list[Score]:
        asked.extend(choices)
        return found(choices)

    assert stands(BOTH, scores, SURE) and UNCUT not in asked


def test_what_rounding_hides_is_asked_of_rounded_weights() -> None:
    found, hidden = judge(score_of(0.5 * ONES), score_of(0.3 * ONES)), score_of(0.9 * ONES)
    assert stands(
        BOTH, lambda choices: [one if ROUND in way or not way else hidden for way, one in zip(choices, found(choices), strict=True)], SURE
    )


def test_some_of_the_samples_do_not_say_of_an_output_what_follows_for_it() -> None:
    found = score_of(0.1 * ONES, 1 - 0.9 * LONE, EVEN / 2)
    assert verdict(UNCUT, judge(found, found)) == UNCUT and not stands(UNCUT, judge(found, found), SURE)


def test_few_samples_must_be_more_certain() -> None:
    few = score_of(np.append(ONES[:28], 0.5 * ONES[:4]))
    assert stands(UNCUT, judge(few, few), SURE) and not stands(UNCUT, judge(few, few), PLAINLY)


@pytest.mark.parametrize(
    ("judged", "outputs", "even", "stays"),
    [
        (0.8 * ONES, 1 - 0.9 * LONE, EVEN / 2, True),  # a doubtful sample of an output gains or loses, which says little
        (0.8 * ONES, 1 + 4 * LONE, EVEN / 2, True),
        (0.8 * ONES, 1 + 0.1 * np.arange(COUNT), 1.0, False),  # measurably worse
        (1 - 0.2 * LONE, 0.8 * ONES, 1.0, True),  # hardly better before the output, where all samples make it
        (1 - 0.2 * LONE, 0.8 * ONES, EVEN / 2, False),
        (1 - 0.2 * LONE, 1 - 0.2 * LONE, 1.0, False),
    ],
)
def test_an_output_that_others_stand_for(judged: np.ndarray, outputs: np.ndarray, even: float, stays: bool) -> None:
    found = score_of(judged, outputs, even)
    assert (verdict(UNCUT, judge(found, found)) == UNCUT) is stays


def test_what_should_help_need_not_be_beyond_doubt() -> None:
    """Of eight samples that differ two lose: better than chance has it, though not sure."""
    found = score_of(np.append(ONES[:24], [0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 1.4, 1.4]))
    assert certainty(1 - found.shares) < SURE
    assert verdict(UNCUT, judge(found, found)) == UNCUT


def test_one_sample_is_one_standard_error() -> None:
    assert certainty(LONE) == certainty(100 * LONE) == pytest.approx(1)
    assert certainty(LONE + LONE[::-1]) == pytest.approx(2**0.5, rel=0.05)
    assert certainty(np.zeros(3)) == certainty(np.ones(1)) == np.inf and certainty(-np.ones(1)) == -np.inf


def detector() -> Graph:
    """Says what it sees of eight features, which is mostly nothing."""
    small = Small((1, 8, 8, 8), seed=11)
    value = "x"
    for _ in range(3):
        value = small.node("Relu", small.conv(value, 8, 3, spread=3.0))
    last = small.conv(value, 1, 1)
    small.graph.constants[small.graph.nodes[-1].inputs[2]][:] = -6.0
    return small.done(small.node("Sigmoid", last))


def scenes(count: int, seed: int) -> Callable[[], Iterator[Sample]]:
    """One in many is much larger than the others."""

    def opened() -> Iterator[Sample]:
        rng = np.random.default_rng(seed)
        for index in range(count):
            size = 4.0 if index == 6 else 1.0
            yield {"x": (size * rng.standard_normal((1, 8, 8, 8))).astype(np.float32)}

    return opened


@pytest.mark.parametrize("count", [20, 32])
def test_the_end_is_not_worse_than_plain_on_other_samples(count: int) -> None:
    graph, known, others = detector(), scenes(count, 0), scenes(60, 1)
    plain = QuantizeOptions(observer="minmax", equalize=False, round_weights=False, correct_bias=False, shape_sums=False)
    found, least = (quantize(graph, known, options).graph for options in (QuantizeOptions(), plain))
    assert sqnr(graph, found, others=others) >= sqnr(graph, least, others=others)


@pytest.mark.parametrize(("count", "fitted"), [(20, 20), (64, 48)])
def test_where_all_samples_judged_all_are_fitted_to_unless_some_are_needed_to_judge_a_goal(count: int, fitted: int) -> None:
    """The last quarter leaves a doubt about what is worth it where one scene in many is large."""
    assert quantize(detector(), scenes(count, 0)).calibration["samples"] == fitted


def test_what_is_certain_stays_as_it_was_judged() -> None:
    small = Small((1, 4, 16, 16), seed=5)
    value = "x"
    for _ in range(3):
        value = small.node("Relu", small.conv(value, 8, 1))
    graph = small.done(small.conv(value, 4, 1))
    found = quantize(graph, samples(graph, 40))
    assert any(step["taken"] for step in found.report.steps) and found.calibration["samples"] == 30


@pytest.mark.parametrize(("spoilt", "count", "corrected"), [((), 16, True), ((16,), 12, True), ((16, 12), 16, False)])
def test_what_spoils_all_samples_together_is_not_taken(spoilt: Sequence[int], count: int, corrected: bool) -> None:
    """Of what follows from all samples, from a part of them and from plain min-max. spoilt: fitted to so many the biases are wrong."""
    graph = net("resnet")
    known = measured(graph, select(graph), samples(graph, 16), QuantizeOptions())

    def fit(shares: Sequence[int] = range(4)) -> Fit:
        return Fit(graph, joined([known.extents[share] for share in shares]), known.samples, known.number(shares), QuantizeOptions())

    def fitted(fit: Fit) -> Fitted:
        found = fit.calibration({CORRECT: frozenset(fit.candidates(CORRECT, PLAIN))})
        wrong = {name: replace(one, shift=one.shift + 9) for name, one in found.weights.items() if one.shift is not None}
        return Fitted(replace(found, weights=found.weights | wrong) if fit.count in spoilt else found, fit.samples, fit.count)

    trial = Trial(graph, known.samples, 16, None)
    chosen = least_harmful(fitted, lambda fit: Fitted(fit.calibration(PLAIN), fit.samples, fit.count), fit, [fit((0, 1, 2))], trial)
    assert chosen.count == count
    assert any(one.shift is not None for one in chosen.calibration.weights.values()) == corrected
