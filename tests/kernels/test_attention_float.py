"""attention_float against float64 numpy, in every vocabulary."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from edgec.kernels import AttentionFloat
from edgec.kernels.attention_float import COLUMN_BLOCK, blocks
from tests.kernels.builds import BUILDS
from tests.kernels.driver import Build, Case, run
from tests.kernels.test_product_float import Expected, panels, scattered
from tests.kernels.windows import splits

SMALL = 2.0**-20  # a generous share of rounding


def attention_case(seed: int) -> Expected:
    """Scores from flat to decided by one column; rows and columns in one block or several; a mask that hides most at times, even rows."""
    rng = np.random.default_rng(seed)
    outer, inner = (int(n) for n in rng.integers(1, 4, 2))
    rows, columns = (int(n) for n in rng.integers(1, [(9, 20), (130, 9), (5, 3 * COLUMN_BLOCK), (60, COLUMN_BLOCK + 20)][seed % 4]))
    channels, mixed = (int(n) for n in rng.integers(1, 40, 2))
    spread = float(rng.choice([0.1, 1.0, 10.0]))
    q, k, v = (
        (rng.standard_normal((outer, inner, *shape)) * size).astype(np.float32)
        for shape, size in (((rows, channels), spread), ((channels, columns), 1), ((columns, mixed), 1))
    )
    query, at, q_strides = scattered(rng, q.shape, 3)
    query[at] = q
    y, to, y_strides = scattered(rng, (outer, inner, rows, mixed), 3)
    scale = float(np.float32(rng.choice([1.0, channels**-0.5])))
    mask, added, m_strides = _mask(rng, (outer, inner, rows, columns))
    with np.errstate(invalid="ignore"):
        scores = scale * np.matmul(q.astype(np.float64), k) + added
        weights = np.exp(scores - scores.max(axis=3, keepdims=True))
        weights /= weights.sum(axis=3, keepdims=True)
        mean = np.matmul(weights, v)
    size = np.where(weights > 0, abs(scale) * np.matmul(abs(q).astype(np.float64), abs(k)) + abs(added), 0)
    want, error = np.full(y.shape, np.nan), np.full(y.shape, np.inf)
    want[to] = mean
    error[to] = np.abs(v).max() * SMALL * (4 + size.max(axis=3, keepdims=True))
    row_block, columns_at_once = blocks(rows, columns, channels, mixed)
    row_block = int(rng.choice([row_block, rows]))  # as for keys and values that no cache holds
    arguments = AttentionFloat(
        query, panels(k), panels(v), mask, y, outer, inner, rows, columns, channels, mixed, *q_strides[:3],
        inner * panels(k[:1, :1]).size, panels(k[:1, :1]).size, inner * panels(v[:1, :1]).size, panels(v[:1, :1]).size,
        *m_strides, *y_strides[:3], row_block, columns_at_once, scale,
    )  # type: ignore[arg-type]  # fmt: skip
    return Case(arguments, splits(rng)), want, error


def _mask(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[np.ndarray | None, np.ndarray, list[int]]:
    """(what the kernel gets, the same for every score, strides)."""
    if rng.random() < 0.4:
        return None, np.zeros(shape), [0, 0, 0]
    mask, places, strides = scattered(rng, shape, 3)
    repeats = rng.random(3) < 0.4
    strides = [0 if repeat else stride for stride, repeat in zip(strides, [*repeats, False], strict=True)]
    places = places[tuple(slice(0, 1) if repeat else slice(None) for repeat in repeats)]
    hidden = rng.choice([-np.inf, -3.4028235e38, -1e9, -1.0])
    mask[places] = np.where(rng.random(places.shape) < rng.choice([0.1, 0.9, 0.99]), hidden, rng.standard_normal(places.shape))
    return mask[: places.max() + 1], np.broadcast_to(mask[places], shape).astype(np.float64), strides[:3]


@cache
def cases() -> list[Expected]:
    return [attention_case(seed) for seed in range(60)]


# Those of dotprod are neon's, as far as floats go.
MARKS = {"dotprod": pytest.mark.thorough}


@pytest.mark.parametrize("build", [pytest.param(build, marks=MARKS.get(build.vocabulary, ())) for build in BUILDS], ids=str)
def test_random_cases(build: Build, shared: Path) -> None:
    for (case, want, error), got in zip(cases(), run(build, [case for case, *_ in cases()], shared), strict=True):
        known = ~np.isnan(want)
        assert np.array_equal(~np.isnan(got), known), case.arguments
        assert (abs(got - want)[known] <= error[known]).all(), (case.arguments, np.max(abs(got - want)[known] / error[known]))


def test_what_is_no_number_stays_in_its_row(shared: Path) -> None:
    case, want, _ = attention_case(4)
    a = case.arguments
    assert isinstance(a, AttentionFloat)
    for value in (np.nan, np.inf):
        query = np.array(a.query)
        query[: a.channels] = value
        for vocabulary in ("portable", "sse41", "avx2", "avx512vnni"):
            got = run(Build(vocabulary), [Case(replace(a, query=query, mask=None))], shared)[0]
            assert np.isnan(got[: a.value_channels]).all()
            assert np.isnan(got).sum() == np.isnan(want).sum() + a.value_channels
