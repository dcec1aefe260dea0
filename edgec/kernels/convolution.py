"""What kernels share that multiply pixels by panels of 16 output channels."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from edgec.kernels.windows import ceil_div, lines, out_pixels, tap_pointers, taps, window_reach
from edgec.program.arguments import LANES, PIXEL_BLOCK, Window
from edgec.program.expr import Expr, Number

PANELS_PER_ITEM = 8  # weight panels that share one set of tap pointers


def round_up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


def panel_count(out_channels: int) -> int:
    """Weight panels of one group."""
    return -(-out_channels // LANES)


def lanes_of(arguments: Any) -> int:
    """Output channels of all groups' panels."""
    lanes: int = arguments.groups * panel_count(arguments.out_channels) * LANES
    return lanes


def dense_weights(arguments: Any) -> int:
    """Elements of packed weights whose inputs are not padded."""
    weights: int = lanes_of(arguments) * taps(arguments.window) * arguments.in_channels
    return weights


def conv_reach(arguments: Any, weights: int) -> dict[str, Number]:
    inputs, outputs = arguments.groups * arguments.in_channels, arguments.groups * arguments.out_channels
    return window_reach(arguments.window, inputs, outputs) | {"weights": weights, "bias": lanes_of(arguments)}


def conv_items(arguments: Any) -> Expr:
    return panel_items(arguments.window, arguments.out_channels, arguments.groups)


def even_items(arguments: Any) -> Expr:
    """As many as there are panels of PIXEL_BLOCK / 8 pixels: a kernel that divides its work otherwise takes as large a part of it."""
    panels: int = arguments.groups * panel_count(arguments.out_channels)
    return ceil_div(out_pixels(arguments.window), PIXEL_BLOCK // 8) * panels


def panel_items(window: Window, out_channels: int, groups: int = 1) -> Expr:
    """item = (group * panel_chunks + chunk) * pixel_blocks + pixel_block, of PANELS_PER_ITEM panels and PIXEL_BLOCK pixels."""
    return ceil_div(out_pixels(window), PIXEL_BLOCK) * (groups * -(-panel_count(out_channels) // PANELS_PER_ITEM))


def conv_scratch(element: int) -> Callable[[Any, Collection[str]], int]:
    """Bytes of tap pointers, and of a pixel of padding, of elements of this many bytes, with any instruction set."""
    return lambda arguments, _: tap_pointers(arguments.window) + lines(arguments.in_channels * element + LANES)


def padded_panels(weights: np.ndarray, inputs: int, dtype: type) -> np.ndarray:
    """[group][out channel][tap][in channel] -> [group][panel][16][tap][inputs], zero padded."""
    groups, outputs, window, channels = weights.shape
    if outputs % LANES == 0 and channels == inputs and weights.dtype == dtype:
        return weights.reshape(groups, -1, LANES, window, inputs)
    padded: np.ndarray = np.zeros((groups, round_up(outputs, LANES), window, inputs), dtype)
    padded[:, :outputs, :, :channels] = weights
    return padded.reshape(groups, -1, LANES, window, inputs)


def by_output(arguments: Any, plain: np.ndarray) -> np.ndarray:
    """Weights as lowering writes them: [group][out channel][tap][in channel]."""
    return plain.reshape(arguments.groups, arguments.out_channels, taps(arguments.window), arguments.in_channels)


def pack_by_panels(arguments: Any, plain: np.ndarray, _: int) -> np.ndarray:
    """[group][out channel] -> [group][panels * 16], also of several such arrays behind one another."""
    return pack_panels(plain.reshape(-1, arguments.out_channels))


def pack_panels(values: np.ndarray) -> np.ndarray:
    """[group][out channel] -> [group][panels * 16], zero padded; for biases and scales."""
    groups, outputs = values.shape
    padded = np.zeros((groups, round_up(outputs, LANES)), values.dtype)
    padded[:, :outputs] = values
    return padded.reshape(-1)
