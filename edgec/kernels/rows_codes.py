"""Products of few rows with constant weights that stay codes, in float."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from edgec.kernels.convolution import pack_by_panels, panel_count, panel_items, round_up
from edgec.kernels.variants import Pack, Packing, Variant
from edgec.kernels.vectors import WIDTH
from edgec.kernels.windows import residual_reach, window_reach
from edgec.program.arguments import LANES, Arguments, Size, Window, pointer, real, size
from edgec.program.expr import Number
from edgec.program.program import Pointer


@dataclass(frozen=True)
class RowsCodes8(Arguments):
    """Rows times a matrix of codes, in float: y = clamp(bias + sum over groups of scale * sum x * (code + offset) + residual, low, high).

    A group is `group` inputs, the last one may have fewer. weights: [panel of 16][in_channels][16] int8. scale, and offset, whole
    numbers, absent where all are 0: [panel][groups][16]; bias: [panels * 16]. All are zero padded. The window is 1x1.
    """

    kernel: ClassVar[str] = "rows_codes8"
    template: ClassVar[str] = "rows_codes8/panels"
    window: Window
    x: Pointer = pointer("const float")
    weights: Pointer = pointer("const int8_t")
    scale: Pointer = pointer("const float")
    offset: Pointer | None = pointer("const float")
    bias: Pointer = pointer("const float")
    y: Pointer = pointer("float")
    residual: Pointer | None = pointer("const float")
    residual_pixel_stride: Size = size()
    in_channels: int = size()
    out_channels: int = size()
    group: int = size()
    low: float = real()
    high: float = real()

    @property
    def rows_of_codes(self) -> int:
        """How many times 16 bytes of codes a panel has."""
        return self.in_channels

    def reach(self) -> dict[str, Number]:
        panels = panel_count(self.out_channels)
        groups = panels * -(-self.in_channels // self.group) * LANES
        sizes = {"weights": panels * self.rows_of_codes * LANES, "scale": groups, "offset": groups, "bias": panels * LANES}
        return window_reach(self.window, self.in_channels, self.out_channels) | sizes | {"residual": residual_reach(self)}


@dataclass(frozen=True)
class RowsCodes4(RowsCodes8):
    """The same with codes of four bits, from -8 to 7. weights: [panel][pairs of inputs][16] bytes, the first of a pair in the low half.

    Each group begins with a pair of its own; the high half of an odd one's last pair counts for nothing.
    """

    kernel: ClassVar[str] = "rows_codes4"
    template: ClassVar[str] = "rows_codes4/panels"

    @property
    def rows_of_codes(self) -> int:
        whole, rest = divmod(self.in_channels, self.group)
        return whole * -(-self.group // 2) + -(-rest // 2)


@dataclass(frozen=True)
class RowTile:
    """`few` rows, where there are several, or one, by `spread` vectors of output channels."""

    lanes: int  # floats in a vector
    few: int

    @property
    def spread(self) -> int:
        """The vectors of a panel, at most four."""
        return min(LANES // self.lanes, 4)


TILES = {
    name: RowTile(lanes, 4 if name in ("avx2", "avxvnni", "avx512vnni", "neon", "dotprod", "i8mm", "fp16") else 2)
    for name, lanes in WIDTH.items()
}


def pack_codes8(codes: np.ndarray) -> np.ndarray:
    """[out channel][in] -> [panel][in][16] int8."""
    outputs, inputs = codes.shape
    padded = np.zeros((round_up(outputs, LANES), inputs), np.int8)
    padded[:outputs] = codes
    return np.ascontiguousarray(padded.reshape(-1, LANES, inputs).transpose(0, 2, 1)).reshape(-1)


def pack_codes4(codes: np.ndarray, group: int) -> np.ndarray:
    """[out channel][in], from -8 to 7 -> [panel][pairs of inputs][16] bytes, the first of a pair low; pairs do not span groups."""
    panels = pack_codes8(codes).reshape(-1, codes.shape[1], LANES)
    parts = []
    for start in range(0, codes.shape[1], group):
        part = panels[:, start : start + group]
        even = np.pad(part, ((0, 0), (0, part.shape[1] % 2), (0, 0))).view(np.uint8)
        parts.append(even[:, 0::2] & 15 | even[:, 1::2] << 4)
    return np.ascontiguousarray(np.concatenate(parts, 1)).view(np.int8).reshape(-1)


def pack_groups(values: np.ndarray) -> np.ndarray:
    """[out channel][group] -> [panel][group][16] float32, zero padded; for scales and offsets of codes."""
    outputs, groups = values.shape
    padded = np.zeros((round_up(outputs, LANES), groups), np.float32)
    padded[:outputs] = values
    return np.ascontiguousarray(padded.reshape(-1, LANES, groups).transpose(0, 2, 1)).reshape(-1)


def _by_output(arguments: RowsCodes8, plain: np.ndarray) -> np.ndarray:
    return plain.reshape(arguments.out_channels, -1)


def _by_groups(arguments: RowsCodes8, plain: np.ndarray, _: int) -> np.ndarray:
    return pack_groups(_by_output(arguments, plain))


def _variants(name: str, pack: Pack) -> tuple[Variant, ...]:
    packing = Packing(name, {"weights": pack, "scale": _by_groups, "offset": _by_groups, "bias": pack_by_panels})
    return (Variant("panels", lambda arguments: panel_items(arguments.window, arguments.out_channels), tiles=TILES, packing=packing),)


VARIANTS8 = _variants("panels of 16", lambda arguments, plain, _: pack_codes8(_by_output(arguments, plain)))
VARIANTS4 = _variants("panels of 16 pairs", lambda arguments, plain, _: pack_codes4(_by_output(arguments, plain), arguments.group))
