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
FEW = 0.3  # rows for each term
TOGETHER = 512  # positions whose products are summed in float32, in one multiplication: each has a matrix of all terms to write
LARGE = 1e12  # numbers whose squares may add up to more than float32 holds


@dataclass
class Means:
    """Of the float rows x and of the quantized rows x' of a layer, per group [groups, terms]."""

    count: int
    _exact: np.ndarray
    _fed: np.ndarray

    def add(self, exact: np.ndarray, fed: np.ndarray) -> None:
        self.count += fed.shape[1]
        ones = np.ones((1, fed.shape[1]))
        self._exact += (ones @ exact.astype(np.float64))[:, 0]
        self._fed += (ones @ fed.astype(np.float64))[:, 0]

    @property
    def exact(self) -> np.ndarray:
        return self._exact / max(self.count, 1)

    @property
    def fed(self) -> np.ndarray:
        return self._fed / max(self.count, 1)


@dataclass
class Moments:
    """Sums over positions of layers that share their weights, per group: of the quantized rows x' the products x' x'^T, and of each layer,

    which has a bias of its own, its means. Few rows of many terms, as the steps of a recurrence read, are kept, which takes less room than
    their products.
    """

    means: list[Means] = field(default_factory=list)
    _products: np.ndarray = field(default_factory=lambda: np.zeros(0))
    _rows: list[tuple[int, np.ndarray]] = field(default_factory=list)  # whose products are not in these yet, and of which layer they are

    @property
    def count(self) -> int:
        return sum(one.count for one in self.means)

    def add(self, exact: np.ndarray, fed: np.ndarray, layer: int = 0) -> None:
        """Add float32 rows [groups, positions, terms] of one of the layers, of which `fed` may be kept."""
        groups, _, terms = fed.shape
        while len(self.means) <= layer:
            self.means.append(Means(0, np.zeros((groups, terms)), np.zeros((groups, terms))))
        self.means[layer].add(exact, fed)
        self._rows.append((layer, fed.astype(np.float64) if fed.size and np.abs(fed).max() > LARGE else fed))
        if sum(rows.shape[1] for _, rows in self._rows) >= min(terms, TOGETHER) and self.count >= terms:
            self._multiply()

    @property
    def few(self) -> bool:
        """Whether these are so few rows that it takes less to go by them than by the products of all terms."""
        return bool(self._rows) and self.count <= FEW * self.terms

    def spreads(self) -> np.ndarray:
        """Of few rows: float64 [groups, positions, terms] whose products are the covariance."""
        rows = np.concatenate([rows - self.means[layer].fed[:, None, :] for layer, rows in self._rows], axis=1)
        rows /= np.sqrt(self.count)
        return np.asarray(rows)

    @property
    def terms(self) -> int:
        return int(self.means[0].fed.shape[1])

    @property
    def parts(self) -> list[tuple[float, np.ndarray]]:
        """What share of the rows each layer has, and their mean."""
        return [(one.count / self.count, one.fed) for one in self.means if one.count]

    @property
    def square(self) -> np.ndarray:
        """[groups, terms, terms]."""
        self._multiply()
        return self._products

    def _multiply(self) -> None:
        if not self._products.size:
            groups, terms = self.means[0].fed.shape
            self._products = np.zeros((groups, terms, terms))
        kept = [rows for _, rows in self._rows]
        positions = sum(rows.shape[1] for rows in kept)
        known = np.concatenate(kept, axis=1) if len(kept) > 1 else kept[0] if kept else self.means[0].fed[:, :0]
        self._rows.clear()
        for begin in range(0, positions, TOGETHER):
            rows = known[:, begin : begin + TOGETHER]
            self._products += rows.transpose(0, 2, 1) @ rows

    def covariance(self) -> np.ndarray:
        """About the mean of each layer: its bias takes that."""
        found = self.square / self.count
        means = np.stack([mean for _, mean in self.parts], axis=1)
        found -= np.stack([share * mean for share, mean in self.parts], axis=2) @ means
        return np.asarray(found)


def mean_shift(rows: np.ndarray, stored: np.ndarray, scales: np.ndarray, exact: np.ndarray, fed: np.ndarray) -> np.ndarray:
    """[groups, channels]: what the integer weights `stored` lose of the mean output, to be added to the bias. exact, fed: mean rows."""
    return np.asarray(np.einsum("gnk,gk->gn", rows, exact) - np.einsum("gnk,gk->gn", stored * scales[:, :, None], fed))


def least_squares_rounding(rows: np.ndarray, scales: np.ndarray, moments: Moments) -> np.ndarray:
    """Integer weights [groups, channels, terms] in [-127, 127] for float64 `rows` of that shape and `scales` [groups, channels]."""
    exact = rows / scales[:, :, None]
    if moments.few:
        return nearest_by_rows(exact, *damped_rows(moments))
    return nearest_planes(exact, np.linalg.cholesky(damped(moments)[:, ::-1, ::-1])[:, ::-1, ::-1])


