"""The int8 template kernels as compute shaders: the bytes of docs/int8.md, with the weights as the CPU kernels have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from edgec.emit.gpu.dialect import Dialect, render_kernel
from edgec.emit.gpu.shader import Shader
from edgec.emit.gpu.tiles import (
    Address,
    address_of,
    choose_tile,
    geometry,
    is_pointwise,
    number,
    spread,
    stays_inside,
    word_aligned,
)
from edgec.program.kernels import LANES, ConvInt8
from edgec.program.program import Program, TemplateCall


def int8_shader(program: Program, index: int, call: TemplateCall, dialect: Dialect) -> Shader | None:
    """The shader of program.calls[index]; None when it is not a call of an int8 kernel. Sizes are static, addresses planned."""
    rule = _RULES.get(type(call.arguments))
    return rule(program, index, call, dialect) if rule is not None else None


def _conv_int8(program: Program, index: int, call: TemplateCall, dialect: Dialect) -> Shader:
    a = call.arguments
    assert isinstance(a, ConvInt8)
    g = geometry(a.window)
    pixels, lanes = g["batch"] * g["out_height"] * g["out_width"], number(a.out_channels)
    taps, in_channels, parts = g["kernel_height"] * g["kernel_width"], number(a.in_channels), number(a.groups)
    panels, tap_rows = -(-lanes // LANES), -(-in_channels // 4)
    weight_rows = number(program.buffers[a.weights.buffer].size) // (parts * panels * taps * LANES * 4)
    rows = taps * tap_rows
    tile = choose_tile(pixels, lanes, rows, parts)
    pixel_tiles, lane_tiles = -(-pixels // tile.pixels), -(-lanes // tile.lanes)
    groups = parts * pixel_tiles * lane_tiles
    grid, offered = spread(groups)
    run = _together(parts, in_channels)
    x = _operand(address_of(program, a.x), g["in_pixel_stride"], run)
    y = _operand(address_of(program, a.y), g["out_pixel_stride"], _together(parts, lanes))
    residual, add = _residual(program, a, _together(parts, lanes))
    name = f"call_{index}_conv_int8"
    source = render_kernel(
        "conv_int8", dialect, name=name, tile=tile, g=g, grid=grid, groups=groups, surplus=offered > groups, pixel_tiles=pixel_tiles,
        lane_tiles=lane_tiles, panels=panels, taps=taps, rows=rows, tap_rows=tap_rows, weight_rows=weight_rows, in_channels=in_channels,
        out_channels=lanes, pointwise=is_pointwise(g), padded=not stays_inside(g), x=x, y=y, residual=residual, add=add,
        weights=address_of(program, a.weights), bias=address_of(program, a.bias), scale=address_of(program, a.scale),
        zero_word=_four_times(number(a.zero_x)), activation="signed" if dialect.signed_activations else "unsigned", **_bounds(a),
    )  # fmt: skip
    stored = parts * pixels * (-(-lanes // 4)) * (0 if residual is None else residual["words"])
    constants = groups * tile.pixel_groups * tile.lane_groups * 8
    loads = groups * tile.loads(rows, x["words"]) + constants + stored
    return Shader(
        index, name, source, (tile.invocations, 1, 1), grid, tile.shared_words * 4, uses_bytes=not y["aligned"] or lanes % 4 != 0,
        uses_dot=True, loads=loads, macs=call.call.macs,
    )  # fmt: skip


def _residual(program: Program, a: ConvInt8, run: int) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """The operand that is added, and the numbers of the sum."""
    if a.residual is None:
        return None, {}
    stride = number(a.residual_pixel_stride)
    operand = _operand(address_of(program, a.residual), stride, run) | {"stride": stride}
    zero = number(a.add_zero)
    return operand, {
        "own": _float(a.add_scale), "other": _float(a.residual_scale), "other_zero": number(a.residual_zero), "zero": zero,
        "low": number(a.add_low) - zero, "high": number(a.add_high) - zero,
    }  # fmt: skip


def _operand(address: Address, stride: int, run: int) -> dict[str, Any]:
    """An 8-bit tensor of pixels, whose channels are read or written four at a time in runs of `run`; words: loads for four."""
    aligned = word_aligned(address.byte, stride, run)
    return {
        "region": address.region,
        "byte": address.byte,
        "last_word": address.last_word,
        "aligned": aligned,
        "words": 1 if aligned else 2,
    }


def _together(parts: int, channels: int) -> int:
    """Bytes between the channels of one group and those of the next; with one group there is no next."""
    return channels if parts > 1 else 0


def _bounds(a: Any) -> Mapping[str, int]:
    return {name: number(getattr(a, name)) for name in ("zero_y", "low", "high")}


def _four_times(code: int) -> int:
    """A word of four equal bytes."""
    return (code & 0xFF) * 0x01010101


def _float(value: float) -> str:
    """A binary32 number, bit for bit in either language."""
    return f"float_of(0x{np.float32(value).view(np.uint32):08x}u)"


Rule = Callable[[Program, int, TemplateCall, Dialect], Shader]
_RULES: dict[type, Rule] = {ConvInt8: _conv_int8}
