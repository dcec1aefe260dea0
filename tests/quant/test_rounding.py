"""Least-squares rounding: near the float output, and at home with inputs that hardly vary."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from edgec.quant.codes.rounding import Moments, damped, least_squares_rounding, nearest_planes


def layer(terms: int, positions: int, spread: float, mean: float) -> tuple[np.ndarray, np.ndarray, Moments, np.ndarray]:
    """Rows of weights, their scales, the moments of an input with that mean and spread, and the input."""
    generator = np.random.default_rng(terms)
    rows = generator.standard_normal((1, 8, terms))
    fed = (mean + spread * generator.standard_normal((1, positions, terms))).astype(np.float32)
    moments = Moments()
    moments.add(fed, fed)
    return rows, np.abs(rows).max(axis=2) / 127, moments, fed


def test_the_output_is_nearer_than_with_nearest_rounding() -> None:
    rows, scales, moments, fed = layer(terms=64, positions=40, spread=1.0, mean=0.0)
    found = least_squares_rounding(rows.copy(), scales, moments)
    nearest = np.rint(rows / scales[:, :, None])
    loss = [np.square((rows - stored * scales[:, :, None])[0] @ fed[0].T).sum() for stored in (found, nearest)]
    assert np.abs(found).max() <= 127 and loss[0] < loss[1]


@pytest.mark.parametrize("spread", [0.0, 1e-6, 1e-3])
@pytest.mark.parametrize("positions", [1, 49, 2000])
def test_inputs_that_hardly_vary_are_rounded_too(spread: float, positions: int) -> None:
    """Sums in float32 then say little of the covariance: it may come out with negative eigenvalues."""
    rows, scales, moments, _ = layer(terms=96, positions=positions, spread=spread, mean=100.0)
    found = least_squares_rounding(rows.copy(), scales, moments)
    assert np.isfinite(found).all() and np.abs(found).max() <= 127
    assert np.abs(found - rows / scales[:, :, None]).max() < 20, "not far from the weights"


@pytest.mark.filterwarnings("error")
def test_squares_beyond_float32() -> None:
    rows, moments = np.full((1, 5, 2), 3e38, np.float32), Moments()
    moments.add(rows, rows)
    assert moments.square.tolist() == [[[5 * float(np.float32(3e38)) ** 2] * 2] * 2]


def test_few_rows_of_many_terms_take_no_more_room_than_they_have() -> None:
    rows, moments = np.random.default_rng(0).standard_normal((6, 1, 2, 2000)).astype(np.float32), Moments()
    tracemalloc.start()
    for one in rows:
        moments.add(one, one)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1 << 20
    np.testing.assert_allclose(moments.square, sum(one[0].T.astype(np.float64) @ one[0] for one in rows)[None], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("groups", "terms", "positions"), [(1, 300, 40), (3, 65, 15), (2, 128, 1)])
def test_few_rows_are_rounded_as_by_the_products_of_all_terms(groups: int, terms: int, positions: int) -> None:
    """Their rounding never has such a matrix, of which it would need the triangle."""
    generator = np.random.default_rng(terms)
    rows = generator.standard_normal((groups, 6, terms))
    scales = np.abs(rows).max(axis=2) / 127
    fed = (2 + generator.standard_normal((groups, positions, 9)) @ generator.standard_normal((groups, 9, terms))).astype(np.float32)
    moments = Moments()
    moments.add(fed, fed)
    assert moments.few
    found = least_squares_rounding(rows, scales, moments)
    upper = np.linalg.cholesky(damped(moments)[:, ::-1, ::-1])[:, ::-1, ::-1]
    assert not moments.few, "the products are there now"
    wanted = nearest_planes(rows / scales[:, :, None], upper)
    assert np.mean(found != wanted) < 0.01, "but for sums in another order"
