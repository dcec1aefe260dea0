"""Arguments of the template kernels: the one description that lower/ fills, emit/ prints and the C kernels read.

Each dataclass is a C struct of the same field names. The metadata key `c` is the field's C type; `activation` stands
for the target's 8-bit activation type (uint8_t or int8_t), a size is int32_t, a real is float. All tensors are
channels-last; a "pixel" is one position (batch, y, x), and consecutive pixels lie `*_pixel_stride` elements apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from edgec.program.arguments import Size, Window, pointer, real, size
from edgec.program.attention import PackInt8, ProductInt8, ProductInt8Float, SoftmaxInt8
from edgec.program.functions import FUNCTIONS
from edgec.program.program import Pointer
from edgec.program.wide import ConvInt16, DepthwiseInt16


@dataclass(frozen=True)
class ConvInt8:
    """y = requantize(bias + sum (x - zero_x) * w), optionally + residual: implicit GEMM, any group count.

    weights: [group][panel of 16 output channels][tap][ceil(in_channels, k_multiple) / 4][16][4] int8, zero padded.
    bias: int32 [group][panels * 16], already holding bias - zero_x * sum of weights. scale: float, same shape.
    y = clamp(rint(fl32(acc) * scale), low - zero_y, high - zero_y) + zero_y. With a residual r (same pixels, channels):
    first v = that value - zero_y, then y = clamp(rint(fl32(v * add_scale) + fl32((r - residual_zero) * residual_scale)),
    add_low - add_zero, add_high - add_zero) + add_zero. Reads up to k_multiple - 1 bytes past a pixel's channels.
    """

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


@dataclass(frozen=True)
class ConvInt8Float:
    """y = fl32(acc) * scale in float, of the sums that ConvInt8 has: its weights and bias, no residual, the same reading past a pixel."""

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


@dataclass(frozen=True)
class ConvInt8Function:
    """ConvInt8 without a residual, and with a function of edgec/program/functions.py before it quantizes; a class for each, below.

    y = clamp(rint(fl32(f(fl32(fl32(acc) * scale)) * inverse)), low - zero_y, high - zero_y) + zero_y.
    """

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
    inverse: float = real()  # 1 / the scale of y
    alpha: float = real()
    beta: float = real()


@dataclass(frozen=True)
class ConvInt8Any:
    """ConvInt8 for weights outside [-127, 127] or with a zero point: weights int16 [out_channel][tap][in_channel], w - z_w.

    Scalar and exact; bias: int32 [out channels], *without* the zero_x correction. No residual, no reading past a pixel.
    """

    window: Window
    x: Pointer = pointer("const activation")
    weights: Pointer = pointer("const int16_t")
    bias: Pointer = pointer("const int32_t")
    scale: Pointer = pointer("const float")
    y: Pointer = pointer("activation")
    groups: int = size()
    in_channels: int = size()
    out_channels: int = size()
    zero_x: int = size()
    zero_y: int = size()
    low: int = size()
    high: int = size()


@dataclass(frozen=True)
class DepthwiseInt8:
    """One filter per channel. weights: [tap][channels rounded up to 16] int8; bias (with the zero_x correction) and
    scale: [channels rounded up to 16]. y as in ConvInt8 without residual. Never reads or writes past a pixel's channels."""

    window: Window
    x: Pointer = pointer("const activation")
    weights: Pointer = pointer("const int8_t")
    bias: Pointer = pointer("const int32_t")
    scale: Pointer = pointer("const float")
    y: Pointer = pointer("activation")
    channels: int = size()
    zero_x: int = size()
    zero_y: int = size()
    low: int = size()
    high: int = size()


@dataclass(frozen=True)
class DepthwiseInt8Function(DepthwiseInt8):
    """The same with a function before it quantizes, as in ConvInt8Function; a class for each, below."""

    function: ClassVar[str] = ""
    inverse: float = real()
    alpha: float = real()
    beta: float = real()


@dataclass(frozen=True)
class ConvFloat:
    """y = clamp(bias + sum x * w + residual, low, high); -inf and +inf mean no clamp.

    weights: [group][panel of 16][tap][in_channels][16] float, bias: [group][panels * 16], zero padded. Padding is 0.
    """

    window: Window
    x: Pointer = pointer("const float")
    weights: Pointer = pointer("const float")
    bias: Pointer = pointer("const float")
    y: Pointer = pointer("float")
    residual: Pointer | None = pointer("const float")
    residual_pixel_stride: Size = size()
    groups: int = size()
    in_channels: int = size()
    out_channels: int = size()
    low: float = real()
    high: float = real()


@dataclass(frozen=True)
class RowsCodes8:
    """Rows times a matrix of codes, in float: y = clamp(bias + sum over groups of scale * sum x * (code + offset) + residual, low, high).

    A group is `group` inputs, the last one may have fewer. weights: [panel of 16][in_channels][16] int8. scale, and offset, whole
    numbers, absent where all are 0: [panel][groups][16]; bias: [panels * 16]. All are zero padded. The window is 1x1.
    """

    window: Window
    x: Pointer = pointer("const float")
    weights: Pointer = pointer("const int8_t")
    scale: Pointer = pointer("const float")
    offset: Pointer | None = pointer("const float")
    bias: Pointer = pointer("const float")
    y: Pointer = pointer("float")
    residual: Pointer | None = pointer("const float")
    residual_pixel_stride: Size = size()
    in_channels: int = size()
    out_channels: int = size()
    group: int = size()
    low: float = real()
    high: float = real()


