"""Arguments of the template kernels: the one description that lower/ fills, emit/ prints and the C kernels read.

Each dataclass is a C struct of the same field names. The metadata key `c` is the field's C type; `activation` stands
for the target's 8-bit activation type (uint8_t or int8_t), a size is int32_t, a real is float. All tensors are
channels-last; a "pixel" is one position (batch, y, x), and consecutive pixels lie `*_pixel_stride` elements apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from edgec.program.expr import Expr, bound, expr
from edgec.program.functions import FUNCTIONS
from edgec.program.program import Pointer

LANES = 16  # output channels of one weight panel, for every vocabulary
PIXEL_BLOCK = 56  # output pixels whose tap pointers a convolution computes at once
CHANNEL_BLOCK = 16  # channels of one weight block of a depthwise kernel


def _pointer(c_type: str) -> Any:
    return field(metadata={"c": f"{c_type} *"})


def _size() -> Any:
    return field(metadata={"c": "int32_t"})


def _real() -> Any:
    return field(metadata={"c": "float"})


Size = Expr | int


@dataclass(frozen=True)
class Window:
    """Geometry of a sliding window over channels-last images; a matrix product is a 1x1 window over rows of pixels."""

    batch: Size = _size()
    in_height: Size = _size()
    in_width: Size = _size()
    in_pixel_stride: Size = _size()  # elements from one input pixel to the next
    out_height: Size = _size()
    out_width: Size = _size()
    out_pixel_stride: Size = _size()
    kernel_height: int = _size()
    kernel_width: int = _size()
    stride_height: int = _size()
    stride_width: int = _size()
    dilation_height: int = _size()
    dilation_width: int = _size()
    pad_top: int = _size()
    pad_left: int = _size()


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
    x: Pointer = _pointer("const activation")
    weights: Pointer = _pointer("const int8_t")
    bias: Pointer = _pointer("const int32_t")
    scale: Pointer = _pointer("const float")
    y: Pointer = _pointer("activation")
    residual: Pointer | None = _pointer("const activation")
    residual_pixel_stride: Size = _size()
    groups: int = _size()
    in_channels: int = _size()  # of one group
    out_channels: int = _size()  # of one group
    zero_x: int = _size()
    zero_y: int = _size()
    low: int = _size()
    high: int = _size()
    add_scale: float = _real()
    residual_scale: float = _real()
    residual_zero: int = _size()
    add_zero: int = _size()
    add_low: int = _size()
    add_high: int = _size()


@dataclass(frozen=True)
class ConvInt8Float:
    """y = fl32(acc) * scale in float, of the sums that ConvInt8 has: its weights and bias, no residual, the same reading past a pixel."""

    window: Window
    x: Pointer = _pointer("const activation")
    weights: Pointer = _pointer("const int8_t")
    bias: Pointer = _pointer("const int32_t")
    scale: Pointer = _pointer("const float")
    y: Pointer = _pointer("float")
    groups: int = _size()
    in_channels: int = _size()  # of one group
    out_channels: int = _size()  # of one group
    zero_x: int = _size()


@dataclass(frozen=True)
class ConvInt8Function:
    """ConvInt8 without a residual, and with a function of edgec/program/functions.py before it quantizes; a class for each, below.

    y = clamp(rint(fl32(f(fl32(fl32(acc) * scale)) * inverse)), low - zero_y, high - zero_y) + zero_y.
    """

    function: ClassVar[str] = ""  # its name in FUNCTIONS
    window: Window
    x: Pointer = _pointer("const activation")
    weights: Pointer = _pointer("const int8_t")
    bias: Pointer = _pointer("const int32_t")
    scale: Pointer = _pointer("const float")
    y: Pointer = _pointer("activation")
    groups: int = _size()
    in_channels: int = _size()  # of one group
    out_channels: int = _size()  # of one group
    zero_x: int = _size()
    zero_y: int = _size()
    low: int = _size()
    high: int = _size()
    inverse: float = _real()  # 1 / the scale of y
    alpha: float = _real()
    beta: float = _real()


@dataclass(frozen=True)
class ConvInt8Any:
    """ConvInt8 for weights outside [-127, 127] or with a zero point: weights int16 [out_channel][tap][in_channel], w - z_w.

    Scalar and exact; bias: int32 [out channels], *without* the zero_x correction. No residual, no reading past a pixel.
    """

    window: Window
    x: Pointer = _pointer("const activation")
    weights: Pointer = _pointer("const int16_t")
    bias: Pointer = _pointer("const int32_t")
    scale: Pointer = _pointer("const float")
    y: Pointer = _pointer("activation")
    groups: int = _size()
    in_channels: int = _size()
    out_channels: int = _size()
    zero_x: int = _size()
    zero_y: int = _size()
    low: int = _size()
    high: int = _size()


@dataclass(frozen=True)
class DepthwiseInt8:
    """One filter per channel. weights: [tap][channels rounded up to 16] int8; bias (with the zero_x correction) and
    scale: [channels rounded up to 16]. y as in ConvInt8 without residual. Never reads or writes past a pixel's channels."""

    window: Window
    x: Pointer = _pointer("const activation")
    weights: Pointer = _pointer("const int8_t")
    bias: Pointer = _pointer("const int32_t")
    scale: Pointer = _pointer("const float")
    y: Pointer = _pointer("activation")
    channels: int = _size()
    zero_x: int = _size()
    zero_y: int = _size()
    low: int = _size()
    high: int = _size()


