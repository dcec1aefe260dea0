"""swish_float and gelu_float against float64 numpy, in every vocabulary."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from edgec.kernels import FunctionFloat, GeluFloat, SwishFloat
from tests.kernels.builds import BUILDS
from tests.kernels.driver import Build, Case, run
from tests.kernels.test_product_float import Expected, scattered
from tests.kernels.windows import splits

ROUNDING = 2.0**-21  # of the product, generously: quotients of numbers that are each a few units off
NEAR_ERF = 6 * 2.0**-24  # of x, as GeluFloat says
SPECIAL = np.array([0, -0.0, 1e-30, 87, 89, -89, 100, -100, 3e38, np.inf, -np.inf, np.nan], np.float32)


def swish(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What it is in float64, and what a kernel's may be off by."""
    with np.errstate(over="ignore", invalid="ignore"):
        exact = x / (1 + np.exp(-x))
    return exact, ROUNDING * abs(exact) + 1e-35


def gelu(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where it is nothing beside x, nothing is left of it; of -infinity there is no such number."""
    with np.errstate(invalid="ignore"):
        exact = np.where((x < -6) & np.isfinite(x), 0, x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))))
    return exact, np.where(x < -6, 0, NEAR_ERF * abs(x)) + 1e-44


FUNCTIONS: dict[type[FunctionFloat], Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {SwishFloat: swish, GeluFloat: gelu}


def function_case(kernel: type[FunctionFloat], seed: int) -> Expected:
    """Rows from a few elements to several items long, apart or not, with a residual or not."""
    rng = np.random.default_rng(seed)
    rows, columns = (int(n) for n in rng.integers(1, [(200, 40), (3, 5000), (2, 20), (600, 20)][seed % 4]))
    values = (rng.standard_normal((rows, columns)) * rng.choice([0.1, 3.0, 40.0])).astype(np.float32)
    values.reshape(-1)[: SPECIAL.size] = SPECIAL[: values.size]
    x, at, x_strides = scattered(rng, values.shape, 1)
    x[at] = values
    y, to, y_strides = scattered(rng, values.shape, 1)
    added, stride, residual = np.zeros(values.shape), 0, None
    if seed % 2:
        added = rng.standard_normal(values.shape).astype(np.float32)
        residual, places, strides = scattered(rng, values.shape, 1)
        residual[places], stride = added, strides[0]
    exact, off = FUNCTIONS[kernel](values.astype(np.float64))
    want, error = np.full(y.shape, np.nan), np.full(y.shape, np.inf)
    want[to] = exact + added
    error[to] = off + (ROUNDING * abs(exact + added) if residual is not None else 0)
    arguments = kernel(x, residual, y, rows * columns, columns, x_strides[0], stride, y_strides[0])  # type: ignore[arg-type]
    return Case(arguments, splits(rng)), want, error


@cache
def cases() -> list[Expected]:
    return [function_case(kernel, seed) for kernel in FUNCTIONS for seed in range(40)]


@pytest.mark.parametrize("build", BUILDS, ids=str)
def test_random_cases(build: Build, shared: Path) -> None:
    for (case, want, error), got in zip(cases(), run(build, [case for case, *_ in cases()], shared), strict=True):
        number = np.isfinite(want)
        assert np.array_equal(np.isnan(want), np.isnan(got)) and np.array_equal(got[~number], want[~number], equal_nan=True)
        apart = abs(got[number] - want[number]) / error[number]
        assert (apart <= 1).all(), (case.arguments, apart.max(initial=0))
