"""Shaders of the float template kernels: convolutions and products, depthwise convolutions, pools.

edgec/kernels says what each computes. Sums are added in another order than in C: equal within 1e-5 of their terms' size.

Operands that are stored as halves (edgec/program/halves.py) are read as such and computed with in float32. Where the device has float16
arithmetic, convolutions with a tile of one slice multiply in it and add STRETCH products in it before a float32 sum takes them. Each of
these steps is off by at most 2 ** -11 of what is in the stretch by then, so a whole sum by no more than STRETCH * 2 ** -11 = 0.4 % of
its terms' size, the sum of |x * w|; rounding errors have no common sign, so that in practice it is a few hundredths of that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace

import numpy as np

from edgec.emit.gpu.dialect import Dialect, render_kernel
from edgec.emit.gpu.matrix import matrix_shader
from edgec.emit.gpu.operands import Address, address_of
from edgec.emit.gpu.shader import Shader, kernel_name
from edgec.kernels import ConvFloat, DepthwiseFloat, PoolAverageFloat, PoolMaxFloat
from edgec.kernels.gpu.geometry import geometry, is_pointwise, number, out_pixels_of, taps_of
from edgec.kernels.gpu.limits import MOST_GROUPS, Extent
from edgec.kernels.gpu.matrices import MatrixTile
from edgec.kernels.gpu.squares import SquarePlan
from edgec.kernels.gpu.tiles import LANES_EACH, Tile
from edgec.program.arguments import LANES, Window
from edgec.program.halves import NO_HALVES, STRETCH, Halves
from edgec.program.program import Pointer, Program, TemplateCall

DEPTHWISE_PIXELS = 4  # neighbouring output pixels of one invocation
INVOCATIONS = 64  # of a workgroup that shares nothing


@dataclass(frozen=True)
class _Sketch:
    """A shader without its call: the template, its numbers and its cost."""

    template: str
    numbers: Mapping[str, object]
    group: Extent
    grid: Extent
    loads: float  # words
    shared_bytes: int = 0
    half_math: bool = False


def float_shader(program: Program, index: int, call: TemplateCall, dialect: Dialect, halves: Halves = NO_HALVES) -> Shader | None:
    """The shader of program.calls[index], or None when it is no float kernel or larger than a dispatch. All sizes are static.

    Its `loads` are those of the variant that reads halves, where there is one; two halves are a word.
    """
    sketch = _SKETCHES.get(type(call.arguments))
    if sketch is None:
        return None
    addresses = _addresses(program, call.arguments, halves)
    words = {name: 0.5 if where and where.is_half else 1.0 for name, where in addresses.items()}
    found = sketch(call.arguments, words) if call.shading is None else sketch(call.arguments, words, call.shading.tile)
    if max(found.grid) > MOST_GROUPS:
        return None
    name, unscale = kernel_name(index, call.call.name), _unscale(call.arguments, halves)
    numbers = {**addresses, **found.numbers, **unscale}
    source = render_kernel(found.template, dialect, name=name, group=found.group, **numbers)
    uses_half = any(where is not None and where.is_half for where in addresses.values())
    shader = Shader(
        index, name, source, found.group, found.grid, found.shared_bytes, loads=math.ceil(found.loads), macs=call.call.macs,
        uses_half=uses_half, uses_half_math=found.half_math,
    )  # fmt: skip
    if call.shading is None or call.shading.matrices is None or dialect.name != "metal":
        return shader
    assert isinstance(call.arguments, ConvFloat) and isinstance(call.shading.matrices, MatrixTile)
    product = {**numbers, **_product(call.arguments)}
    return replace(shader, matrices=matrix_shader(shader, dialect, product, call.shading.matrices))


def _addresses(program: Program, arguments: object, halves: Halves) -> dict[str, Address | None]:
    """Where each pointer among the arguments leads to. Biases and the like are no halves, even if they share a constant with weights."""
    values = {field.name: getattr(arguments, field.name) for field in fields(arguments)}  # type: ignore[arg-type]
    found: dict[str, Address | None] = {name: None for name, value in values.items() if value is None}
    plain = replace(halves, weights={})
    for name, value in values.items():
        if isinstance(value, Pointer):
            found[name] = address_of(program, value, halves if name == "weights" else plain)
    return found


def _unscale(arguments: object, halves: Halves) -> dict[str, str]:
    """What sums of products with weights that are stored as halves are multiplied by; "" for nothing."""
    weights = getattr(arguments, "weights", None)
    if weights is None:
        return {}
    stored = halves.weights.get(weights.buffer)
    return {"unscale": "" if stored is None else literal(2.0**-stored.exponent)}


def literal(value: float) -> str:
    """A binary32 value in GLSL and MSL."""
    number = np.float32(value)
    if not np.isfinite(number) or 0 < abs(number) < np.finfo(np.float32).tiny:
        return f"float_of(0x{number.view(np.uint32):08x}u)"
    return f"{number!s}f" if number >= 0 else f"({number!s}f)"


def _limits(low: float, high: float) -> dict[str, str]:
    """The literals of a clamp; "" for none."""
    return {"low": "" if low == -np.inf else literal(low), "high": "" if high == np.inf else literal(high)}


Words = Mapping[str, float]  # operand -> words of an element


def _conv(a: ConvFloat, words: Words, tile: Tile | SquarePlan) -> _Sketch:
    return _conv_winograd(a, words, tile) if isinstance(tile, SquarePlan) else _conv_direct(a, words, tile)


def _conv_winograd(a: ConvFloat, words: Words, plan: SquarePlan) -> _Sketch:
    residual_stride, panels = number(a.residual_pixel_stride), -(-a.out_channels // LANES)
    numbers = {"g": geometry(a.window), "plan": plan, "panels": panels, "residual_stride": residual_stride, **_limits(a.low, a.high)}
    loads = plan.loads(words, a.residual is not None)
    return _Sketch("conv_winograd", numbers, (plan.tile.invocations, 1, 1), plan.grid, loads, plan.tile.shared_words * 4)


def _product(a: ConvFloat) -> dict[str, object]:
    """The numbers of a convolution as one matrix product."""
    g = geometry(a.window)
    return {
        "g": g, "groups": a.groups, "channels": a.in_channels, "outputs": a.out_channels, "panels": -(-a.out_channels // LANES),
        "pixels": out_pixels_of(g), "terms": taps_of(g) * a.in_channels, "each": LANES_EACH, "pointwise": is_pointwise(g),
        "residual_stride": number(a.residual_pixel_stride), **_limits(a.low, a.high),
    }  # fmt: skip


def _conv_direct(a: ConvFloat, words: Words, tile: Tile) -> _Sketch:
    g = geometry(a.window)
    pixels, terms = out_pixels_of(g), taps_of(g) * a.in_channels
    across, down = -(-pixels // tile.pixels), -(-a.out_channels // tile.lanes)
    half_math = words["weights"] < 1 and tile.slices == 1
    numbers = {**_product(a), "tile": tile, "half_math": half_math, "stretch": min(STRETCH, tile.depth)}
    ends = pixels * a.out_channels * (1 if a.residual is None else 1 + words["residual"])  # biases and residuals
    staged = tile.steps(terms) * tile.depth * (tile.pixels * words["x"] + tile.lanes * words["weights"])
    group = (tile.lane_groups, tile.pixel_groups, tile.slices)
    loads = a.groups * (across * down * staged + ends)
    return _Sketch("conv_float", numbers, group, (across, down, a.groups), loads, tile.shared_words * 4, half_math)


def _rows(g: Mapping[str, int], channels: int, pixels: int = 1) -> tuple[Extent, Extent]:
    """A group and a grid that give an invocation to each channel of each `pixels` pixels of each output row."""
    across = min(INVOCATIONS, max(4, 1 << (channels - 1).bit_length()))
    down = INVOCATIONS // across
    return (across, down, 1), (-(-channels // across), -(-g["out_width"] // (pixels * down)), g["batch"] * g["out_height"])


def _depthwise(a: DepthwiseFloat, words: Words) -> _Sketch:
    g = geometry(a.window)
    pixels = min(DEPTHWISE_PIXELS, g["out_width"])
    group, grid = _rows(g, a.channels, pixels)
    reach = (pixels - 1) * g["stride_width"] + (g["kernel_width"] - 1) * g["dilation_width"] + 1
    numbers = {
        "g": g, "channels": a.channels, "lanes": -(-a.channels // LANES) * LANES, "pixels": pixels, "reach": reach,
        "shares": reach <= pixels * g["kernel_width"], **_limits(a.low, a.high),
    }  # fmt: skip
    inputs = min(reach, pixels * g["kernel_width"]) * words["x"]
    reads = g["kernel_height"] * (inputs + g["kernel_width"] * words["weights"]) + pixels
    loads = g["batch"] * g["out_height"] * -(-g["out_width"] // pixels) * a.channels * reads
    return _Sketch("depthwise_float", numbers, group, grid, loads)


def _pool(template: str, words: Words, window: Window, channels: int, **more: object) -> _Sketch:
    g = geometry(window)
    group, grid = _rows(g, channels)
    loads = g["batch"] * g["out_height"] * g["out_width"] * channels * g["kernel_height"] * g["kernel_width"] * words["x"]
    return _Sketch(template, {"g": g, "channels": channels, **more}, group, grid, loads)


def _max(a: PoolMaxFloat, words: Words) -> _Sketch:
    return _pool("pool_max_float", words, a.window, a.channels)


def _average(a: PoolAverageFloat, words: Words) -> _Sketch:
    ends = {"pad_bottom": number(a.pad_bottom), "pad_right": number(a.pad_right)}
    return _pool("pool_average_float", words, a.window, a.channels, include=number(a.count_include_pad), **ends)


_SKETCHES: Mapping[type, Callable[..., _Sketch]] = {
    ConvFloat: _conv, DepthwiseFloat: _depthwise, PoolMaxFloat: _max, PoolAverageFloat: _average,
}  # fmt: skip
