"""Operators that onnx's reference computes wrongly, as ONNX defines them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Inputs = Sequence[np.ndarray | None]


def local_response(attributes: Mapping[str, Any], inputs: Inputs) -> list[np.ndarray]:
    """LRN: the reference counts channels by the batch."""
    x = inputs[0]
    assert x is not None
    size = attributes["size"]
    before, channels = (size - 1) // 2, x.shape[1]
    wide = x.astype(np.float64) ** 2
    sums = np.stack([wide[:, max(0, c - before) : c - before + size].sum(axis=1) for c in range(channels)], axis=1)
    scale = attributes.get("bias", 1.0) + attributes.get("alpha", 1e-4) / size * sums
    return [np.asarray(x / scale ** attributes.get("beta", 0.75), x.dtype)]


CORRECTED: dict[str, Callable[[Mapping[str, Any], Inputs], list[np.ndarray]]] = {"LRN": local_response}
