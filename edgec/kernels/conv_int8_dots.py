"""Convolutions of codes whose products one instruction sums over 16 inputs: all that lies under a window is one row of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgec.kernels.conv_int8 import PACKING as PANELS
from edgec.kernels.convolution import by_output, conv_items, lanes_of, padded_panels, round_up
from edgec.kernels.variants import Packing, Variant
from edgec.kernels.windows import lines, taps
from edgec.program.arguments import Window

STEP = 16  # inputs of an instruction


@dataclass(frozen=True)
class DotsTile:
    """Three pixels by two output channels; `gathered` windows are copied at once."""

    gathered: int = 9


TILES = {"helium": DotsTile()}


def _inputs(arguments: Any) -> int:
    """Those under a window."""
    inputs: int = taps(arguments.window) * arguments.in_channels
    return inputs


def _in_place(window: Window) -> bool:
    """Whether windows are pixels, in their order, which nobody copies."""
    one = taps(window) == window.stride_height == window.stride_width == 1 and window.pad_top == window.pad_left == 0
    return one and window.in_height == window.out_height and window.in_width == window.out_width


def _scratch(arguments: Any, vocabularies: Collection[str]) -> int:
    most = max((TILES[vocabulary].gathered for vocabulary in vocabularies if vocabulary in TILES), default=0)
    return 0 if _in_place(arguments.window) else lines(most * round_up(_inputs(arguments), STEP))


def pack_dots(weights: np.ndarray) -> np.ndarray:
    """[group][out channel][tap][in channel] -> [group][panel][inputs / 16][16 channels][16 inputs] int8, zero padded."""
    groups, outputs, window, channels = weights.shape
    rows = weights.reshape(groups, outputs, 1, window * channels)
    panels = padded_panels(rows, round_up(window * channels, STEP), np.int8)
    steps = panels.reshape(*panels.shape[:3], -1, STEP)
    return np.ascontiguousarray(steps.transpose(0, 1, 3, 2, 4)).reshape(-1)


PACKING = Packing(
    "panels of 16x16",
    {**PANELS.pack, "weights": lambda arguments, plain, _: pack_dots(by_output(arguments, plain))},
    lambda vocabularies: STEP,
    {"weights": lambda arguments: lanes_of(arguments) * round_up(_inputs(arguments), STEP)},
)


def dots(template: str) -> Variant:
    """The way to compute any of them, written in this template."""
    return Variant("dots", conv_items, _scratch, TILES, PACKING, template=template, headers={"helium": ("int8_dots_helium.h",)})