@dataclass(frozen=True)
class DepthwiseInt8Function(DepthwiseInt8):
    """The same with a function before it quantizes, as in ConvInt8Function; a class for each, below."""

    function: ClassVar[str] = ""
    inverse: float = _real()
    alpha: float = _real()
    beta: float = _real()


@dataclass(frozen=True)
class PackInt8:
    """Matrices of codes as the panels that ProductInt8 reads: outer * inner matrices [in_channels, out_channels] of any strides.

    y: [outer][inner][panel of 16 output channels], a panel being [ceil(in_channels, k_multiple) / 4][16][4] int8, zero padded: the
    codes w, of unsigned ones less 128; then 16 int32, sum_step + minus_zero * sum of w, where minus_zero is what the other operand's
    zero point takes away. panel_bytes: of one panel.
    """

    x: Pointer = _pointer("const activation")
    y: Pointer = _pointer("int8_t")
    outer: Size = _size()
    inner: Size = _size()
    outer_stride: Size = _size()
    inner_stride: Size = _size()
    k_stride: Size = _size()
    n_stride: Size = _size()
    in_channels: Size = _size()
    out_channels: Size = _size()
    panels: Size = _size()
    panel_bytes: Size = _size()
    sum_step: Size = _size()
    minus_zero: int = _size()


@dataclass(frozen=True)
class ProductInt8Float:
    """Products of outer * inner pairs of matrices: y = fl32(acc) * scale, acc = sum of (x - zero_x) * (w - zero_w), w packed by PackInt8.

    Strides are in elements, and in bytes for the packed operand, which repeats where they are 0; zero_x is in its sums already. Reads up
    to k_multiple - 1 bytes past a row of x.
    """

    x: Pointer = _pointer("const activation")
    weights: Pointer = _pointer("const int8_t")
    y: Pointer = _pointer("float")
    outer: Size = _size()
    inner: Size = _size()
    rows: Size = _size()
    x_outer_stride: Size = _size()
    x_inner_stride: Size = _size()
    x_row_stride: Size = _size()
    weights_outer_stride: Size = _size()
    weights_inner_stride: Size = _size()
    y_outer_stride: Size = _size()
    y_inner_stride: Size = _size()
    y_row_stride: Size = _size()
    in_channels: Size = _size()
    out_channels: Size = _size()
    panels: Size = _size()
    panel_bytes: Size = _size()
    zero_w: int = _size()
    scale: float = _real()


@dataclass(frozen=True)
class ProductInt8(ProductInt8Float):
    """The same that ends in codes: y = clamp(rint(fl32(acc) * scale), low - zero_y, high - zero_y) + zero_y."""

    y: Pointer = _pointer("activation")
    zero_y: int = _size()
    low: int = _size()
    high: int = _size()


@dataclass(frozen=True)
class SoftmaxInt8:
    """Softmax of rows: s = the sum of table[255 - (most - x)] over a row, most being its largest code; then, by one division a row,

    y = clamp(rint(fl32(table[255 - (most - x)]) * (inverse / fl32(s))), low - zero_y, high - zero_y) + zero_y. table: int32 [256].
    """

    x: Pointer = _pointer("const activation")
    table: Pointer = _pointer("const int32_t")
    y: Pointer = _pointer("activation")
    rows: Size = _size()
    columns: Size = _size()
    inverse: float = _real()
    zero_y: int = _size()
    low: int = _size()
    high: int = _size()


@dataclass(frozen=True)
class ConvInt16:
    """A convolution of 16-bit codes with 8-bit weights, w - z_w: v = fl32(fl32(bias + sum (x - zero_x) * w) * scale), the sum exact.

    y_bytes says what becomes of v: 4, v itself; 2, the code clamp(rint(v), low - zero_y, high - zero_y) + zero_y in int16; 1, the same
    as an activation. weights: [group][panel of 16 output channels][tap][ceil(in_channels / 2)][16][2] int8, zero padded. bias: whole
    numbers in float64 [group][panels * 16], already holding bias - zero_x * sum of weights. scale: float, same shape. Never reads past
    a pixel's channels.
    """

    window: Window
    x: Pointer = _pointer("const int16_t")
    weights: Pointer = _pointer("const int8_t")
    bias: Pointer = _pointer("const double")
    scale: Pointer = _pointer("const float")
    y: Pointer = _pointer("void")
    y_bytes: int = _size()
    groups: int = _size()
    in_channels: int = _size()  # of one group
    out_channels: int = _size()  # of one group
    zero_x: int = _size()
    zero_y: int = _size()
    low: int = _size()
    high: int = _size()


