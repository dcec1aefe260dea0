"""How the outputs of a product (convolution, matrix product) divide over workgroups, and where a kernel's operands lie."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache

from edgec.emit.gpu.half import NO_HALVES, Halves
from edgec.emit.gpu.memory import REGIONS, io_offsets
from edgec.emit.gpu.shader import MOST_GROUPS, MOST_SHARED_BYTES, Extent
from edgec.program.arguments import Window
from edgec.program.expr import Number, bound, expr
from edgec.program.program import Kind, Pointer, Program

LANES_EACH = 4  # output channels of an invocation: in 8 bits they make one word
ENOUGH = 4096  # invocations that keep a GPU busy; with fewer, its speed falls in proportion
STEP_OVERHEAD = 2  # what a step costs besides its rows (two barriers, the staging's latency), in rows
STAGED_WORD = 4  # what a word brought to shared memory costs, in multiply-adds of words


@dataclass(frozen=True)
class Tile:
    """The part of a product that one workgroup makes: `pixels` x `lanes` outputs, each invocation `pixels_each` x LANES_EACH.

    The sum over `rows` (words of a pixel's window) goes in steps of `depth` rows, which are staged in shared memory. With `slices` > 1 that
    many invocations share an output's rows, and their sums are added at the end.
    """

    pixels: int
    pixels_each: int
    lanes: int
    slices: int = 1
    depth: int = 0

    @property
    def pixel_groups(self) -> int:
        return self.pixels // self.pixels_each

    @property
    def lane_groups(self) -> int:
        return self.lanes // LANES_EACH

    @property
    def invocations(self) -> int:
        return self.pixel_groups * self.lane_groups * self.slices

    @property
    def pitch(self) -> int:
        """Words from one staged row of pixels to the next: neighbours in a column must not meet in one bank."""
        return self.pixels + 1

    @property
    def shared_words(self) -> int:
        sums = self.slices * self.pixels * self.lanes if self.slices > 1 else 0
        return max(self.depth * (self.pitch + self.lanes), sums)

    def steps(self, rows: int) -> int:
        return -(-rows // self.depth)

    def loads(self, rows: int, words_each: int = 1) -> int:
        """Words that a workgroup stages for all its steps, `words_each` for one of x."""
        return self.steps(rows) * self.depth * (self.pixels * words_each + self.lanes)


# The candidates: from much reuse for large outputs to many slices for a single pixel.
TILES = (
    Tile(64, 8, 64), Tile(64, 4, 32), Tile(32, 4, 64), Tile(32, 4, 32), Tile(64, 4, 16), Tile(128, 4, 8),
    Tile(16, 4, 32, 2), Tile(16, 2, 16, 4), Tile(64, 2, 4, 2), Tile(4, 1, 16, 8), Tile(1, 1, 16, 16),
)  # fmt: skip
DEPTHS = (4, 8, 16, 32, 64)


@cache
def choose_tile(pixels: int, lanes: int, rows: int, parts: int = 1) -> Tile:
    """The cheapest tile for `parts` products of `pixels` x `lanes` outputs, each a sum over `rows` rows."""
    return min(with_depths(), key=lambda tile: (cost_of_tile(tile, pixels, lanes, rows, parts), tile.shared_words))


@cache
def with_depths() -> tuple[Tile, ...]:
    """Each candidate with every depth that its invocations can stage evenly, and that fits the shared memory with two constants a lane."""
    tiles = [Tile(tile.pixels, tile.pixels_each, tile.lanes, tile.slices, depth) for tile in TILES for depth in DEPTHS]
    return tuple(
        tile
        for tile in tiles
        if tile.depth % tile.slices == tile.invocations % tile.depth == 0 and (tile.shared_words + 2 * tile.lanes) * 4 <= MOST_SHARED_BYTES
    )


def cost_of_tile(tile: Tile, pixels: int, lanes: int, rows: int, parts: int) -> float:
    """In multiply-adds of one word, over all invocations: shared loads, staging, idle outputs and idle invocations counted."""
    groups = parts * -(-pixels // tile.pixels) * -(-lanes // tile.lanes)
    outputs = tile.pixels * tile.lanes
    shared_loads = 1 / tile.pixels_each + 1 / LANES_EACH
    staged = STAGED_WORD * (tile.pixels + tile.lanes) / outputs
    each = tile.steps(rows) * (tile.depth * (1 + shared_loads + staged) + STEP_OVERHEAD * tile.slices)
    reduced = 2 * tile.slices if tile.slices > 1 else 0
    return groups * outputs * (each + reduced) * max(1.0, ENOUGH / (groups * tile.invocations))


def spread(groups: int) -> tuple[Extent, int]:
    """A grid of at least `groups` workgroups that no dimension's limit forbids, and how many it has: group_x() + group_y() * grid[0]."""
    rows = -(-groups // MOST_GROUPS)
    width = -(-groups // rows)
    return (width, rows, 1), width * rows


# Operands


@dataclass(frozen=True)
class Address:
    """Byte `byte` of a region, where an operand starts, and the region's last word that holds any of the operand's buffer."""

    region: str
    byte: int
    last_word: int

    @property
    def is_half(self) -> bool:
        """Stored in 16 bits: `byte` is then what it would be in 32."""
        return self.region.endswith("_half")

    @property
    def word(self) -> int:
        assert self.byte % 4 == 0, f"{self.region} + {self.byte} is not the address of a word"
        return self.byte // 4


def address_of(program: Program, pointer: Pointer, halves: Halves = NO_HALVES) -> Address:
    """Where a pointer of a planned Program leads to; constants have their places in the weights blob by then.

    The regions of halves have addresses as if their elements were float32.
    """
    buffer = program.buffers[pointer.buffer]
    byte, end = number(pointer.offset) * buffer.dtype.bytes, buffer.max_bytes
    while buffer.parent is not None:
        shift = number(buffer.offset or 0) * buffer.dtype.bytes
        byte, end, buffer = byte + shift, end + shift, program.buffers[buffer.parent]
    start = io_offsets(program)[buffer.name] if buffer.kind in (Kind.INPUT, Kind.OUTPUT) else buffer.address
    assert start is not None, f"{buffer.name} has no address: plan the Program first"
    suffix = "_half" if pointer.buffer in halves.tensors or pointer.buffer in halves.weights else ""
    return Address(REGIONS[buffer.kind] + suffix, start + byte, (start + max(end, 1) - 1) // 4)


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
