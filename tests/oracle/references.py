"""Functions in binary64, by their definitions."""

from __future__ import annotations

import math

import numpy as np

_erf = np.vectorize(math.erf)


def swish(x: np.ndarray) -> np.ndarray:
    return np.asarray(x * 0.5 * (1 + np.tanh(x / 2)))


def gelu(x: np.ndarray) -> np.ndarray:
    return np.asarray(x * 0.5 * (1 + _erf(x / math.sqrt(2))))


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    return np.asarray(x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))
