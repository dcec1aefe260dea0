"""Convolutions and matrix products of codes with 8-bit weights, that requantize, with a function before it or not, or end in float."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from edgec.kernels.convolution import (
    by_output,
    conv_reach,
    dense_weights,
    lanes_of,
    pack_by_panels,
    padded_panels,
    round_up,
)
from edgec.kernels.functions import with_functions
from edgec.kernels.matrix_int8 import input_multiple
from edgec.kernels.variants import Packing
from edgec.kernels.windows import residual_reach
from edgec.program.arguments import Arguments, Size, Window, known, pointer, real, size
from edgec.program.expr import Number
from edgec.program.program import Pointer


class PaddedInputs(Arguments):
    """Arguments of kernels whose packed weights may have more channels than a pixel."""

    weights: Pointer

    def reads_past(self, size_of: Callable[[str], int]) -> bool:
        return size_of(self.weights.buffer) != dense_weights(self)


@dataclass(frozen=True)
class ConvInt8(PaddedInputs):
    """y = requantize(bias + sum (x - zero_x) * w), optionally + residual: implicit GEMM, any group count.

    weights: [group][panel of 16 output channels][tap][ceil(in_channels, multiple) / 4][16][4] int8, zero padded.
    bias: int32 [group][panels * 16], already holding bias - zero_x * sum of weights. scale: float, same shape; a sum
    times it is less than 2^31.
    y = clamp(rint(fl32(acc) * scale), low - zero_y, high - zero_y) + zero_y. With a residual r (same pixels, channels):
    first v = that value - zero_y, then y = clamp(rint(fl32(v * add_scale) + fl32((r - residual_zero) * residual_scale)),
    add_low - add_zero, add_high - add_zero) + add_zero. Reads up to multiple - 1 bytes past a pixel's channels.
    rounding: where it isn't 0, the sum of any acc * scale and it has rint(acc * scale) + zero_y as its last 16 bits,
    and y are all codes: there is no residual, low and high are the ends of what a code can be. No acc is 2^23 or more then,
    nor less than -2^23, and scale times that is finite.
    """

    kernel: ClassVar[str] = "conv_int8"
    template: ClassVar[str] = "conv_int8/panels"
    window: Window
    x: Pointer = pointer("const activation")
    weights: Pointer = pointer("const int8_t")
    bias: Pointer = pointer("const int32_t")
    scale: Pointer = pointer("const float")
    y: Pointer = pointer("activation")
    residual: Pointer | None = pointer("const activation")
    residual_pixel_stride: Size = size()
    groups: int = size()
    in_channels: int = size()  # of one group
    out_channels: int = size()  # of one group
    zero_x: int = size()
    zero_y: int = size()
    low: int = size()
    high: int = size()
    add_scale: float = real()
    residual_scale: float = real()
    residual_zero: int = size()
    add_zero: int = size()
    add_low: int = size()
    add_high: int = size()
    rounding: float = real()
    largest_sum: int = known()  # no sum of codes by weights is larger, whatever the codes

    def reach(self) -> dict[str, Number]:
        return conv_reach(self, dense_weights(self)) | {"scale": lanes_of(self), "residual": residual_reach(self)}


@dataclass(frozen=True)
class ConvInt8Float(PaddedInputs):
    """y = fl32(acc) * scale in float, of the sums that ConvInt8 has: its weights and bias, no residual, the same reading past a pixel."""

    kernel: ClassVar[str] = "conv_int8_float"
    template: ClassVar[str] = "conv_int8_float/panels"
    window: Window
    x: Pointer = pointer("const activation")
    weights: Pointer = pointer("const int8_t")
    bias: Pointer = pointer("const int32_t")
    scale: Pointer = pointer("const float")
    y: Pointer = pointer("float")
    groups: int = size()
    in_channels: int = size()  # of one group
    out_channels: int = size()  # of one group
    zero_x: int = size()

    def reach(self) -> dict[str, Number]:
        return conv_reach(self, dense_weights(self)) | {"scale": lanes_of(self)}


@dataclass(frozen=True)
class ConvInt8Function(PaddedInputs):
    """ConvInt8 without a residual, and with a function of edgec/program/functions.py before it quantizes; a class for each, below.

    scale: those of the sums, and `apart` floats behind each the multiplier of what f gives, in the same shape.
    y = clamp(rint(fl32(f(fl32(fl32(acc) * scale)) * multiplier)), low - zero_y, high - zero_y) + zero_y.
    """

    kernel: ClassVar[str] = "conv_int8"
    template: ClassVar[str] = "conv_int8/panels"
    function: ClassVar[str] = ""  # its name in FUNCTIONS
    window: Window
    x: Pointer = pointer("const activation")
    weights: Pointer = pointer("const int8_t")
    bias: Pointer = pointer("const int32_t")
    scale: Pointer = pointer("const float")
    y: Pointer = pointer("activation")
    groups: int = size()
    in_channels: int = size()  # of one group
    out_channels: int = size()  # of one group
    zero_x: int = size()
    zero_y: int = size()
    low: int = size()
    high: int = size()
    largest_sum: int = known()  # as in ConvInt8
    apart: int = size()
    alpha: float = real()
    beta: float = real()

    def reach(self) -> dict[str, Number]:
        return conv_reach(self, dense_weights(self)) | {"scale": self.apart + lanes_of(self)}


CONV_INT8_FUNCTION = with_functions(ConvInt8Function)


def pack_int8(weights: np.ndarray, multiple: int) -> np.ndarray:
    """[group][panel][tap][in / 4][16][4] int8, in channels padded to multiple with zeros."""
    inputs = weights.shape[3]
    padded = padded_panels(weights, round_up(inputs, multiple), np.int8)
    blocks = padded.reshape(*padded.shape[:-1], -1, 4)
    return np.ascontiguousarray(blocks.transpose(0, 1, 3, 4, 2, 5)).reshape(-1)


PACKING = Packing(
    "panels of 16x4",
    {
        "weights": lambda arguments, plain, multiple: pack_int8(by_output(arguments, plain), multiple),
        "bias": pack_by_panels,
        "scale": pack_by_panels,
    },
    input_multiple,
)
