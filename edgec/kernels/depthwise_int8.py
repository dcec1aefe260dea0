"""Depthwise convolutions of codes, with a function before they requantize or not."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from edgec.kernels.depthwise import CODES, depthwise_reach
from edgec.kernels.functions import with_functions
from edgec.kernels.variants import Variant
from edgec.kernels.windows import lines, row_items, tap_pointers, taps
from edgec.program.arguments import LANES, PIXEL_BLOCK, Arguments, Window, pointer, real, size
from edgec.program.expr import Number, bound, expr
from edgec.program.program import Pointer


@dataclass(frozen=True)
class DepthwiseInt8(Arguments):
    """One filter per channel. weights: [tap][channels rounded up to 16] int8; bias (with the zero_x correction) and
    scale: [channels rounded up to 16]. y and rounding as in ConvInt8 without residual. Never reads or writes past a pixel's channels."""

    kernel: ClassVar[str] = "depthwise_int8"
    template: ClassVar[str] = "depthwise_int8/strips"
    scales: ClassVar[int] = 1  # multipliers of each channel
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
    rounding: float = real()

    def reach(self) -> dict[str, Number]:
        return depthwise_reach(self, scaled=True)


@dataclass(frozen=True)
class DepthwiseInt8Function(DepthwiseInt8):
    """The same with a function before it quantizes, as in ConvInt8Function; a class for each, below."""

    function: ClassVar[str] = ""
    scales: ClassVar[int] = 2
    apart: int = size()
    alpha: float = real()
    beta: float = real()

    def reach(self) -> dict[str, Number]:
        reach = super().reach()
        return reach | {"scale": self.apart + reach["scale"]}


DEPTHWISE_INT8_FUNCTION = with_functions(DepthwiseInt8Function)


def _scratch(arguments: DepthwiseInt8, _: Collection[str]) -> int:
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
    "neon": StripTile(taps=4),
    "dotprod": StripTile(taps=4),
    "i8mm": StripTile(taps=4),
    "neon32": StripTile(taps=4, strip=2),
    "fp16": StripTile(taps=4),
    "dsp": StripTile(taps=3, strip=1),
    "helium": StripTile(taps=1, strip=1),
    "wasm128": StripTile(strip=2),
    "relaxed7": StripTile(strip=2),
    "relaxed8": StripTile(taps=4),
}


NARROW_PIXELS = 4 * PIXEL_BLOCK  # of a row at once


