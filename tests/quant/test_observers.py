"""Observers on distributions whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from edgec.quant import quantize
from edgec.quant.given.options import QuantizeOptions
from edgec.quant.ranges.observers import BINS, CHOOSE, WHOLE, Histogram, merged, quantization_error
from edgec.quant.ranges.parameters import SMALLEST_SCALE, Parameters, parameters_of
from tests.quant.small import Small, samples, sqnr

OPTIONS = QuantizeOptions(percentile=99.0)


def histogram(values: np.ndarray) -> Histogram:
    found = Histogram(float(values.min()), float(values.max()))
    for part in np.array_split(values.astype(np.float32), 5):
        found.add(part)
    return found


def test_minmax_takes_everything() -> None:
    values = np.linspace(-3, 5, 1001)
    assert CHOOSE["minmax"](histogram(values), OPTIONS) == (-3.0, 5.0)


def test_percentile_leaves_out_both_tails() -> None:
    low, high = CHOOSE["percentile"](histogram(np.linspace(-1, 1, 20001)), OPTIONS)
    assert low == pytest.approx(-0.98, abs=0.005)
    assert high == pytest.approx(0.98, abs=0.005)


@pytest.mark.parametrize("observer", ["mse", "entropy"])
def test_far_ends_that_few_numbers_reach_are_cut(observer: str) -> None:
    found = Histogram(-60.0, 60.0)
    found.add(np.random.default_rng(0).standard_normal(60000).astype(np.float32))
    low, high = CHOOSE[observer](found, OPTIONS)
    assert -12.01 < low < -2
    assert 2 < high < 12.01


@pytest.mark.parametrize("observer", ["mse", "entropy", "percentile", "minmax"])
def test_a_uniform_distribution_is_kept_whole(observer: str) -> None:
    low, high = CHOOSE[observer](histogram(np.random.default_rng(0).uniform(-2, 2, 60000)), QuantizeOptions())
    assert low == pytest.approx(-2, rel=0.06)
    assert high == pytest.approx(2, rel=0.06)


def test_mse_is_never_worse_than_minmax() -> None:
    for seed in range(5):
        values = np.random.default_rng(seed).standard_t(3, 20000)
        found = histogram(values)
        assert quantization_error(found.centers, found.inexact, *CHOOSE["mse"](found, OPTIONS)) <= quantization_error(
            found.centers, found.inexact, found.low, found.high
        )


def test_what_the_function_flattens_gets_no_levels() -> None:
    values = np.random.default_rng(0).uniform(-80, 8, 50000)
    found = histogram(values)
    found.seen_as = found.centers / (1 + np.exp(-found.centers))
    low, high = CHOOSE["mse"](found, OPTIONS)
    assert low > -12
    assert high > 7.5


@pytest.mark.parametrize("rank", range(5))
def test_the_constant_of_a_function_may_have_any_rank(rank: int) -> None:
    """As the epsilon of a normalization that is written out."""
    small = Small((1, 4, 6, 6))
    scalar = small.constant(np.full((1,) * rank, 0.5, np.float32))
    graph = small.done(small.conv(small.node("Add", small.node("Mul", small.conv("x", 4), scalar), scalar), 4))
    assert sqnr(graph, quantize(graph, samples(graph)).graph) > 25


def test_channels_count_by_weight() -> None:
    rng = np.random.default_rng(0)
    values = rng.standard_normal((1, 2, 100, 100)).astype(np.float32)
    values[:, 1] *= 50
    ranges = []
    for weights in ([1.0, 1.0], [1.0, 1e-6]):
        found = Histogram(float(values.min()), float(values.max()), np.array(weights))
        found.add(values)
        ranges.append(CHOOSE["mse"](found, OPTIONS)[1])
    assert ranges[0] > 100
    assert ranges[1] < 30


def test_counts_add_up_and_merge() -> None:
    one, two = histogram(np.linspace(0, 1, 4000)), histogram(np.linspace(1, 3, 4000))
    both = merged([one, two])
    assert (both.low, both.high) == (0.0, 3.0)
    assert both.counts.sum() == 8000
    assert both.counts[: BINS // 3].sum() == pytest.approx(4000, abs=20)


def test_a_constant_value_has_usable_parameters() -> None:
    for level in (0.0, 1e-30, -3.0, 3.0, 1e30):
        found = Histogram(level, level)
        found.add(np.full(10, level, np.float32))
        for choose in CHOOSE.values():
            parameters = parameters_of(choose(found, OPTIONS))
            assert parameters.scale >= SMALLEST_SCALE
            assert 0 <= parameters.zero_point <= 255
            assert np.float32(parameters.scale) == parameters.scale


def test_parameters_hold_zero_and_the_ends() -> None:
    parameters = parameters_of((-1.0, 3.0))
    assert parameters == Parameters(float(np.float32(4 / 255)), 64)
    assert parameters.store(np.array([0.0, -1.0, 3.0, 9.0])).tolist() == [64, 0, 255, 255]
    assert parameters_of((1.0, 2.0)).zero_point == 0
    assert parameters_of((-2.0, -1.0)).zero_point == 255


def test_a_range_too_small_to_be_divided() -> None:
    histogram = Histogram(0.0, 1e-43)
    histogram.add(np.array([0.0, 1e-45, 1e-43], np.float32))
    assert histogram.counts[0] == 3 and histogram.counts.sum() == 3


@pytest.mark.filterwarnings("error")
def test_a_range_beyond_float32() -> None:
    """From one end of its numbers to the other."""
    largest = np.finfo(np.float32).max
    histogram = Histogram(-float(largest), float(largest))
    histogram.add(np.array([-largest, -largest / 2, 0, largest / 2, largest], np.float32))
    assert np.flatnonzero(histogram.counts).tolist() == [0, BINS // 4, BINS // 2, 3 * BINS // 4, BINS - 1]


def test_a_range_cuts_less_of_what_one_sample_has_than_of_what_all_have() -> None:
    rng = np.random.default_rng(0)
    body, tail = rng.normal(size=16 * 16000).clip(-4, 4), np.linspace(4, 10, 32)
    ends = []
    for parts in (np.array_split(tail, 1), [tail[index::16] for index in range(16)]):
        found = Histogram(-4.0, 10.0)
        for index, numbers in enumerate(np.array_split(body, 16)):
            found.add(np.concatenate([numbers, *parts[index : index + 1]]).astype(np.float32))
        ends.append(CHOOSE["mse"](found, OPTIONS)[1])
    alone, shared = ends
    assert shared < alone < 10


def test_only_percentiles_need_the_counts_of_all_numbers() -> None:
    values = np.maximum(np.random.default_rng(0).standard_normal(20000), 0).astype(np.float32)
    found, less = Histogram(0.0, 6.0), Histogram(0.0, 6.0, whole=False)
    for one in (found, less):
        one.add(values)
    assert found.counts.sum() == values.size and not less.counts.any()
    for observer in CHOOSE.keys() - WHOLE:
        assert CHOOSE[observer](found, OPTIONS) == CHOOSE[observer](less, OPTIONS)
