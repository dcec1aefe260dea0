"""The pools against numpy, byte by byte, in every vocabulary."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgec.kernels import PoolAverageFloat, PoolAverageInt8, PoolMaxFloat, PoolMaxInt8
from edgec.program.arguments import LANES
from tests.kernels import reference
from tests.kernels.builds import BUILDS
from tests.kernels.driver import Build, Case, run
from tests.kernels.windows import in_count, out_count, pixels, splits, stride_of, window

# Where the last vector of a pixel's channels is part of one, or begins within the vector before it
EDGES = (LANES // 2 - 1, LANES // 2, LANES - 1, LANES, LANES + 1, 2 * LANES - 1, 4 * LANES - 1, 4 * LANES + 1, 5 * LANES - 1)


def random_pool(kind: type, seed: int, signed: bool, channels: int = 0) -> Case:
    """channels: 0 for any number of them."""
    rng = np.random.default_rng(seed)
    drawn = int(rng.choice((1, 3, 16, 64, 70, int(rng.integers(1, 150)))))
    channels = channels or drawn
    in_stride, out_stride = stride_of(rng, channels), stride_of(rng, channels)
    w = window(rng, in_stride, out_stride, pool=True, square=seed % 3 == 0)
    x, y = pixels(rng, in_count(w), channels, in_stride), pixels(rng, out_count(w), channels, out_stride)
    around = (int(rng.integers(2)), int(rng.integers(w.kernel_height)), int(rng.integers(w.kernel_width)))
    if kind in (PoolMaxFloat, PoolAverageFloat):
        special = np.array((np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 3e-39, 3e38), np.float32)
        if seed % 3:
            x = np.where(rng.random(x.shape) < 0.2, rng.choice(special[: None if seed % 2 else -2], x.shape), x)
        if seed % 5 == 0:
            x *= np.float32(1e-39)
        values = (w, x, y, channels) if kind is PoolMaxFloat else (w, x, y, channels, *around)
        return Case(kind(*values), splits(rng))
    dtype = np.int8 if signed else np.uint8
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    x, y = (rng.integers(least, most + 1, array.shape).astype(dtype) for array in (x, y))
    low, high = sorted(int(n) for n in rng.integers(least, most + 1, 2)) if rng.random() < 0.5 else (least, most)
    if kind is PoolMaxInt8:
        return Case(PoolMaxInt8(w, x, y, channels, low, high), splits(rng))
    zero_x, zero_y = (int(n) for n in rng.integers(least, most + 1, 2))
    n = np.arange(w.kernel_height * w.kernel_width + 1, dtype=np.float32)
    scale = np.float32(rng.choice((1.0, 0.5, rng.random() * 2))) / np.maximum(n, np.float32(1))  # 1 / n has ties
    return Case(PoolAverageInt8(w, x, scale, y, channels, *around, zero_x, zero_y, low, high), splits(rng))


def expected(a: object) -> np.ndarray:
    """What the call leaves in y."""
    window, x, channels = a.window, a.x, a.channels
    with np.errstate(all="ignore"):
        value = MEANINGS[type(a)](a, list(reference.taps(window, reference.image(window, x, channels))))
    return reference.place(window, a.y, value)


def max_float(a: PoolMaxFloat, taps: list[tuple[int, np.ndarray, np.ndarray]]) -> np.ndarray:
    m = np.full_like(taps[0][1], -np.inf)
    for _, x, inside in taps:
        m = np.where(inside, np.where(m > x, m, x), m)
    return m


def max_int8(a: PoolMaxInt8, taps: list[tuple[int, np.ndarray, np.ndarray]]) -> np.ndarray:
    m = np.full_like(taps[0][1], a.low)
    for _, x, inside in taps:
        m = np.where(inside, np.maximum(m, x), m)
    return np.minimum(m, m.dtype.type(a.high))


def average_float(a: PoolAverageFloat, taps: list[tuple[int, np.ndarray, np.ndarray]]) -> np.ndarray:
    total = np.zeros_like(taps[0][1])
    for _, x, inside in taps:
        total = np.where(inside, total + x, total)
    return np.asarray(total / reference.counts(a.window, a.pad_bottom, a.pad_right, bool(a.count_include_pad)).astype(np.float32))


def average_int8(a: PoolAverageInt8, taps: list[tuple[int, np.ndarray, np.ndarray]]) -> np.ndarray:
    total = np.zeros(taps[0][1].shape, np.int32)
    for _, x, inside in taps:
        total += np.where(inside, x.astype(np.int32) - a.zero_x, 0)
    scale = np.asarray(a.scale)[reference.counts(a.window, a.pad_bottom, a.pad_right, bool(a.count_include_pad))]
    value = np.rint(total.astype(np.float32) * scale).clip(a.low - a.zero_y, a.high - a.zero_y) + a.zero_y
    return value.astype(a.y.dtype)


MEANINGS = {PoolMaxFloat: max_float, PoolMaxInt8: max_int8, PoolAverageFloat: average_float, PoolAverageInt8: average_int8}


@pytest.mark.parametrize("build", BUILDS, ids=str)
def test_random_cases(build: Build, shared: Path) -> None:
    cases = [random_pool(kind, seed, build.signed) for kind in MEANINGS for seed in range(60)]
    cases += [random_pool(kind, seed, build.signed, channels) for kind in MEANINGS for channels in EDGES for seed in range(60, 72)]
    for case, got in zip(cases, run(build, cases, shared), strict=True):
        want = expected(case.arguments)
        same = (got.view(f"u{got.itemsize}") == want.view(f"u{got.itemsize}")) | ((got != got) & (want != want))
        assert same.all(), (case.arguments, got[~same][:8], want[~same][:8])
