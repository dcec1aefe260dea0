"""pack_float and product_float against float64 numpy, in every vocabulary."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from edgec.kernels import PackFloat, ProductFloat
from edgec.program.arguments import LANES
from tests.kernels.builds import BUILDS
from tests.kernels.driver import Build, Case, run
from tests.kernels.windows import splits

Expected = tuple[Case, np.ndarray, np.ndarray]  # with what lies in y then, NaN where nothing is written, and the bound of its errors


def panels(w: np.ndarray) -> np.ndarray:
    """[outer, inner, k, n] as PackFloat packs it."""
    wide = np.pad(w, ((0, 0), (0, 0), (0, 0), (0, -w.shape[3] % LANES)))
    return np.ascontiguousarray(wide.reshape(*w.shape[:3], -1, LANES).transpose(0, 1, 3, 2, 4)).reshape(-1)


def scattered(rng: np.random.Generator, shape: tuple[int, ...], last: int | None = None) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """(memory full of NaN, the places of a tensor's elements in it, strides); the axis `last` has stride 1."""
    order = [int(axis) for axis in rng.permutation(len(shape))]
    if last is not None:
        order = [axis for axis in order if axis != last] + [last]
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = step
        step = step * shape[axis] + int(rng.integers(0, 3) if axis != order[0] else 0)
    places = sum((np.arange(n).reshape([-1 if a == b else 1 for b in range(len(shape))]) * strides[a] for a, n in enumerate(shape)), 0)
    return np.full(int(np.max(places)) + 1, np.nan, np.float32), np.asarray(places), strides


def sizes(rng: np.random.Generator, seed: int) -> tuple[int, ...]:
    """outer, inner, rows, k, n; now and then more than one chunk of columns or block of rows, a vector, or nothing but one product."""
    rows, k, n = (int(size) for size in rng.integers(1, [[40, 40, 40], [130, 9, 20], [5, 20, 300], [2, 70, 70], [9, 2, 2]][seed % 5]))
    return int(rng.integers(1, 4)), int(rng.integers(1, 4)), rows, k, n


def pack_case(seed: int) -> Expected:
    rng = np.random.default_rng(seed)
    outer, inner, _, k, n = sizes(rng, seed)
    w = rng.standard_normal((outer, inner, k, n)).astype(np.float32)
    x, places, strides = scattered(rng, w.shape)
    x[places] = w
    want = panels(w)
    return Case(PackFloat(x, np.full_like(want, np.nan), outer, inner, *strides, k, n), splits(rng)), want, np.zeros_like(want)  # type: ignore[arg-type]


def product_case(seed: int) -> Expected:
    rng = np.random.default_rng(seed)
    outer, inner, rows, k, n = sizes(rng, seed)
    shared = rng.random() < 0.3
    w = rng.standard_normal((1, 1, k, n) if shared else (outer, inner, k, n)).astype(np.float32)
    a = rng.standard_normal((outer, inner, rows, k)).astype(np.float32)
    x, at, strides = scattered(rng, a.shape, 3)
    x[at] = a
    y, to, y_strides = scattered(rng, (outer, inner, rows, n), 3)
    matrix = 0 if shared else panels(w[:1, :1]).size
    want, error = (np.full(y.shape, np.nan) for _ in range(2))
    want[to] = np.matmul(a.astype(np.float64), w)
    error[to] = np.matmul(abs(a).astype(np.float64), abs(w)) * 1e-6
    arguments = ProductFloat(x, panels(w), y, outer, inner, rows, *strides[:3], inner * matrix, matrix, *y_strides[:3], k, n)  # type: ignore[arg-type]
    return Case(arguments, splits(rng)), want, error


@cache
def cases() -> list[Expected]:
    return [*map(pack_case, range(40)), *map(product_case, range(80))]


@pytest.mark.parametrize("build", BUILDS, ids=str)
def test_random_cases(build: Build, shared: Path) -> None:
    for (case, want, error), got in zip(cases(), run(build, [case for case, *_ in cases()], shared), strict=True):
        between = np.isnan(want)
        assert np.array_equal(np.isnan(got), between), case.arguments
        assert (abs(got - want)[~between] <= error[~between]).all(), case.arguments
