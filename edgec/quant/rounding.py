"""Least-squares rounding: choose integer weights and a bias so that the layer's output, not each weight, is near the float one.

With float weights W, the rows x' that the layer is fed (its float input, quantized) and integer weights V in units of the
scale, minimize E|W x' - V x'|^2 = |(W - V) R|^2 with R R^T = cov(x', x'): with a triangular R rounding goes column by column, and each
makes up for the errors of those before it (Babai's nearest plane, which is GPTQ of Frantar et al., 2022, without an inverse).
The bias takes what is left of the mean: b' = b + W E[x] - V E[x'].
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

DAMPING = 0.03  # of the mean variance, more where samples are few: keeps the rounding from following them too closely
NOISE = 2.0**-20  # of the mean square: what float32 sums leave uncertain in a covariance
BLOCK = 64
TOGETHER = 512  # positions whose products are summed in float32, in one multiplication: each has a matrix of all terms to write
LARGE = 1e12  # numbers whose squares may add up to more than float32 holds


@dataclass
class Moments:
    """Sums over positions of a layer, per group: of the float rows x, of the quantized rows x', and of x' x'^T.

    A layer that reads few rows of many terms, as each step of a recurrence does, keeps the rows, which take less room than their products.
    """

    count: int = 0
    exact: np.ndarray = field(default_factory=lambda: np.zeros(0))  # [groups, terms]
    fed: np.ndarray = field(default_factory=lambda: np.zeros(0))
    _products: np.ndarray = field(default_factory=lambda: np.zeros(0))
    _rows: list[np.ndarray] = field(default_factory=list)  # whose products are not in these yet

    def add(self, exact: np.ndarray, fed: np.ndarray) -> None:
        """Add float32 rows [groups, positions, terms], of which `fed` may be kept."""
        groups, positions, terms = fed.shape
        if not self.count:
            self.exact, self.fed = np.zeros((groups, terms)), np.zeros((groups, terms))
        self.count += positions
        self.exact += np.einsum("gpk->gk", exact, dtype=np.float64)
        self.fed += np.einsum("gpk->gk", fed, dtype=np.float64)
        self._rows.append(fed.astype(np.float64) if fed.size and np.abs(fed).max() > LARGE else fed)
        if sum(rows.shape[1] for rows in self._rows) >= min(terms, TOGETHER) and self.count >= terms:
            self._multiply()

    @property
    def square(self) -> np.ndarray:
        """[groups, terms, terms]."""
        self._multiply()
        return self._products

    def _multiply(self) -> None:
        if not self._products.size:
            groups, terms = self.fed.shape
            self._products = np.zeros((groups, terms, terms))
        positions = sum(rows.shape[1] for rows in self._rows)
        known = np.concatenate(self._rows, axis=1) if len(self._rows) > 1 else self._rows[0] if self._rows else self.fed[:, :0]
        self._rows.clear()
        for begin in range(0, positions, TOGETHER):
            rows = known[:, begin : begin + TOGETHER]
            self._products += rows.transpose(0, 2, 1) @ rows

    def covariance(self) -> np.ndarray:
        mean = self.fed / self.count
        found = self.square / self.count
        found -= mean[:, :, None] * mean[:, None, :]
        return np.asarray(found)


def mean_shift(rows: np.ndarray, stored: np.ndarray, scales: np.ndarray, exact: np.ndarray, fed: np.ndarray) -> np.ndarray:
    """[groups, channels]: what the integer weights `stored` lose of the mean output, to be added to the bias. exact, fed: mean rows."""
    return np.asarray(np.einsum("gnk,gk->gn", rows, exact) - np.einsum("gnk,gk->gn", stored * scales[:, :, None], fed))


def least_squares_rounding(rows: np.ndarray, scales: np.ndarray, moments: Moments) -> np.ndarray:
    """Integer weights [groups, channels, terms] in [-127, 127] for float64 `rows` of that shape and `scales` [groups, channels]."""
    return nearest_planes(rows / scales[:, :, None], np.linalg.cholesky(damped(moments)[:, ::-1, ::-1])[:, ::-1, ::-1])


def damped(moments: Moments) -> np.ndarray:
    """The covariance [groups, terms, terms] with so much on its diagonal that it can be relied on."""
    covariance = moments.covariance()
    terms = covariance.shape[1]
    level = np.einsum("gii->gi", covariance).mean(axis=1)
    uncertain = np.einsum("gii->gi", moments.square).mean(axis=1) / moments.count * NOISE * terms
    damping = np.maximum(np.maximum(level * DAMPING * (1 + 10 * terms / moments.count), uncertain), 1e-20)
    np.einsum("gii->gi", covariance)[...] += damping[:, None]
    return covariance


def nearest_planes(
    exact: np.ndarray, upper: np.ndarray, step: np.ndarray | float = 1.0, low: np.ndarray | int = -127, high: np.ndarray | int = 127
) -> np.ndarray:
    """Integers in [low, high] that make |(exact - integers * step) upper| small: column by column, each making up for the errors before it.

    upper: [groups, terms, terms], triangular. step, low, high: one for all, or as many as there are numbers.
    """
    step, low, high = (np.broadcast_to(np.asarray(given, np.float64), exact.shape) for given in (step, low, high))
    stored, errors = np.zeros_like(exact), np.zeros_like(exact)
    terms = exact.shape[2]
    weights = upper / np.einsum("gii->gi", upper)[:, None, :]
    for begin in range(0, terms, BLOCK):
        end = min(begin + BLOCK, terms)
        carried = errors[:, :, :begin] @ weights[:, :begin, begin:end]
        for column in range(begin, end):
            before = np.einsum("gnk,gk->gn", errors[:, :, begin:column], weights[:, begin:column, column])
            wanted = exact[:, :, column] + carried[:, :, column - begin] + before
            stored[:, :, column] = np.clip(np.rint(wanted / step[:, :, column]), low[:, :, column], high[:, :, column])
            errors[:, :, column] = exact[:, :, column] - stored[:, :, column] * step[:, :, column]
    return stored