@dataclass(frozen=True)
class NarrowTile(StripTile):
    """As many pixels as a run holds, `strip` times: their channels lie next to one another in lines of columns that are a stride apart."""

    pixels: ClassVar[int] = NARROW_PIXELS

    def work_bytes(self, arguments: DepthwiseInt8) -> int:
        """Offsets of taps, filters, what sums begin with and end by, results, and lines: as the kernel divides them."""
        w, run, channels = arguments.window, self.runs[0], arguments.channels
        pixels, steps = min(bound(expr(w.out_width)), self.pixels), -(-taps(w) // self.taps) * self.taps
        line = lines((pixels + (w.kernel_width - 1) * w.dilation_width // w.stride_width + 1) * channels + self.strip * run)
        results = lines(pixels * channels + self.strip * run)
        return lines(4 * steps) + lines(steps * run) + 12 * run + results + line * w.kernel_height * w.stride_width


NARROW_TILES = {name: NarrowTile(tile.taps, tile.strip, tile.runs) for name, tile in TILES.items()}


@dataclass(frozen=True)
class RowTile:
    """`width` pixels of a row, or of two, of a window of kernel x kernel taps: `taps` rows of a run of channels are interleaved into
    as many vectors, which lie `part` bytes apart in memory; a plane holds the columns that are a stride apart. `together` vectors of
    pixels share the filters that are loaded. `close`: the vectors of some taps are neighbours in memory, which pairs are loaded from,
    and where codes may be any, the ends of pixels ask for nothing. `quarters`: four channels pass after the others, whose filters then
    stay in registers."""

    template: ClassVar[str] = "depthwise_int8/rows.j2"
    kernel: int
    stride: int
    taps: int
    runs: tuple[int, ...]
    width: int = 28
    together: int = 1
    close: bool = False
    quarters: bool = False

    @property
    def widths(self) -> tuple[int, ...]:
        """Of `quarters`: vectors of pixels whose sums are rounded at once, the most first; filters of four channels need registers, too."""
        return (4, 2, 1) if self.kernel == 3 else (2, 1)

    def column(self, run: int, vector: int, column: int) -> int:
        """Where what is under a vector of pixels and this column of the window lies, from what the first one begins with."""
        near = self.taps if self.close else 1
        return vector * self.pixel + column % self.stride * self.plane + column // self.stride * run * near

    @property
    def pixel(self) -> int:
        """Bytes from a vector of pixels to the next one."""
        return self.runs[0] * (self.taps if self.close else 1)

    @property
    def heights(self) -> int:
        """Output rows at once: two where they share most of the rows under them."""
        return 2 if self.stride == 1 else 1

    @property
    def sums(self) -> int:
        """Vectors of pixels that are summed at once."""
        return (self.widths[0] if self.quarters else self.together) * self.heights

    @property
    def steps(self) -> int:
        """How often so many rows are all that lie under the output rows."""
        return -(-(self.kernel + self.heights - 1) // self.taps)

    @property
    def plane(self) -> int:
        """Bytes of a vector's columns: those under the pixels, and as many more as a vector may have."""
        return (self.width + self.kernel + 2) * self.pixel

    @property
    def part(self) -> int:
        return self.runs[0] if self.close else self.stride * self.plane

    @property
    def step(self) -> int:
        return self.stride * self.plane * (1 if self.close else self.taps)

    @property
    def work_bytes(self) -> int:
        """Bias, scales and filters in four vectors each, by row and tap; what sums begin with and end by; two runs; what is interleaved."""
        starts = 2 * self.sums if self.quarters else 0
        return 4 * self.runs[0] * (2 + starts + self.heights * self.steps * self.kernel) + 2 * self.runs[0] + self.steps * self.step


@dataclass(frozen=True)
class DirectTile:
    """A pixel of a window of kernel x kernel taps, whose filters all stay in registers: nothing is interleaved. `lifted`: sums may be
    floats from the beginning, whose ends take fewer instructions, for whose results the next ones wait longer."""

    template: ClassVar[str] = "depthwise_int8/direct.j2"
    kernel: int
    stride: int
    lifted: bool = False
    work_bytes: ClassVar[int] = LANES  # what lies outside of the image


@dataclass(frozen=True)
class ColumnsTile:
    """A run of channels of a row of pixels of a 3x3 window, or of more rows where it is shorter than the first of `runs`: `taps` rows under
    a column are interleaved once, and taken by the sums of all pixels that it is under. `floats`: where codes begin with 0, sums may be
    in the bits of floats, whose ends take less."""

    template: ClassVar[str] = "depthwise_int8/columns.j2"
    stride: int
    taps: int
    runs: tuple[int, ...]
    floats: bool = False

    @property
    def work_bytes(self) -> int:
        """What lies outside of the image, and where no pixel is stored."""
        return 2 * self.runs[0]


Tile = RowTile | DirectTile | ColumnsTile
Shape = tuple[int, tuple[int, ...]]  # taps, and runs
_X86: dict[str, Shape] = {"sse41": (2, (16,)), "avx2": (2, (32, 16)), "avxvnni": (4, (32, 16)), "avx512vnni": (4, (64, 32, 16))}
_ALWAYS: dict[str, Shape] = dict.fromkeys(("neon", "dotprod", "i8mm", "neon32", "relaxed8"), (4, (16,)))
_PAIRING = ("neon", "neon32")  # sum two products, no four: interleaving gains them nothing
_LIFTED = ("neon",)
_KEPT = (("avx2", 1),)  # has too few registers for the sums of three pixels of a row: what is interleaved is kept for two rows
_FLOATING = ("avx512vnni",)
_QUARTERS = ("dotprod", "i8mm")
_NEON = (*_PAIRING, *_QUARTERS)
_TOGETHER = {"avx512vnni": 2, "dotprod": 2, "i8mm": 2}  # where 32 registers hold the sums of two vectors of two rows


def _words(tile: Tile) -> tuple[str, ...]:
    if isinstance(tile, RowTile):
        return ("int8_kept_four.h" if tile.taps == 4 else "int8_kept_two.h",)
    if isinstance(tile, DirectTile):
        return ("int8_direct_neon.h",)
    return ("int8_floating_avx512.h",) if isinstance(tile, ColumnsTile) and tile.floats else ()


def _work_bytes(tile: Tile, scales: int) -> int:
    """Of a kernel with so many multipliers of each channel."""
    return tile.work_bytes + (4 * tile.runs[0] * (scales - 1) if isinstance(tile, RowTile) else 0)


def _rows(kernel: int, stride: int) -> Variant:
    """For square windows of this size without dilation, over as many channels as a register needs."""
    shapes = _ALWAYS | (_X86 if stride == 1 else {})
    tiles: dict[str, Tile] = {
        name: RowTile(
            kernel,
            stride,
            *shape,
            width=56 if name in _QUARTERS else 28,
            together=_TOGETHER.get(name, 1),
            close=name in _NEON,
            quarters=name in _QUARTERS,
        )
        for name, shape in shapes.items()
    }
    if kernel == 3:
        tiles |= {name: DirectTile(kernel, stride) for name in _PAIRING}
        tiles |= {
            name: ColumnsTile(stride, *shape, floats=name in _FLOATING) for name, shape in _X86.items() if (name, stride) not in _KEPT
        }
    shape = (kernel, kernel, stride, stride, 1, 1)

    def admits(arguments: DepthwiseInt8) -> bool:
        w = arguments.window
        own = (w.kernel_height, w.kernel_width, w.stride_height, w.stride_width, w.dilation_height, w.dilation_width)
        return own == shape and arguments.channels >= LANES

    def scratch(arguments: DepthwiseInt8, vocabularies: Collection[str]) -> int:
        scales = arguments.scales
        return lines(max((_work_bytes(tiles[vocabulary], scales) for vocabulary in vocabularies if vocabulary in tiles), default=0))

    headers = {name: _words(tile) for name, tile in tiles.items()}
    reordered = {name: DirectTile(kernel, stride, lifted=True) for name in _LIFTED if kernel == 3}
    for own in reordered:
        headers[own] += ("int8_direct_lifted_neon.h",)
    name = f"rows{kernel}" if stride == 1 else f"rows{kernel}_by_{stride}"
    return Variant(name, row_items, scratch, tiles, CODES, admits, "depthwise_int8/rows", headers, reordered=reordered)


def _pairs_scratch(arguments: DepthwiseInt8, _: Collection[str]) -> int:
    """How far taps are from the first, addresses of those of two pixels, and a pixel of padding."""
    return lines(3 * taps(arguments.window) * 4 + arguments.channels)


def _narrow_scratch(arguments: DepthwiseInt8, vocabularies: Collection[str]) -> int:
    tiles = [NARROW_TILES[vocabulary] for vocabulary in vocabularies if vocabulary in NARROW_TILES]
    return max((tile.work_bytes(arguments) for tile in tiles), default=0)


_NARROW = Variant(
    "narrow", row_items, _narrow_scratch, NARROW_TILES, CODES, lambda arguments: arguments.channels < LANES, "depthwise_int8/narrow",
    dict.fromkeys(NARROW_TILES, ("window.h",)),
)  # fmt: skip
_PAIRS_OF_TAPS = Variant("pairs", row_items, _pairs_scratch, {"helium": None}, CODES, template="depthwise_int8/pairs")
_STRIPS = Variant("strips", row_items, _scratch, TILES, CODES)
VARIANTS = (_PAIRS_OF_TAPS, _rows(3, 1), _rows(3, 2), _rows(5, 1), _NARROW, _STRIPS)
