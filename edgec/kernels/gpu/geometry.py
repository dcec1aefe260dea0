"""The sizes of windows, which are all static where shaders run."""

from __future__ import annotations

from dataclasses import fields

from edgec.program.arguments import Window
from edgec.program.expr import Number, bound, expr


def number(size: Number) -> int:
    """A static size."""
    return bound(expr(size))


def geometry(window: Window) -> dict[str, int]:
    """The window's sizes by name."""
    return {field.name: number(getattr(window, field.name)) for field in fields(window)}


def stays_inside(g: dict[str, int]) -> bool:
    """Whether every tap of every output pixel lies inside of the image."""
    ends = (
        ((g[f"out_{axis}"] - 1) * g[f"stride_{axis}"] - g[pad] + (g[f"kernel_{axis}"] - 1) * g[f"dilation_{axis}"], g[f"in_{axis}"])
        for axis, pad in (("height", "pad_top"), ("width", "pad_left"))
    )
    return g["pad_top"] == g["pad_left"] == 0 and all(last < size for last, size in ends)


def is_pointwise(g: dict[str, int]) -> bool:
    """Whether output pixel i reads input pixel i alone."""
    single = g["kernel_height"] == g["kernel_width"] == g["stride_height"] == g["stride_width"] == 1
    return single and (g["in_height"], g["in_width"]) == (g["out_height"], g["out_width"]) and stays_inside(g)


def taps_of(g: dict[str, int]) -> int:
    return g["kernel_height"] * g["kernel_width"]


def out_pixels_of(g: dict[str, int]) -> int:
    return g["batch"] * g["out_height"] * g["out_width"]
