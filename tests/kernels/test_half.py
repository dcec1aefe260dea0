"""The kernels of halves against float64 numpy: within the rounding errors of sums of halves, and pools by their one rounding."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgec.kernels import HALF_OF, ConvFloat, PoolAverageFloat, PoolMaxFloat
from edgec.kernels.halves import LARGEST, STRETCH, WINOGRAD
from tests.kernels import reference, test_float, test_pools
from tests.kernels.builds import HALVES
from tests.kernels.driver import Build, Case, run

ROUNDING = 2.0**-11  # of a number in the range of halves, as a share of it
STEPS = 4  # roundings of sums, each as large as the sum of all magnitudes: what a long sum adds up to and no wrong product is hidden by


HUGE = 16384.0  # the inputs' standard deviation where most sums leave the range of halves, and come back to it


def of_halves(arguments: Any) -> Any:
    """The same call of halves."""
    values = {field.name: getattr(arguments, field.name) for field in fields(arguments)}
    with np.errstate(over="ignore"):
        halves = {name: value.astype(np.float16) for name, value in values.items() if isinstance(value, np.ndarray)}
    return HALF_OF[type(arguments)](**{**values, **halves})


def as_floats(arguments: Any) -> Any:
    return replace(
        arguments, **{name: value.astype(np.float32) for name, value in vars(arguments).items() if isinstance(value, np.ndarray)}
    )


def scaled(case: Case, size: float) -> Case:
    """The same call of inputs of such a size, whose results are clamped to the range of halves."""
    a = case.arguments
    limits = {"low": max(a.low, -LARGEST), "high": min(a.high, LARGEST)} if hasattr(a, "low") else {}
    return replace(case, arguments=replace(a, x=np.clip(a.x * np.float32(size), -LARGEST, LARGEST), **limits))


@cache
def sums(size: float) -> list[tuple[Case, np.ndarray, np.ndarray]]:
    """Calls of convolutions, what they leave in y, and by what that may be off."""
    plain = [test_float.random_conv(seed) for seed in range(48)] + [test_float.random_depthwise(seed) for seed in range(48)]
    plain = [case for case in plain if not isinstance(case.arguments, ConvFloat) or not WINOGRAD.admits(case.arguments)]
    found = []
    for case in [scaled(case, size) for case in plain] if size > 1 else plain:
        halves = of_halves(case.arguments)
        rounded, kind = as_floats(halves), type(case.arguments)
        floats = kind(**{known.name: getattr(rounded, known.name) for known in fields(kind)})
        value, error = test_float.expected(replace(case, arguments=floats))
        found.append((replace(case, arguments=halves), value, error * 1e6 * STEPS * ROUNDING))
    return found


@pytest.mark.parametrize("size", [1.0, HUGE])
@pytest.mark.parametrize("build", HALVES, ids=str)
def test_sums_round_as_halves_do(build: Build, size: float, shared: Path) -> None:
    """Whatever they come to on their way."""
    answers = run(build, [case for case, _, _ in sums(size)], shared)
    for (case, want, error), got in zip(sums(size), answers, strict=True):
        between = np.isnan(want)
        assert np.array_equal(np.isnan(got), between), case.arguments
        assert (abs(got.astype(np.float64) - want)[~between] <= error[~between]).all(), case.arguments


@pytest.mark.parametrize("build", HALVES, ids=str)
def test_pools_round_once(build: Build, shared: Path) -> None:
    cases = [test_pools.random_pool(kind, seed * 3, build.signed) for kind in (PoolMaxFloat, PoolAverageFloat) for seed in range(20)]
    cases = [scaled(case, size) for size in (1.0, HUGE) for case in cases]  # of those seeds that have ordinary numbers alone
    cases = [replace(case, arguments=of_halves(case.arguments)) for case in cases]
    for case, got in zip(cases, run(build, cases, shared), strict=True):
        a = case.arguments
        kind = PoolMaxFloat if isinstance(a, PoolMaxFloat) else PoolAverageFloat
        want = test_pools.expected(kind(**vars(as_floats(a))))
        error = 0.0 if kind is PoolMaxFloat else ROUNDING * abs(want) + 2.0**-25
        assert np.array_equal(np.isnan(got), np.isnan(want))
        with np.errstate(invalid="ignore"):
            assert ((got == want) | np.isnan(want) | (abs(got.astype(np.float64) - want) <= error)).all(), a


def test_long_sums_are_exact_where_halves_alone_are_not(shared: Path) -> None:
    """Of 2304 products of 1 a sum in halves stays at 2048."""
    case = next(case for case in map(test_float.random_conv, range(0, 96, 16)) if case.arguments.residual is None)
    a = case.arguments
    w = replace(
        a.window, batch=1, in_height=1, in_width=1, out_height=1, out_width=1, kernel_height=1, kernel_width=1, in_pixel_stride=2304
    )
    w = replace(w, stride_height=1, stride_width=1, dilation_height=1, dilation_width=1, pad_top=0, pad_left=0, out_pixel_stride=16)
    ones = replace(
        a, window=w, groups=1, in_channels=2304, out_channels=16, residual=None, low=-LARGEST, high=LARGEST,
        x=np.ones(2304, np.float32), weights=np.ones((1, 1, 1, 2304, 16), np.float32), bias=np.zeros((1, 16), np.float32),
        y=np.zeros(16, np.float32),
    )  # fmt: skip
    assert STRETCH < 2304
    (got,) = run(HALVES[0], [Case(of_halves(ones))], shared)
    assert (got == 2304).all()


@pytest.mark.parametrize("build", HALVES[:1], ids=str)
def test_not_a_number_passes_the_clamp(build: Build, shared: Path) -> None:
    a = of_halves(test_float.random_conv(2).arguments)
    a = replace(a, x=np.full_like(a.x, np.nan), low=0.0, high=6.0)
    seen = sum(inside for _, _, inside in reference.taps(a.window, np.zeros((1, a.window.in_height, a.window.in_width, 1))))
    y = run(build, [Case(a)], shared)[0]
    value = test_float.stored(a.window, y, a.window.out_pixel_stride, a.groups * a.out_channels)
    assert np.array_equal(np.isnan(value), np.broadcast_to(seen > 0, value.shape))


@pytest.mark.parametrize("build", HALVES, ids=str)
def test_sums_that_stay_in_the_range_need_no_look(build: Build, shared: Path) -> None:
    """The same bytes where a kernel is told so."""
    cases = [case for case, _, _ in sums(1.0)]
    told = [replace(case, arguments=replace(case.arguments, sure=1)) for case in cases]  # type: ignore[type-var]
    for looked, got in zip(run(build, cases, shared), run(build, told, shared), strict=True):
        assert looked.tobytes() == got.tobytes()
