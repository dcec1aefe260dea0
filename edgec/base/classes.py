"""Scores of classes: which tensors hold them, and each sample's. One notion for all who count what a model chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np


def samples_in(arrays: Mapping[str, np.ndarray]) -> int:
    """How many samples a model's inputs hold, along their first axes."""
    return next((len(array) for array in arrays.values() if array.ndim), 1)


def class_count(shape: Sequence[int], samples: int) -> int:
    """How many classes the numbers of each sample are scores of: as many as lie along their one axis; 0 where there are several axes.

    The first axis is the samples' where it is as long, and not the only one.
    """
    own = shape[1:] if _by_sample(shape, samples) else shape
    axes = [extent for extent in own if extent != 1] or [1]
    return axes[0] if len(axes) == 1 else 0


def chooses(shape: Sequence[int], samples: int) -> bool:
    """Whether the best of each sample's numbers is what a model says: one of several classes.

    In (samples, n, 1) they are rather one score for each of n places, as of a detector's anchors.
    """
    return class_count(shape, samples) > 1 and not (len(shape) == 3 and shape[1] > 1)


def rows(array: np.ndarray, samples: int) -> np.ndarray:
    """One for each sample."""
    return array.reshape(samples if _by_sample(array.shape, samples) else 1, -1)


def best_classes(array: np.ndarray, samples: int) -> np.ndarray:
    """That of each sample, -1 where there are no scores: how many there are may depend on the inputs."""
    scores = rows(array, samples)
    return scores.argmax(1) if scores.shape[1] else np.full(len(scores), -1)


def _by_sample(shape: Sequence[int], samples: int) -> bool:
    return len(shape) > 1 and shape[0] == samples
