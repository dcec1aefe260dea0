"""Convolutions of halves by Winograd against float64 numpy: the layers of floats, rounded to halves, with weights packed for it."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgec.kernels import HALF_OF, ConvFloat
from edgec.kernels.halves import GROWTH, LARGEST, MOST_ROUNDINGS, STRETCH, WINOGRAD, winograd_roundings
from tests.kernels.builds import HALVES
from tests.kernels.driver import Build, Case, run
from tests.kernels.test_float import expected
from tests.kernels.test_half import HUGE, ROUNDING, STEPS, as_floats, of_halves, scaled
from tests.kernels.test_winograd import random_layer

AVERAGE = np.sqrt(3 / 8 / np.log(2))  # of how far a rounding goes at most, for numbers whose logarithms are evenly spread
UNBOUNDED = range(2)  # seeds of layers whose results show all of their errors, without a residual and with one


@cache
def layers(size: float) -> list[tuple[Case, np.ndarray, np.ndarray]]:
    """Calls, what they leave in y, and the size of the terms that it is a sum of."""
    found = []
    for seed in range(6 if size == 1 else 2):
        whole = random_layer(seed)
        bounds = {"low": -np.inf, "high": np.inf} if seed in UNBOUNDED else {}
        both = (replace(one.arguments if isinstance(one, Case) else one, **bounds) for one in whole)
        case, direct = (scaled(Case(one, whole[0].splits), size) for one in both)
        halves: Any = of_halves(direct.arguments)
        rounded = as_floats(halves)
        plain = ConvFloat(**{known.name: getattr(rounded, known.name) for known in fields(ConvFloat)})
        value, error = expected(Case(plain))
        packed = {
            name: pack(plain, given, 1)
            for (name, pack), given in zip(WINOGRAD.packing.pack.items(), (_taps(plain), plain.bias[0][: plain.out_channels]), strict=True)
        }
        found.append((replace(case, arguments=replace(halves, **packed)), value, error * 1e6))
    return found


def _taps(layer: Any) -> np.ndarray:
    """[group][output][tap][input] of panels."""
    return np.ascontiguousarray(layer.weights[0].transpose(0, 3, 1, 2).reshape(-1, 9, layer.in_channels)[: layer.out_channels])[None]


@pytest.mark.parametrize("size", [1.0, HUGE])
@pytest.mark.parametrize("build", HALVES, ids=str)
def test_results_round_as_halves_do(build: Build, size: float, shared: Path) -> None:
    """Whatever they come to on their way."""
    answers = run(build, [case for case, _, _ in layers(size)], shared)
    for (case, want, terms), got in zip(layers(size), answers, strict=True):
        assert WINOGRAD.admits(case.arguments)
        between = np.isnan(want)
        assert np.array_equal(np.isnan(got), between)
        assert (abs(got.astype(np.float64) - want)[~between] <= STEPS * ROUNDING * terms[~between]).all()


def test_errors_are_those_that_layers_are_admitted_by(shared: Path) -> None:
    """On average, as many roundings of a result, within a few hundredths."""
    free = [layers(1.0)[seed] for seed in UNBOUNDED]
    for (case, want, _), got in zip(free, run(HALVES[0], [case for case, _, _ in free], shared), strict=True):
        known = ~np.isnan(want)
        error = np.sqrt(np.mean((got.astype(np.float64) - want)[known] ** 2) / np.mean(want[known] ** 2))
        found = error / (AVERAGE * ROUNDING / np.sqrt(3))
        allowed = winograd_roundings(case.arguments.in_channels)  # type: ignore[attr-defined]
        assert 0.95 * allowed < found < 1.03 * allowed


def test_however_work_is_divided_the_bits_are_the_same(shared: Path) -> None:
    cases = [case for case, _, _ in (*layers(1.0), *layers(HUGE))]
    divided = [run(HALVES[0], [Case(case.arguments, parts) for case in cases], shared) for parts in ((), (1, 2, 3), tuple(range(1, 40)))]
    for whole, *others in zip(*divided, strict=True):
        assert all(other.tobytes() == whole.tobytes() for other in others)


def test_a_layer_takes_it_while_its_error_is_in_bounds() -> None:
    assert winograd_roundings(STRETCH // 2) < winograd_roundings(512) < MOST_ROUNDINGS < winograd_roundings(4096)
    layer = layers(1.0)[0][0].arguments
    assert WINOGRAD.admits(layer) and not WINOGRAD.admits(replace(layer, in_channels=4096))  # type: ignore[type-var]


def test_weights_at_the_points_grow_no_further() -> None:
    layer = replace(random_layer(0)[1], in_channels=1, out_channels=1)
    ends = np.array(np.meshgrid(*[(-1.0, 1.0)] * 9), np.float32).reshape(9, -1)
    plain = np.ascontiguousarray(ends.T[None, :, :, None])
    found = WINOGRAD.packing.pack["weights"](replace(layer, out_channels=ends.shape[1]), plain, 1)
    assert np.abs(found).max() == GROWTH and LARGEST / GROWTH * GROWTH <= LARGEST and type(layer) in HALF_OF