@dataclass(frozen=True)
class RowsCodes4(RowsCodes8):
    """The same with codes of four bits, from -8 to 7. weights: [panel][pairs of inputs][16] bytes, the first of a pair in the low half.

    Each group begins with a pair of its own; the high half of an odd one's last pair counts for nothing.
    """


@dataclass(frozen=True)
class DepthwiseFloat:
    """One filter per channel. weights: [tap][channels rounded up to 16] float, bias: [channels rounded up to 16]."""

    window: Window
    x: Pointer = pointer("const float")
    weights: Pointer = pointer("const float")
    bias: Pointer = pointer("const float")
    y: Pointer = pointer("float")
    channels: int = size()
    low: float = real()
    high: float = real()


@dataclass(frozen=True)
class PoolMaxInt8:
    """Maximum over the window's pixels that lie inside the image, then clamp(low, high)."""

    window: Window
    x: Pointer = pointer("const activation")
    y: Pointer = pointer("activation")
    channels: int = size()
    low: int = size()
    high: int = size()


@dataclass(frozen=True)
class PoolMaxFloat:
    window: Window
    x: Pointer = pointer("const float")
    y: Pointer = pointer("float")
    channels: int = size()


@dataclass(frozen=True)
class PoolAverageInt8:
    """y = clamp(rint(fl32(sum (x - zero_x)) * scale[count]), low - zero_y, high - zero_y) + zero_y over the inside pixels.

    scale: float [kernel_height * kernel_width + 1], indexed by the number of pixels counted (all of the window's when
    count_include_pad; pixels beyond the padding never count). pad_bottom and pad_right bound the padded image.
    """

    window: Window
    x: Pointer = pointer("const activation")
    scale: Pointer = pointer("const float")
    y: Pointer = pointer("activation")
    channels: int = size()
    count_include_pad: int = size()
    pad_bottom: int = size()
    pad_right: int = size()
    zero_x: int = size()
    zero_y: int = size()
    low: int = size()
    high: int = size()


@dataclass(frozen=True)
class PoolAverageFloat:
    """y = fl32(sum of the inside pixels, in (y, x) order from 0) / fl32(count), count as in PoolAverageInt8."""

    window: Window
    x: Pointer = pointer("const float")
    y: Pointer = pointer("float")
    channels: int = size()
    count_include_pad: int = size()
    pad_bottom: int = size()
    pad_right: int = size()


def code_rows(arguments: RowsCodes8) -> int:
    """How many times 16 bytes of codes a panel has."""
    if not isinstance(arguments, RowsCodes4):
        return arguments.in_channels
    whole, rest = divmod(arguments.in_channels, arguments.group)
    return whole * -(-arguments.group // 2) + -(-rest // 2)


Kind = TypeVar("Kind")


def _with_functions(base: type[Kind]) -> dict[str, type[Kind]]:
    """A kernel for each function: only those that a package needs are in it."""
    return {op: type(f"{base.__name__}{op}", (base,), {"function": op, "__doc__": base.__doc__}) for op in FUNCTIONS}


CONV_INT8_FUNCTION = _with_functions(ConvInt8Function)
DEPTHWISE_INT8_FUNCTION = _with_functions(DepthwiseInt8Function)

TEMPLATES: dict[type, str] = {
    ConvInt8: "conv_int8",
    **{kind: f"conv_int8_{FUNCTIONS[op].name}" for op, kind in CONV_INT8_FUNCTION.items()},
    ConvInt8Float: "conv_int8_float",
    ConvInt8Any: "conv_int8_any",
    DepthwiseInt8: "depthwise_int8",
    **{kind: f"depthwise_int8_{FUNCTIONS[op].name}" for op, kind in DEPTHWISE_INT8_FUNCTION.items()},
    PackInt8: "pack_int8",
    ProductInt8: "product_int8",
    ProductInt8Float: "product_int8_float",
    SoftmaxInt8: "softmax_int8",
    ConvInt16: "conv_int16",
    DepthwiseInt16: "depthwise_int16",
    ConvFloat: "conv_float",
    RowsCodes8: "rows_codes8",
    RowsCodes4: "rows_codes4",
    DepthwiseFloat: "depthwise_float",
    PoolMaxInt8: "pool_max_int8",
    PoolMaxFloat: "pool_max_float",
    PoolAverageInt8: "pool_average_int8",
    PoolAverageFloat: "pool_average_float",
}


def template_of(kind: type) -> str:
    """The template that a kernel is written in: with a function it is that without one."""
    if issubclass(kind, ConvInt8Function):
        return TEMPLATES[ConvInt8]
    return TEMPLATES[DepthwiseInt8 if issubclass(kind, DepthwiseInt8Function) else kind]
