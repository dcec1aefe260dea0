"""How far the answers of two engines to the same question are apart, and how far apart right ones may be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

Answers = Sequence[np.ndarray]
LEAST = {"fp32": 0.001, "int8": 0.005}  # what right answers may be apart, whatever the model
TIMES = 2  # as much as quantization itself changes the answer: engines that round otherwise than ONNX says stay below 1.2


def read(path: Path) -> list[np.ndarray]:
    """An engine's outputs, as peer_engines.py leaves them."""
    with np.load(path) as stored:
        return [stored[name].astype(np.float64).ravel() for name in stored.files]


def distance(theirs: Answers, ours: Answers) -> float:
    """The root of the mean square of differences as a share of the range of ours, of the output where it is largest.

    Outputs have an order of each engine's own: one is compared with the nearest of as many elements. inf: there are others.
    """
    if sorted(one.size for one in theirs) != sorted(one.size for one in ours):
        return math.inf
    return max(min(_apart(their, our) for their in theirs if their.size == our.size) for our in ours)


def _apart(theirs: np.ndarray, ours: np.ndarray) -> float:
    extent = float(np.ptp(ours)) or float(np.abs(ours).max(initial=0)) or 1.0
    found = float(np.sqrt(np.mean((theirs - ours) ** 2))) / extent
    return found if math.isfinite(found) else math.inf


def tolerance(precision: str, ours: Answers, exact: Answers | None) -> float:
    """The largest distance of a right answer; exact: what the float model says, None where nobody knows."""
    if precision == "fp32" or exact is None:
        return LEAST[precision]
    noise = distance(exact, ours)
    return max(LEAST[precision], TIMES * noise) if math.isfinite(noise) else LEAST[precision]
