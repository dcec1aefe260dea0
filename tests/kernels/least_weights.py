"""Weights of -128, which fast kernels take once in a channel, in cases that are otherwise drawn as they were."""

from __future__ import annotations

import numpy as np


def aside(known: np.ndarray) -> np.random.Generator:
    """One that follows from numbers that were drawn, so that nothing else is drawn otherwise for what it gives."""
    return np.random.default_rng(int(np.abs(known.astype(np.int64)).sum()))


def lone_least(weights: np.ndarray) -> None:
    """At times one of each channel's weights [channels, terms] becomes -128, in place: two products of it are not added in 16 bits."""
    random = aside(weights)
    if weights.shape[1] and random.random() < 0.3:
        weights[np.arange(len(weights)), random.integers(0, weights.shape[1], len(weights))] = -128