@dataclass(frozen=True)
class DepthwiseInt16:
    """One filter per channel of 16-bit codes. weights: [tap][channels rounded up to 16] int8; bias, without any zero_x, and scale:
    [channels rounded up to 16]. y as in ConvInt16."""

    window: Window
    x: Pointer = _pointer("const int16_t")
    weights: Pointer = _pointer("const int8_t")
    bias: Pointer = _pointer("const double")
    scale: Pointer = _pointer("const float")
    y: Pointer = _pointer("void")
    y_bytes: int = _size()
    channels: int = _size()
    zero_x: int = _size()
    zero_y: int = _size()
    low: int = _size()
    high: int = _size()


@dataclass(frozen=True)
class ConvFloat:
    """y = clamp(bias + sum x * w + residual, low, high); -inf and +inf mean no clamp.

    weights: [group][panel of 16][tap][in_channels][16] float, bias: [group][panels * 16], zero padded. Padding is 0.
    """

    window: Window
    x: Pointer = _pointer("const float")
    weights: Pointer = _pointer("const float")
    bias: Pointer = _pointer("const float")
    y: Pointer = _pointer("float")
    residual: Pointer | None = _pointer("const float")
    residual_pixel_stride: Size = _size()
    groups: int = _size()
    in_channels: int = _size()
    out_channels: int = _size()
    low: float = _real()
    high: float = _real()


@dataclass(frozen=True)
class RowsCodes8:
    """Rows times a matrix of codes, in float: y = clamp(bias + sum over groups of scale * sum x * (code + offset) + residual, low, high).

    A group is `group` inputs, the last one may have fewer. weights: [panel of 16][in_channels][16] int8. scale, and offset, whole
    numbers, absent where all are 0: [panel][groups][16]; bias: [panels * 16]. All are zero padded. The window is 1x1.
    """

    window: Window
    x: Pointer = _pointer("const float")
    weights: Pointer = _pointer("const int8_t")
    scale: Pointer = _pointer("const float")
    offset: Pointer | None = _pointer("const float")
    bias: Pointer = _pointer("const float")
    y: Pointer = _pointer("float")
    residual: Pointer | None = _pointer("const float")
    residual_pixel_stride: Size = _size()
    in_channels: int = _size()
    out_channels: int = _size()
    group: int = _size()
    low: float = _real()
    high: float = _real()


@dataclass(frozen=True)
class RowsCodes4(RowsCodes8):
    """The same with codes of four bits, from -8 to 7. weights: [panel][pairs of inputs][16] bytes, the first of a pair in the low half.

    Each group begins with a pair of its own; the high half of an odd one's last pair counts for nothing.
    """


@dataclass(frozen=True)
class DepthwiseFloat:
    """One filter per channel. weights: [tap][channels rounded up to 16] float, bias: [channels rounded up to 16]."""

    window: Window
    x: Pointer = _pointer("const float")
    weights: Pointer = _pointer("const float")
    bias: Pointer = _pointer("const float")
    y: Pointer = _pointer("float")
    channels: int = _size()
    low: float = _real()
    high: float = _real()


@dataclass(frozen=True)
class PoolMaxInt8:
    """Maximum over the window's pixels that lie inside the image, then clamp(low, high)."""

    window: Window
    x: Pointer = _pointer("const activation")
    y: Pointer = _pointer("activation")
    channels: int = _size()
    low: int = _size()
    high: int = _size()


@dataclass(frozen=True)
class PoolMaxFloat:
    window: Window
    x: Pointer = _pointer("const float")
    y: Pointer = _pointer("float")
    channels: int = _size()


@dataclass(frozen=True)
class PoolAverageInt8:
    """y = clamp(rint(fl32(sum (x - zero_x)) * scale[count]), low - zero_y, high - zero_y) + zero_y over the inside pixels.

    scale: float [kernel_height * kernel_width + 1], indexed by the number of pixels counted (all of the window's when
    count_include_pad; pixels beyond the padding never count). pad_bottom and pad_right bound the padded image.
    """

    window: Window
    x: Pointer = _pointer("const activation")
    scale: Pointer = _pointer("const float")
    y: Pointer = _pointer("activation")
    channels: int = _size()
    count_include_pad: int = _size()
    pad_bottom: int = _size()
    pad_right: int = _size()
    zero_x: int = _size()
    zero_y: int = _size()
    low: int = _size()
    high: int = _size()


@dataclass(frozen=True)
class PoolAverageFloat:
    """y = fl32(sum of the inside pixels, in (y, x) order from 0) / fl32(count), count as in PoolAverageInt8."""

    window: Window
    x: Pointer = _pointer("const float")
    y: Pointer = _pointer("float")
    channels: int = _size()
    count_include_pad: int = _size()
    pad_bottom: int = _size()
    pad_right: int = _size()


def code_rows(arguments: RowsCodes8) -> int:
    """How many times 16 bytes of codes a panel has."""
    if not isinstance(arguments, RowsCodes4):
        return arguments.in_channels
    whole, rest = divmod(arguments.in_channels, arguments.group)
    return whole * -(-arguments.group // 2) + -(-rest // 2)


def panel_depth(arguments: ProductInt8Float) -> int:
    """The inputs of a packed panel, where its size is static."""
    return (bound(expr(arguments.panel_bytes)) - 4 * LANES) // LANES


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
