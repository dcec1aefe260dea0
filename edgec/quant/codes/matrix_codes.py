"""Codes of 8 or 4 bits for a matrix of weights: by the weights alone, or so that what the layer computes is near.

With rows that the layer was fed, codes are rounded as in edgec/quant/codes/rounding.py, and taken where that is nearer on rows that they
were not fitted to. Groups get zero points where these gain more than the bytes that they take.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from edgec.quant.codes.rounding import DAMPING, nearest_planes

SHARES = {8: np.linspace(0.9, 1, 6), 4: np.linspace(0.6, 1, 17)}  # of the range that the weights fill: less cuts some, the rest gets finer
CHANNELS = 256  # searched at once
GAIN = 0.8  # of the error: zero points take a fifth more bytes
HELD = 4  # one row of so many judges


@dataclass(frozen=True)
class Codes:
    """[out][in] in int8, scales float32 and zero points int8 [out][group of inputs]; weights are (codes - zeros) * scales."""

    codes: np.ndarray
    scales: np.ndarray
    zeros: np.ndarray

    def decoded(self, group: int) -> np.ndarray:
        scales, zeros = (np.repeat(array, group, 1)[:, : self.codes.shape[1]] for array in (self.scales, self.zeros))
        return np.asarray((self.codes - zeros.astype(np.float32)) * scales)


def code_matrix(matrix: np.ndarray, bits: int, group: int, rows: np.ndarray | None = None) -> Codes:
    """Codes of float32 weights [out][in]. rows: float32 [rows][in], some of what they are multiplied with; None: not known."""
    judges = np.eye(0, dtype=np.float32) if rows is None or len(rows) < HELD else rows[::HELD]

    def error(found: Codes) -> float:
        lost = matrix - found.decoded(group)
        return float(np.square(lost if not len(judges) else lost @ judges.T, dtype=np.float64).sum())

    found = searched(matrix, bits, group)
    if bits == 4:
        shifted = searched(matrix, bits, group, zeros=True)
        found = shifted if error(shifted) < GAIN * error(found) else found
    if bits == 4 and len(judges):
        assert rows is not None
        rounded = rounded_to(matrix, found, group, bits, np.delete(rows, slice(None, None, HELD), 0))
        found = min((found, rounded), key=error)
    return found


def searched(matrix: np.ndarray, bits: int, group: int, *, zeros: bool = False) -> Codes:
    """With the least squared error among SHARES of the ranges, each scale then the one that fits its codes best."""
    parts = [_search(matrix[start : start + CHANNELS], bits, group, zeros) for start in range(0, len(matrix), CHANNELS)]
    return Codes(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _search(matrix: np.ndarray, bits: int, group: int, zeros: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    outputs, inputs = matrix.shape
    groups = -(-inputs // group)
    wide = np.pad(matrix, ((0, 0), (0, groups * group - inputs))).reshape(outputs, groups, group)
    least, largest = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    top, bottom = wide.max(2, keepdims=True), wide.min(2, keepdims=True)  # both signs are in most groups; else 0 is an end
    top, bottom = (np.maximum(top, 0), np.minimum(bottom, 0)) if zeros else (np.maximum(top, -bottom), np.zeros_like(top))
    reach = np.maximum(top - bottom, np.float32(1e-30)) / (largest - least if zeros else largest)
    zero = np.clip(np.rint(least - bottom / reach), least, largest) if zeros else np.zeros_like(reach)
    best, scale, smallest = np.zeros(wide.shape, np.int8), reach.copy(), np.full((outputs, groups, 1), np.inf)
    for share in SHARES[bits]:
        tried = (reach * np.float32(share)).astype(np.float32)
        steps = np.clip(np.rint(wide / tried), least - zero, largest - zero)
        fitted = _fitted(wide, steps, tried)
        error = ((wide - steps * fitted) ** 2).sum(2, keepdims=True, dtype=np.float64)
        better = error < smallest
        best, scale = np.where(better, steps + zero, best).astype(np.int8), np.where(better, fitted, scale)
        smallest = np.minimum(error, smallest)
    return best.reshape(outputs, -1)[:, :inputs], scale[:, :, 0].astype(np.float32), zero[:, :, 0].astype(np.int8)


def _fitted(wide: np.ndarray, steps: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The scales with the least squared error for these codes."""
    power = (steps * steps).sum(2, keepdims=True)
    fitted = (wide * steps).sum(2, keepdims=True) / np.maximum(power, 1)
    return np.where((power > 0) & (fitted > 0), fitted, scale).astype(np.float32)


def rounded_to(matrix: np.ndarray, found: Codes, group: int, bits: int, rows: np.ndarray) -> Codes:
    """Other codes on the same scales, whose products with `rows` are near those of `matrix`."""
    terms = matrix.shape[1]
    square = rows.T.astype(np.float64) @ rows / max(len(rows), 1)
    level = np.trace(square) / terms
    damping = max(level * DAMPING * (1 + terms / max(len(rows), 1)), 1e-20)
    upper = np.linalg.cholesky((square + damping * np.eye(terms))[::-1, ::-1])[None, ::-1, ::-1]
    repeated = partial(np.repeat, repeats=group, axis=1)
    scales, zeros = (repeated(array.astype(np.float64))[:, :terms] for array in (found.scales, found.zeros))
    low, high = -(2 ** (bits - 1)) - zeros, 2 ** (bits - 1) - 1 - zeros
    steps = nearest_planes(matrix.astype(np.float64)[None], upper, scales[None], low[None], high[None])[0]
    return Codes((steps + zeros).astype(np.int8), found.scales, found.zeros)
