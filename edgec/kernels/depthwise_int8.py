"""Depthwise convolutions of codes, with a function before they requantize or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edgec.kernels.depthwise import CODES, depthwise_reach
from edgec.kernels.functions import with_functions
from edgec.kernels.variants import Variant
from edgec.kernels.windows import lines, row_items, tap_pointers
from edgec.program.arguments import LANES, Arguments, Window, pointer, real, size
from edgec.program.expr import Number
from edgec.program.program import Pointer


@dataclass(frozen=True)
class DepthwiseInt8(Arguments):
    """One filter per channel. weights: [tap][channels rounded up to 16] int8; bias (with the zero_x correction) and
    scale: [channels rounded up to 16]. y as in ConvInt8 without residual. Never reads or writes past a pixel's channels."""

    kernel: ClassVar[str] = "depthwise_int8"
    template: ClassVar[str] = "depthwise_int8"
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

    def reach(self) -> dict[str, Number]:
        return depthwise_reach(self, scaled=True)


@dataclass(frozen=True)
class DepthwiseInt8Function(DepthwiseInt8):
    """The same with a function before it quantizes, as in ConvInt8Function; a class for each, below."""

    function: ClassVar[str] = ""
    inverse: float = real()
    alpha: float = real()
    beta: float = real()


DEPTHWISE_INT8_FUNCTION = with_functions(DepthwiseInt8Function)


def _scratch(arguments: DepthwiseInt8) -> int:
    row = arguments.channels + LANES
    return tap_pointers(arguments.window) + lines(row) + lines(row * 4)


@dataclass(frozen=True)
class StripTile:
    """`strip` pixels of a row share the weights of a step, which takes `taps` taps of a run of channels."""

    taps: int = 2
    strip: int = 4
    runs: tuple[int, ...] = (16,)  # channels that a register can hold, the most first; of fewer, more pixels


TILES: dict[str, StripTile] = {
    "portable": StripTile(taps=1),
    "sse41": StripTile(strip=2),
    "avx2": StripTile(strip=2, runs=(32, 16)),
    "avxvnni": StripTile(taps=4, strip=2, runs=(32, 16)),
    "avx512vnni": StripTile(taps=4, runs=(64, 32, 16)),
    "neon": StripTile(),
    "dotprod": StripTile(),
    "i8mm": StripTile(),
    "neon32": StripTile(strip=2),
    "wasm128": StripTile(strip=2),
}
VARIANTS = (Variant("strips", row_items, _scratch, TILES, CODES),)
