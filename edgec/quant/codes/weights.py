"""Weights as signed 8-bit numbers, symmetric, with one scale per output channel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgec.integer.roles import channel_axis
from edgec.ir.graph import Graph
from edgec.quant.ranges.parameters import SMALLEST_SCALE
from edgec.quant.scope.coverage import Layer

LARGEST_BIAS = 2.0**30  # of the accumulator's 2^31; the selection sees to it that the products stay under the other half
LARGEST_SCALE = float(np.nextafter(np.finfo(np.float32).max / np.float32(127), np.float32(0)))  # 127 of which are still a number
SHARES = np.linspace(1.0, 0.75, 26)
NEAR = 1 << 15  # numbers that stay in a cache while they are gone over


@dataclass(frozen=True)
class Weights:
    """`values` int8 in the model's layout, `scales` float32 along `axis`, `bias` int32 at `bias_scales`, or float32

    without these (None: no bias)."""

    values: np.ndarray
    scales: np.ndarray
    axis: int
    bias: np.ndarray | None
    bias_scales: np.ndarray | None


def rows_of(weights: np.ndarray, axis: int) -> np.ndarray:
    """[channels, terms] float64."""
    return np.moveaxis(weights, axis, 0).reshape(weights.shape[axis], -1).astype(np.float64)


def peak_scales(rows: np.ndarray) -> np.ndarray:
    """For each row the scale (float32) that just holds its largest magnitude."""
    return np.asarray(np.clip(np.abs(rows).max(axis=1, initial=0.0) / 127, SMALLEST_SCALE, LARGEST_SCALE), np.float32)


def weight_scales(rows: np.ndarray) -> np.ndarray:
    """For each row the scale (float32) of the least squared error, between its largest magnitude / 127 and 3/4 of that."""
    few = max(1, NEAR // max(rows.shape[1], 1))  # every share goes over them again
    return np.concatenate([_weight_scales(rows[begin : begin + few]) for begin in range(0, max(len(rows), 1), few)])


def _weight_scales(rows: np.ndarray) -> np.ndarray:
    peak = np.maximum(np.abs(rows).max(axis=1, initial=0.0) / 127, SMALLEST_SCALE)
    best, least = peak.copy(), np.full(len(rows), np.inf)
    for share in SHARES:
        scale = peak * share
        stored = np.clip(np.rint(rows / scale[:, None]), -127, 127) * scale[:, None]
        # rounded, so that the order in which a processor adds does not decide between two shares
        error = np.round(np.sum((rows - stored) ** 2, axis=1) / peak**2, 9)
        best, least = np.where(error < least, scale, best), np.minimum(error, least)
    return np.asarray(np.clip(best, SMALLEST_SCALE, LARGEST_SCALE), np.float32)


def fit_bias(scales: np.ndarray, bias: np.ndarray | None, input_scale: float) -> np.ndarray:
    """The scales, raised where the bias would not fit the accumulator (a channel of tiny or zero weights)."""
    if bias is None:
        return scales
    magnitude = np.abs(bias.astype(np.float64))
    largest = magnitude.reshape(-1, len(scales)).max(axis=0) if bias.size >= len(scales) else np.full(len(scales), magnitude.max())
    return np.asarray(np.maximum(scales, largest / (input_scale * LARGEST_BIAS)), np.float32)


def round_to_nearest(rows: np.ndarray, scales: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip(np.rint(rows / scales.astype(np.float64)[:, None]), -127, 127), np.int8)


def from_rows(rows: np.ndarray, shape: tuple[int, ...], axis: int) -> np.ndarray:
    """The inverse of `rows_of` for an array of `shape`."""
    moved = (shape[axis], *(extent for place, extent in enumerate(shape) if place != axis))
    return np.ascontiguousarray(np.moveaxis(rows.reshape(moved), 0, axis))


def bias_of(graph: Graph, layer: Layer) -> np.ndarray | None:
    name = layer.node.input(2)
    return graph.constants[name].astype(np.float64).ravel() if name else None


def quantize_bias(bias: np.ndarray, scales: np.ndarray, input_scale: float) -> tuple[np.ndarray, np.ndarray]:
    """int32 values at the scales fl32(s_x * s_w[c]), and those scales."""
    steps = np.float32(input_scale) * scales.astype(np.float32)
    channels = max(bias.size, steps.size)
    steps = np.tile(steps, channels // steps.size)
    values = np.rint(np.broadcast_to(bias, (channels,)).astype(np.float64) / steps.astype(np.float64))
    return np.clip(values, -LARGEST_BIAS, LARGEST_BIAS).astype(np.int32), steps


def layer_axis(layer: Layer) -> int:
    return channel_axis(layer.node)
