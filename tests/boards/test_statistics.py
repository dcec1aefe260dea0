"""Pooling and intervals against numpy, on data of every shape."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from edgec.boards.board.intervals import (
    mean_interval,
    paired_ratio,
    pooled_moments,
    separate_ratio,
    student,
    weighted_percentiles,
    within,
)

TIMES = some.floats(0.5, 1e6)
ROUNDS = some.lists(some.lists(TIMES, min_size=2, max_size=30), min_size=1, max_size=6)
# two-sided 95 % points as every table of Student's t prints them
TABLE = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 10: 2.228, 19: 2.093, 30: 2.042, 99: 1.984, 120: 1.980}


@given(ROUNDS)
@settings(max_examples=60, deadline=None)
def test_pooled_moments_are_those_of_all_runs(rounds: list[list[float]]) -> None:
    facts = [(len(one), float(np.mean(one)), float(np.std(one, ddof=1))) for one in rounds]
    whole = np.concatenate(rounds)
    count, mean, deviation = pooled_moments(facts)
    assert count == len(whole)
    assert mean == pytest.approx(whole.mean())
    assert deviation == pytest.approx(whole.std(ddof=1), rel=1e-6, abs=1e-6 * whole.max())


@given(ROUNDS)
@settings(max_examples=60, deadline=None)
def test_percentiles_of_whole_rounds_are_those_of_numpy(rounds: list[list[float]]) -> None:
    shares = (0.0, 0.5, 0.9, 0.95, 0.99, 1.0)
    found = weighted_percentiles([(len(one), one) for one in rounds], shares)
    assert found == pytest.approx(np.quantile(np.concatenate(rounds), shares, method="hazen").tolist())


def test_a_round_weighs_as_much_as_its_runs() -> None:
    """A thousand runs of 1 us, of which ten samples were kept, against ten runs of 9 us."""
    assert weighted_percentiles([(1000, [1.0] * 10), (10, [9.0] * 10)], (0.5, 0.9)) == [1.0, 1.0]
    assert weighted_percentiles([(10, [1.0] * 10), (1000, [9.0] * 10)], (0.5, 0.9)) == [9.0, 9.0]


@pytest.mark.parametrize(("freedom", "expected"), TABLE.items())
def test_students_points_are_those_of_the_tables(freedom: int, expected: float) -> None:
    assert student(freedom) == pytest.approx(expected, abs=6e-4)
    assert within(student(freedom), freedom) == pytest.approx(0.95, abs=1e-12)


def test_two_degrees_of_freedom_have_a_closed_form() -> None:
    assert within(3.0, 2) == pytest.approx(3 / math.sqrt(2 + 9))
    assert within(2.0, 1) == pytest.approx(2 / math.pi * math.atan(2.0))


@pytest.mark.parametrize("count", [2, 5, 12])
def test_an_interval_holds_the_truth_as_often_as_it_says(count: int) -> None:
    random = np.random.default_rng(7)
    samples = random.normal(100.0, 5.0, (4000, count))
    held = np.mean([low <= 100.0 <= high for low, high in map(mean_interval, samples.tolist())])
    assert held == pytest.approx(0.95, abs=0.015)


def test_pairs_cancel_a_drift_that_both_share() -> None:
    drift = np.linspace(1.0, 3.0, 8)
    random = np.random.default_rng(1)
    base, other = 10 * drift, 9 * drift * random.lognormal(0, 0.001, 8)
    ratio, low, high = paired_ratio(base.tolist(), other.tolist())
    assert low < ratio < high < 1
    assert ratio == pytest.approx(0.9, rel=1e-2)
    _, loose_low, loose_high = separate_ratio(base.tolist(), other.tolist())
    assert loose_low < low < high < 1 < loose_high, "unpaired, the drift hides the difference"


def test_separate_measurements_without_any_spread_have_an_exact_ratio() -> None:
    assert separate_ratio([4.0, 4.0], [2.0, 2.0]) == pytest.approx((0.5, 0.5, 0.5))


def test_an_interval_of_two_separate_measurements_holds_the_truth() -> None:
    random = np.random.default_rng(3)
    pairs = zip(random.lognormal(0, 0.1, (3000, 4)), random.lognormal(0, 0.3, (3000, 6)), strict=True)
    intervals = [separate_ratio(base.tolist(), other.tolist()) for base, other in pairs]
    assert np.mean([low <= 1 <= high for _, low, high in intervals]) >= 0.94
