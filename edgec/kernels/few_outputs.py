"""Float convolutions with so few outputs that vectors of them would lie mostly empty, as networks that make pictures end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from edgec.kernels.convolution import by_output, conv_scratch, pack_by_panels, panel_items, round_up
from edgec.kernels.variants import Packing, Variant
from edgec.kernels.windows import taps
from edgec.program.arguments import LANES

MOST = 4  # outputs
LEAST_PRODUCTS = 256  # of an output: fewer are not worth that lanes are joined


@dataclass(frozen=True)
class FewTile:
    """`rows` pixels by up to `outputs` outputs, each a vector of sums."""

    rows: tuple[int, ...]
    outputs: int = MOST


# Of processors with vectors of more numbers than that, or what packages for these hold too
TILES = {"sse41": FewTile((2, 1)), "avx2": FewTile((2, 1)), "avxvnni": FewTile((2, 1)), "avx512vnni": FewTile((5, 1))}


def _admits(arguments: Any) -> bool:
    products = taps(arguments.window) * arguments.in_channels
    return bool(arguments.groups == 1 and arguments.out_channels <= MOST and arguments.in_channels >= LANES and products >= LEAST_PRODUCTS)


def _pack(arguments: Any, plain: np.ndarray, _: int) -> np.ndarray:
    """[out channel][tap][in channel], inputs zero padded to whole vectors of any width."""
    rows = by_output(arguments, plain)[0]
    return np.pad(rows, ((0, 0), (0, 0), (0, -arguments.in_channels % LANES))).reshape(-1)


def _weights(arguments: Any) -> int:
    elements: int = arguments.out_channels * taps(arguments.window) * round_up(arguments.in_channels, LANES)
    return elements


PACKING = Packing("rows of inputs", {"weights": _pack, "bias": pack_by_panels}, reach={"weights": _weights})
FEW = Variant(
    "few", lambda arguments: panel_items(arguments.window, arguments.out_channels), conv_scratch(4), TILES, PACKING, _admits,
    "conv_float/few",
)  # fmt: skip
