"""Operators that onnx's reference computes wrongly, as ONNX defines them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import floor
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


def resize_by_extents(attributes: Mapping[str, Any], inputs: Inputs) -> Inputs:
    """Resize by scales that aligns corners: the reference spreads over extents that are not rounded down yet, so they are given instead."""
    if attributes.get("coordinate_transformation_mode") != "align_corners" or len(inputs) != 3:
        return inputs
    x, _, scales = inputs
    assert x is not None and scales is not None
    sizes = [floor(extent * Fraction(float(scale))) for extent, scale in zip(x.shape, scales, strict=True)]
    return [x, None, None, np.array(sizes, np.int64)]


CORRECTED: dict[str, Callable[[Mapping[str, Any], Inputs], list[np.ndarray]]] = {"LRN": local_response}
# Operands with which the reference computes what ONNX defines
RESTATED: dict[str, Callable[[Mapping[str, Any], Inputs], Inputs]] = {"Resize": resize_by_extents}