def damped(moments: Moments) -> np.ndarray:
    """The covariance [groups, terms, terms] with so much on its diagonal that it can be relied on."""
    covariance = moments.covariance()
    squares = np.einsum("gii->gi", moments.square).mean(axis=1) / moments.count
    diagonal = np.einsum("gii->gi", covariance)
    diagonal[...] += _damping(diagonal.mean(axis=1), squares, moments)[:, None]
    return covariance


def damped_rows(moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    """The same of few rows: those whose products are the covariance, and what is on its diagonal, of each group."""
    spreads = moments.spreads()
    level = np.square(spreads).sum(axis=1).mean(axis=1)
    means = np.sum([share * np.square(mean).mean(axis=1) for share, mean in moments.parts], axis=0)
    return spreads, _damping(level, level + means, moments)


def _damping(level: np.ndarray, squares: np.ndarray, moments: Moments) -> np.ndarray:
    """level, squares: the mean variance and the mean square of a term."""
    terms = moments.terms
    return np.asarray(np.maximum(np.maximum(level * DAMPING * (1 + 10 * terms / moments.count), squares * NOISE * terms), 1e-20))


def nearest_by_rows(exact: np.ndarray, spreads: np.ndarray, damping: np.ndarray) -> np.ndarray:
    """nearest_planes() of the triangle of damping * I + spreads^T spreads, of which blocks on the diagonal are all that is ever there.

    What is left of the covariance of the first terms when the last ones are eliminated is damping * I + a^T M a, for their columns a of
    `spreads` and a matrix M of as many rows as these have, the identity in the beginning: each block takes from it what it eliminates.
    """
    groups, positions, terms = spreads.shape
    left = np.tile(np.eye(positions), (groups, 1, 1))
    starts, triangles = range(0, terms, BLOCK), dict[int, tuple[np.ndarray, np.ndarray]]()
    for begin in reversed(starts):
        block = spreads[:, :, begin : begin + BLOCK]
        seen = left @ block
        own = block.transpose(0, 2, 1) @ seen + damping[:, None, None] * np.eye(block.shape[2])
        upper = np.linalg.cholesky(own[:, ::-1, ::-1])[:, ::-1, ::-1]
        others = np.linalg.solve(upper, seen.transpose(0, 2, 1)).transpose(0, 2, 1)
        left -= others @ others.transpose(0, 2, 1)
        triangles[begin] = upper, others
    stored, carried = np.zeros_like(exact), np.zeros((groups, exact.shape[1], positions))
    for begin in starts:
        upper, others = triangles.pop(begin)
        given, block = exact[:, :, begin : begin + BLOCK], spreads[:, :, begin : begin + BLOCK]
        # what the errors before the block add to each of its terms
        moved = carried @ others
        found = nearest_planes(given, upper, before=moved / np.einsum("gii->gi", upper)[:, None, :])
        stored[:, :, begin : begin + BLOCK] = found
        carried += (given - found) @ block.transpose(0, 2, 1)
    return stored


def nearest_planes(
    exact: np.ndarray, upper: np.ndarray, step: np.ndarray | float = 1.0, low: np.ndarray | int = -127, high: np.ndarray | int = 127,
    before: np.ndarray | float = 0.0,
) -> np.ndarray:  # fmt: skip
    """Integers in [low, high] that make |(exact - integers * step) upper| small: column by column, each making up for the errors before it.

    upper: [groups, terms, terms], triangular. step, low, high: one for all, or as many as there are numbers; so is `before`, what the
    errors of columns before all these add to each.
    """
    step, low, high, before = (np.broadcast_to(np.asarray(given, np.float64), exact.shape) for given in (step, low, high, before))
    stored, errors = np.zeros_like(exact), np.zeros_like(exact)
    terms = exact.shape[2]
    weights = upper / np.einsum("gii->gi", upper)[:, None, :]
    for begin in range(0, terms, BLOCK):
        end = min(begin + BLOCK, terms)
        carried = before[:, :, begin:end] + errors[:, :, :begin] @ weights[:, :begin, begin:end]
        for column in range(begin, end):
            inside = np.einsum("gnk,gk->gn", errors[:, :, begin:column], weights[:, begin:column, column])
            wanted = exact[:, :, column] + carried[:, :, column - begin] + inside
            stored[:, :, column] = np.clip(np.rint(wanted / step[:, :, column]), low[:, :, column], high[:, :, column])
            errors[:, :, column] = exact[:, :, column] - stored[:, :, column] * step[:, :, column]
    return stored
