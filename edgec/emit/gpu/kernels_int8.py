"""The int8 template kernels as compute shaders: the bytes of docs/int8.md, from the weights as the CPU kernels have them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from edgec.emit.gpu.dialect import Dialect, render_kernel
from edgec.emit.gpu.operands import address_of, spread
from edgec.emit.gpu.render import Scope, literal, render
from edgec.emit.gpu.shader import Shader, kernel_name
from edgec.ir.types import DType
from edgec.kernels import (
    CONV_INT8_FUNCTION,
    DEPTHWISE_INT8_FUNCTION,
    ConvInt8,
    ConvInt8Any,
    ConvInt8Float,
    ConvInt8Function,
    DepthwiseInt8,
    DepthwiseInt8Function,
    PoolAverageInt8,
    PoolMaxInt8,
)
from edgec.kernels.gpu.geometry import geometry, is_pointwise, number, out_pixels_of, stays_inside, taps_of
from edgec.kernels.gpu.tiles import Strip, Tile, columns
from edgec.program.arguments import CHANNEL_BLOCK, LANES
from edgec.program.expr import FLOAT, Expr, var
from edgec.program.functions import ARGUMENTS, FUNCTIONS, V
from edgec.program.program import Pointer, Program, TemplateCall

T = TypeVar("T")

GROUP = 64  # invocations of a workgroup that share nothing
_BEHIND = var("behind", FLOAT)


@dataclass(frozen=True)
class Operand:
    """An 8-bit tensor of pixels. aligned: four channels from a multiple of four on are one word of memory."""

    region: str
    byte: int
    last_word: int  # of the region: the last one that holds any of the tensor's buffer
    stride: int  # bytes from one pixel to the next
    aligned: bool

    @property
    def words(self) -> int:
        """Loads for four channels."""
        return 1 if self.aligned else 2


def int8_shader(program: Program, index: int, call: TemplateCall, dialect: Dialect) -> Shader | None:
    """The shader of program.calls[index]; None when it is not a call of an int8 kernel. Sizes are static, addresses planned."""
    rule = _RULES.get(type(call.arguments))
    return rule(program, index, call, dialect) if rule is not None else None


def _conv(program: Program, index: int, call: TemplateCall, dialect: Dialect) -> Shader:
    a, tile = call.arguments, _given(call, Tile)
    assert isinstance(a, (ConvInt8, ConvInt8Float, ConvInt8Function))
    n = _numbers(a)
    g = geometry(a.window)
    pixels, lanes, parts, taps = out_pixels_of(g), n["out_channels"], n["groups"], taps_of(g)
    panels, tap_rows = -(-lanes // LANES), -(-n["in_channels"] // 4)  # rows: words that a lane's sum multiplies
    weight_rows = number(program.buffers[a.weights.buffer].size) // (parts * panels * taps * LANES * 4)
    rows = taps * tap_rows
    pixel_tiles, lane_tiles = -(-pixels // tile.pixels), -(-lanes // tile.lanes)
    groups = parts * pixel_tiles * lane_tiles
    grid, offered = spread(groups)
    x = _operand(program, a.x, g["in_pixel_stride"], parts, n["in_channels"])
    floats = isinstance(a, ConvInt8Float)
    result = {"y": address_of(program, a.y), "residual": None, "add": None} if floats else _codes(program, a, g, n)
    facts = _common(program, a, g, dialect) | result | {
        "tile": tile, "g": g, "grid": grid, "groups": groups, "surplus": offered > groups, "pixel_tiles": pixel_tiles,
        "lane_tiles": lane_tiles, "panels": panels, "taps": taps, "rows": rows, "tap_rows": tap_rows, "weight_rows": weight_rows,
        "x": x, "floats": floats, "pointwise": is_pointwise(g),
    }  # fmt: skip
    name = kernel_name(index, call.call.name)
    constants = (2 if facts["shaped"] is None else 3) * tile.lanes
    added = 0 if facts["residual"] is None else parts * pixels * -(-lanes // 4) * facts["residual"].words
    loads = groups * (tile.loads(rows, x.words) + constants) + added
    return Shader(
        index, name, render_kernel("conv_int8", dialect, name=name, **facts), (tile.invocations, 1, 1), grid,
        (tile.shared_words + constants) * 4, uses_bytes=not facts["floats"] and (not facts["y"].aligned or lanes % 4 != 0),
        uses_dot=True, loads=loads, macs=call.call.macs,
    )  # fmt: skip


def _codes(program: Program, a: Any, g: dict[str, int], n: dict[str, int]) -> dict[str, Any]:
    """Where a convolution's codes go, and what joins them."""
    parts, lanes = n["groups"], n["out_channels"]
    y, residual = _operand(program, a.y, g["out_pixel_stride"], parts, lanes), getattr(a, "residual", None)
    other = None if residual is None else _operand(program, residual, n["residual_pixel_stride"], parts, lanes)
    return {"y": y, "residual": other, "add": _sum(a) if isinstance(a, ConvInt8) else None}


