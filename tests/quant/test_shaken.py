"""What high effort listens to and judges by: samples in which values go furthest, and samples that are shaken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from edgec.ir.graph import Graph
from edgec.quant import QuantizeOptions, quantize
from edgec.quant.decisions.calibration import Calibration
from edgec.quant.decisions.calibration_file import read_calibration
from edgec.quant.fits.fitted import Fitted
from edgec.quant.given.options import Progress, Sample
from edgec.quant.search.echoes import narrowed
from edgec.quant.search.levers import Lever, Make, better, with_levers
from edgec.quant.search.listen import Crowd, Few
from edgec.quant.trials.scores import scored
from edgec.quant.trials.shaken import MOST, moved, shaken, shaken_trial, times_of
from edgec.quant.trials.trial import Trial
from tests.quant.small import Small, samples, score_of


def small(outputs: int = 4) -> Graph:
    net = Small((1, 2, 4, 4), seed=3)
    return net.done(net.conv(net.node("Relu", net.conv("x", 8)), outputs, 1))


def reaching(*heights: float) -> Callable[[], Iterator[Sample]]:
    """Samples of which each goes so far up, or down, in one number; all others are small."""

    def opened() -> Iterator[Sample]:
        for place, height in enumerate(heights):
            array = np.full((1, 2, 4, 4), 0.01, np.float32)
            array[0, 0, place % 4, 0] = height
            yield {"x": array}

    return opened


def peaks(few: Few) -> list[float]:
    return [float(sample["x"].ravel()[np.abs(sample["x"]).argmax()]) for sample in few.samples]


def test_the_samples_in_which_a_value_goes_furthest_are_heard_first_and_those_that_judge_only_there() -> None:
    own, judges = reaching(*(1 + place / 100 for place in range(17)), 6.0), reaching(9.0, 0.5, 0.5, 0.5, 0.5, 0.5)
    fitted = Fitted(Calibration("", 18, "mse"), own, 18, judges=(judges, 6))
    crowd = Crowd(small(), ["x"], fitted, None)
    few = crowd.far(["x"], (0.0, 9.0), 6)
    assert np.round(peaks(few)[: few.furthest]).tolist() == [9.0, 6.0] and 0.5 not in peaks(few)
    # they stand for all 24, and the furthest for one that is not among them
    assert few.weights.tolist() == [2.0, 1.0] + [22 / 4] * 4
    assert 9.0 not in peaks(crowd.spread(18)) and len(crowd.spread(18).samples) == 18


def test_of_a_range_of_both_signs_both_ends_are_heard() -> None:
    fitted = Fitted(Calibration("", 8, "mse"), reaching(1, -5, 1, 7, 1, 1, 1, 1), 8)
    few = Crowd(small(), ["x"], fitted, None).far(["x"], (-5.0, 7.0), 6)
    assert sorted(peaks(few)[: few.furthest]) == [-5.0, 7.0] and few.weights[:2].tolist() == [2.0, 2.0]
    assert peaks(Crowd(small(), ["x"], fitted, None).far(["x"], (-5.0, 0.0), 3))[0] == -5.0


@pytest.mark.parametrize(("weight", "moves"), [(1.0, True), (8.0, False)])
def test_a_range_stays_where_what_it_cuts_loses_more_than_all_others_gain(weight: float, moves: bool) -> None:
    """One sample loses by a narrower range what four others gain."""
    slopes, weights = np.array([-4.0, 1.2, 1.2, 1.2, 1.2]), np.array([weight, 1.0, 1.0, 1.0, 1.0])
    found = narrowed((0.0, 4.0), lambda ranges: np.array([[40 + slope * limits[1] for limits in ranges] for slope in slopes]), weights, 1)
    assert (found[1] < 4.0) is moves


def test_what_samples_doubt_is_no_gain() -> None:
    """By chance four of them are heard, of which one gains what the others lose; that the first does is no chance."""
    slopes = np.array([6.0, -1.0, -1.0, -1.0])

    def errors(ranges: object) -> np.ndarray:
        return np.array([[60 + slope * limits[1] for limits in ranges] for slope in slopes])  # type: ignore[attr-defined]

    assert narrowed((0.0, 4.0), errors, np.ones(4), 0)[1] >= 4.0 and narrowed((0.0, 4.0), errors, np.ones(4), 1)[1] < 4.0


def test_shaken_numbers_move_by_a_step_at_most_and_stay_between_the_ends() -> None:
    rng = np.random.default_rng(0)
    array = np.concatenate([np.zeros(50), rng.uniform(-1, 2, 500)]).astype(np.float32)
    found = moved(array, rng)
    step = (array.max() - array.min()) / 255
    assert found.dtype == np.float32 and not found[:50].any() and (found != array).mean() > 0.5
    assert np.abs(found - array).max() <= step * 1.001 and found.min() >= array.min() and found.max() <= array.max()
    pixels = rng.integers(0, 256, 500).astype(np.float32)
    shifted = moved(pixels, rng)
    assert (shifted == np.rint(shifted)).all() and (shifted != pixels).any() and np.abs(shifted - pixels).max() == 1
    names = np.arange(9)
    assert moved(names, rng) is names


def test_each_sample_is_seen_as_it_is_first_and_every_time_alike() -> None:
    opened = samples(small(), 3)
    one, again = (list(shaken(opened, 4)()) for _ in range(2))
    for place, sample in enumerate(opened()):
        np.testing.assert_array_equal(one[4 * place]["x"], sample["x"])
        assert (one[4 * place + 1]["x"] != sample["x"]).any()
    assert all((first["x"] == second["x"]).all() for first, second in zip(one, again, strict=True))


@pytest.mark.parametrize(("outputs", "count", "times"), [(4, 16, MOST), (100, 4, 2), (100, 16, 1)])
def test_the_more_numbers_answer_the_less_often_a_sample_is_seen(outputs: int, count: int, times: int) -> None:
    graph = small(outputs)
    assert times_of(graph, count) == times
    trial = Trial(graph, samples(graph, count), count, None)
    found = shaken_trial(trial)
    assert (found is trial) is (times == 1) and found.count == count * times


def test_a_shaken_trial_says_of_each_sample_what_all_its_turns_do() -> None:
    graph = small()
    calibration = read_calibration(quantize(graph, samples(graph, 8), QuantizeOptions(effort="fast")).calibration, graph)
    trial = Trial(graph, samples(graph, 4), 4, None)
    found = shaken_trial(trial)(calibration)
    each = Trial(graph, shaken(samples(graph, 4), MOST), 4 * MOST, None)(calibration)
    assert len(found.error) == 4 and len(each.error) == 4 * MOST
    np.testing.assert_allclose(found.error, each.error.reshape(4, MOST, -1).sum(axis=1))
    assert scored([found]).ratio != scored([trial(calibration)]).ratio


@pytest.mark.parametrize(("left", "stays"), [(0.99, False), (0.95, True)])
def test_less_than_a_tenth_of_a_decibel_is_not_worth_it(left: float, stays: bool) -> None:
    known, found = (score_of(np.full(8, share), np.full(8, share), 1.0) for share in (1.0, left))
    assert better(found, known, 1.0) is stays


def test_high_effort_begins_where_normal_effort_ends() -> None:
    """What normal effort took is not pulled again, and the others get what it made, and who will judge that."""
    graph = small()
    opened = samples(graph, 16)
    good = read_calibration(quantize(graph, opened, QuantizeOptions(effort="fast")).calibration, graph)
    bad = replace(good, weights={name: replace(one, scales=one.scales * np.float32(2)) for name, one in good.weights.items()})
    seen: list[Fitted] = []

    def first(graph: Graph, fitted: Fitted, _: Progress | None) -> list[Make]:
        return [lambda: fitted.remade(good)]

    def second(graph: Graph, fitted: Fitted, _: Progress | None) -> list[Make]:
        seen.append(fitted)
        return []

    usual, twice, other = (Lever(name, pull, lambda options: True) for name, pull in (("a", first), ("a", second), ("b", second)))
    judges = samples(graph, 16, 7)
    start, trial = Fitted(bad, opened, 16), Trial(graph, judges, 16, None)
    found, reports = with_levers(graph, [(start, trial)], start, None, QuantizeOptions(effort="high"), [usual], [twice, other])
    assert found == [good] and [one.step for one in reports] == ["a"]
    (given,) = seen
    assert given.calibration is good and given.judges == (judges, 16)
