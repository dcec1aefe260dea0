"""What a layer is called where speed is spoken of: its kernel and its geometry, and none of its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from edgec.program.arguments import Arguments, Size, Window
from edgec.program.expr import expr
from edgec.program.text import text

# Fields of arguments that are numbers among codes, and say nothing of how a layer is computed, or that follow from a layer and a target
_LEFT_OUT = (
    "low", "high", "zero_x", "zero_y", "zero_w", "minus_zero", "sum_step", "residual_zero", "add_zero", "add_low", "add_high",
    "held_panels", "fetches",
)  # fmt: skip


def signature(arguments: Arguments) -> str:
    """Equal for layers that a variant of their kernel computes with the same instructions:

    `conv_int8: 1x8x8 every 16 to 8x8 every 32, window 3x3 stride 1x1 dilation 1x1 pad 1x1, groups 1, in_channels 16, out_channels 32`
    """
    kernel = " ".join(filter(None, [arguments.kernel, getattr(arguments, "function", "")]))
    return f"{kernel}: {', '.join(_parts(arguments))}"


def _parts(arguments: Arguments) -> Iterator[str]:
    for field in fields(arguments):
        value, c_type = getattr(arguments, field.name), str(field.metadata.get("c", ""))
        if isinstance(value, Window):
            yield _window(value)
        elif c_type == "int32_t" and field.name not in _LEFT_OUT:
            yield f"{field.name} {_text(value)}"
        elif c_type.endswith("*") and "None" in str(field.type) and value is not None:
            yield f"with {field.name}"


def _window(w: Window) -> str:
    images = f"{_text(w.batch)}x{_text(w.in_height)}x{_text(w.in_width)} every {_text(w.in_pixel_stride)}"
    results = f"{_text(w.out_height)}x{_text(w.out_width)} every {_text(w.out_pixel_stride)}"
    strides = f"stride {w.stride_height}x{w.stride_width} dilation {w.dilation_height}x{w.dilation_width}"
    return f"{images} to {results}, window {w.kernel_height}x{w.kernel_width} {strides} pad {w.pad_top}x{w.pad_left}"


def _text(size: Size) -> str:
    return text(expr(size))