def _given(call: TemplateCall, kind: type[T]) -> T:
    """What the schedule says that a workgroup or an invocation makes."""
    assert call.shading is not None and isinstance(call.shading.tile, kind), f"{call.call.name} has no {kind.__name__}"
    return call.shading.tile


def _depthwise(program: Program, index: int, call: TemplateCall, dialect: Dialect) -> Shader:
    a, strip = call.arguments, _given(call, Strip)
    assert isinstance(a, DepthwiseInt8)
    g = geometry(a.window)
    channels, width, kernel = number(a.channels), g["out_width"], g["kernel_width"]
    x, y = _operand(program, a.x, g["in_pixel_stride"]), _operand(program, a.y, g["out_pixel_stride"])
    words, strips = -(-channels // 4), -(-width // strip.pixels)
    read = columns(strip.pixels, kernel, g["stride_width"], g["dilation_width"]) if strip.unrolled else [(0, [(0, 0)])]
    weight_words = -(-channels // CHANNEL_BLOCK) * CHANNEL_BLOCK // 4
    facts = {
        "x": x, "y": y, "words": words, "strip": strip.pixels, "strips": strips, "columns": read, "unrolled": strip.unrolled,
        "weight_words": weight_words, "checked": not stays_inside(g) or width % strip.pixels != 0,
    }  # fmt: skip
    items = words * strips * g["out_height"] * g["batch"]
    constants = 12 if isinstance(a, DepthwiseInt8Function) else 8
    each = g["kernel_height"] * (kernel + x.words * (len(read) if strip.unrolled else kernel)) + constants
    return _of_items(program, index, call, dialect, items, facts, items * each)


def _any(program: Program, index: int, call: TemplateCall, dialect: Dialect) -> Shader:
    a = call.arguments
    assert isinstance(a, ConvInt8Any)
    g = geometry(a.window)
    channels = number(a.groups) * number(a.out_channels)
    items = g["batch"] * g["out_height"] * g["out_width"] * channels
    operands = {"x": _operand(program, a.x, 1), "y": _operand(program, a.y, 1), "channels": channels}
    return _of_items(program, index, call, dialect, items, operands, items * (taps_of(g) * number(a.in_channels) * 2 + 2), bytes_only=True)


def _pool(program: Program, index: int, call: TemplateCall, dialect: Dialect) -> Shader:
    a = call.arguments
    assert isinstance(a, (PoolMaxInt8, PoolAverageInt8))
    g = geometry(a.window)
    x, y = _operand(program, a.x, g["in_pixel_stride"]), _operand(program, a.y, g["out_pixel_stride"])
    words = -(-number(a.channels) // 4)
    items = words * g["batch"] * g["out_height"] * g["out_width"]
    return _of_items(program, index, call, dialect, items, {"x": x, "y": y, "words": words}, items * (taps_of(g) * x.words + 1))


def _of_items(
    program: Program, index: int, call: TemplateCall, dialect: Dialect, items: int, facts: dict[str, Any], loads: int,
    bytes_only: bool = False,
) -> Shader:  # fmt: skip
    """A kernel whose invocations make one item each."""
    a: Any = call.arguments
    g, name = geometry(a.window), kernel_name(index, call.call.name)
    grid, _ = spread(-(-items // GROUP))
    whole = _common(program, a, g, dialect) | {"geometry": g, "items": items, "grid": grid} | facts
    kernel, _, _ = a.template.partition("/")  # all its variants in C have one on the GPU
    source = render_kernel(kernel, dialect, name=name, **whole)
    uses_bytes = bytes_only or not facts["y"].aligned or number(whole["channels"]) % 4 != 0
    return Shader(index, name, source, (GROUP, 1, 1), grid, uses_bytes=uses_bytes, loads=loads, macs=call.call.macs)


def _common(program: Program, a: Any, g: dict[str, int], dialect: Dialect) -> dict[str, Any]:
    """What all kernels' templates may name: the numbers of the arguments, and where the constants lie."""
    constants = {name: address_of(program, getattr(a, name)) for name in ("weights", "bias", "scale") if hasattr(a, name)}
    numbers = _numbers(a)
    zero_word = (numbers.get("zero_x", 0) & 0xFF) * 0x01010101  # four pixels' worth of padding in a word
    return numbers | constants | {
        "activation": "signed" if dialect.signed_activations else "unsigned", "zero_word": zero_word, "padded": not stays_inside(g),
        "shaped": _shaped(a),
    }  # fmt: skip


def _shaped(a: Any) -> Callable[[int], tuple[list[tuple[str, str]], str]] | None:
    """By the number of a sum that is the float `real_<number>`: names and what they are, in order, and what is rounded to codes; as text.

    `behind_<number>` multiplies what the function gives. None where it is the sum itself.
    """
    if not isinstance(a, (ConvInt8Function, DepthwiseInt8Function)):
        return None
    given: dict[Expr, str] = {argument: literal(getattr(a, name), DType.FLOAT32) for name, argument in ARGUMENTS.items()}
    *before, (_, last) = FUNCTIONS[a.function].steps

    def of(number: int) -> tuple[list[tuple[str, str]], str]:
        ends: dict[Expr, str] = {V: f"real_{number}", _BEHIND: f"behind_{number}"}
        names = ends | {step: f"{step.name}_{number}" for step, _ in before}
        scope = Scope({}, {}, exact=True, given={**given, **names})
        return [(names[step], render(value, scope)) for step, value in before], render(last * _BEHIND, scope)

    return of


def _numbers(a: Any) -> dict[str, int]:
    """The integers among the arguments."""
    return {field.name: number(getattr(a, field.name)) for field in fields(a) if field.metadata.get("c") == "int32_t"}


def _sum(a: ConvInt8) -> dict[str, Any]:
    """The numbers of a residual sum, relative to its zero point."""
    own, other, zero = np.float32(a.add_scale), np.float32(a.residual_scale), number(a.add_zero)
    return {
        "own": _float(own), "other": _float(other), "exact": _is_exact(own, other), "other_zero": number(a.residual_zero), "zero": zero,
        "low": number(a.add_low) - zero, "high": number(a.add_high) - zero,
    }  # fmt: skip


def _is_exact(*scales: np.float32) -> bool:
    """Whether sums of 8-bit differences times these need no more than a float's 24 bits: they are small multiples of one power of two."""
    unit = min((float(np.float64(scale).as_integer_ratio()[1]) ** -1 for scale in scales if scale), default=1.0)
    return sum(abs(float(scale)) / unit for scale in scales) * 255 < 2**24


def _operand(program: Program, pointer: Pointer, stride: int, parts: int = 1, channels: int = 0) -> Operand:
    """`parts` runs of `channels` channels lie behind one another in a pixel."""
    place = address_of(program, pointer)
    aligned = place.byte % 4 == stride % 4 == 0 and (parts == 1 or channels % 4 == 0)
    return Operand(place.region, place.byte, place.last_word, stride, aligned)


def _float(value: np.float32) -> str:
    """A binary32 number, bit for bit in either language."""
    return f"float_of(0x{value.view(np.uint32):08x}u)"


Rule = Callable[[Program, int, TemplateCall, Dialect], Shader]
_RULES: dict[type, Rule] = {
    ConvInt8: _conv, ConvInt8Float: _conv, **dict.fromkeys(CONV_INT8_FUNCTION.values(), _conv),
    DepthwiseInt8: _depthwise, **dict.fromkeys(DEPTHWISE_INT8_FUNCTION.values(), _depthwise),
    ConvInt8Any: _any, PoolMaxInt8: _pool, PoolAverageInt8: _pool,
}  # fmt: skip
