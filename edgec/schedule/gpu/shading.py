"""Which form of a template kernel's shader computes a call, and with which tile."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from edgec.kernels import CONV_INT8_FUNCTION, DEPTHWISE_INT8_FUNCTION, ConvFloat, ConvInt8, ConvInt8Float, ConvInt8Function, DepthwiseInt8
from edgec.kernels.gpu.geometry import geometry, number, out_pixels_of, taps_of
from edgec.kernels.gpu.tiles import Strip, columns
from edgec.program.arguments import Arguments
from edgec.program.program import Shading
from edgec.schedule.gpu.matrices import choose_matrix_tile
from edgec.schedule.gpu.squares import cost_of_squares, plan_squares
from edgec.schedule.gpu.tiles import ENOUGH, choose_tile, cost_of_tile

LONGEST_STRIP = 4  # pixels of a row that one invocation of a depthwise kernel makes
MOST_COLUMNS = 16  # columns of a window that are written out


def shading(arguments: Arguments) -> Shading | None:
    """None for kernels whose shaders have one form and no tile. All sizes are static."""
    choose = _CHOICES.get(type(arguments))
    return choose(arguments) if choose is not None else None


def _conv_float(a: ConvFloat) -> Shading:
    g = geometry(a.window)
    pixels, terms = out_pixels_of(g), taps_of(g) * a.in_channels
    tile, squares = choose_tile(pixels, a.out_channels, terms, a.groups), plan_squares(g, a.in_channels, a.out_channels, a.groups)
    cost = cost_of_tile(tile, pixels, a.out_channels, terms, a.groups) if squares is None else cost_of_squares(squares)
    matrices = choose_matrix_tile(pixels, a.out_channels, terms, a.groups, cost)
    return Shading("tiles", tile, matrices) if squares is None else Shading("squares", squares, matrices)


def _conv_int8(a: ConvInt8 | ConvInt8Float | ConvInt8Function) -> Shading:
    g = geometry(a.window)
    rows = taps_of(g) * -(-number(a.in_channels) // 4)  # words that a lane's sum multiplies
    return Shading("tiles", choose_tile(out_pixels_of(g), number(a.out_channels), rows, number(a.groups)))


def _depthwise_int8(a: DepthwiseInt8) -> Shading:
    g = geometry(a.window)
    if g["kernel_width"] > MOST_COLUMNS:
        return Shading("strips", Strip(1, unrolled=False))
    return Shading("strips", Strip(_strip(-(-number(a.channels) // 4) * g["batch"] * g["out_height"], g)))


def _strip(rows: int, g: dict[str, int]) -> int:
    """Pixels of one invocation: more share more, but all invocations together must keep the GPU busy."""
    fitting = (
        pixels
        for pixels in (LONGEST_STRIP, 2)
        if rows * -(-g["out_width"] // pixels) >= ENOUGH
        and len(columns(pixels, g["kernel_width"], g["stride_width"], g["dilation_width"])) <= MOST_COLUMNS
    )
    return next(fitting, 1)


_CHOICES: Mapping[type, Callable[..., Shading]] = {
    ConvFloat: _conv_float,
    **dict.fromkeys((ConvInt8, ConvInt8Float, *CONV_INT8_FUNCTION.values()), _conv_int8),
    **dict.fromkeys((DepthwiseInt8, *DEPTHWISE_INT8_FUNCTION.values()), _depthwise_int8),
}
