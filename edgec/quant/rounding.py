"""Least-squares rounding: choose integer weights and a bias so that the layer's output, not each weight, is near the float one.

With float rows x, the rows x' that the quantized network really feeds, weights W and integer weights V (in units of the
scale), minimize E|W x + b - (V x' + b')|^2. The best b' follows from the means; the best real V is W + W (C - H) (H + damping)^-1 with H = cov(x', x'),
C = cov(x, x'); rounding goes column by column and lets the columns not yet rounded make up for each error, by the Cholesky
factor of the inverse (optimal brain quantization in a fixed order: Frantar et al., GPTQ, 2022).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

DAMPING = 0.01
BLOCK = 64


@dataclass
class Moments:
    """Sums over positions of a layer: per group the second moments of x' and of x against x', and both means."""

    count: int = 0
    fed: np.ndarray = field(default_factory=lambda: np.zeros(0))  # sum x', [groups, terms]
    exact: np.ndarray = field(default_factory=lambda: np.zeros(0))  # sum x
    square: np.ndarray = field(default_factory=lambda: np.zeros(0))  # sum x' x'^T, [groups, terms, terms]
    cross: np.ndarray = field(default_factory=lambda: np.zeros(0))  # sum x x'^T

    def add(self, exact: np.ndarray, fed: np.ndarray) -> None:
        """Add rows [groups, positions, terms] of the float and of the quantized network."""
        exact, fed = exact.astype(np.float32), fed.astype(np.float32)
        if not self.count:
            groups, _, terms = fed.shape
            self.fed, self.exact = np.zeros((groups, terms)), np.zeros((groups, terms))
            self.square, self.cross = np.zeros((groups, terms, terms)), np.zeros((groups, terms, terms))
        self.count += fed.shape[1]
        self.fed += fed.sum(axis=1, dtype=np.float64)
        self.exact += exact.sum(axis=1, dtype=np.float64)
        columns = fed.transpose(0, 2, 1)
        self.square += columns @ fed
        self.cross += exact.transpose(0, 2, 1) @ fed

    def centred(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """mean x, mean x', cov(x, x'), cov(x', x'), rounded to 24 bits so that the order of sums does not show."""
        fed, exact = self.fed / self.count, self.exact / self.count
        square = self.square / self.count - fed[:, :, None] * fed[:, None, :]
        cross = self.cross / self.count - exact[:, :, None] * fed[:, None, :]
        return exact, fed, cross, square


def best_rounding(rows: np.ndarray, scales: np.ndarray, moments: Moments, damping: float = DAMPING) -> tuple[np.ndarray, np.ndarray]:
    """Integer weights [groups, channels, terms] in [-127, 127], and what to add to the bias [groups, channels].

    rows: float64 weights [groups, channels, terms]; scales: [groups, channels].
    """
    exact_mean, fed_mean, cross, square = moments.centred()
    terms = rows.shape[2]
    level = np.einsum("gii->gi", square).mean(axis=1)
    amount = np.maximum(level * damping * (1 + terms / moments.count * 10), 1e-20)
    damped = square + amount[:, None, None] * np.eye(terms)
    inverse = np.linalg.inv(damped)
    wanted = rows + rows @ (cross - square) @ inverse
    stored = feedback_rounding(wanted, scales, inverse)
    used = stored * scales[:, :, None]
    shift = np.einsum("gnk,gk->gn", rows, exact_mean) - np.einsum("gnk,gk->gn", used, fed_mean)
    return stored.astype(np.int8), shift


def feedback_rounding(wanted: np.ndarray, scales: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Round column by column; the rest of the row absorbs each error along the Cholesky factor of `inverse`."""
    upper = np.linalg.cholesky((inverse + inverse.transpose(0, 2, 1)) / 2).transpose(0, 2, 1)
    rest = wanted / scales[:, :, None]
    stored = np.zeros_like(rest)
    terms = rest.shape[2]
    for begin in range(0, terms, BLOCK):
        end = min(begin + BLOCK, terms)
        errors = np.zeros((*rest.shape[:2], end - begin))
        for column in range(begin, end):
            stored[:, :, column] = np.clip(np.rint(rest[:, :, column]), -127, 127)
            error = (rest[:, :, column] - stored[:, :, column]) / upper[:, column, column, None]
            rest[:, :, column:end] -= error[:, :, None] * upper[:, None, column, column:end]
            errors[:, :, column - begin] = error
        rest[:, :, end:] -= errors @ upper[:, begin:end, end:]
    return stored
