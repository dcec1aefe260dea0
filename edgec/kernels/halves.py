"""Float kernels whose tensors and weights are halves (binary16): the templates of floats, in the words of halves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, fields, make_dataclass, replace
from typing import Any

import numpy as np

from edgec.kernels.conv_float import PACKING, ConvFloat, admits_merged, merged_scratch
from edgec.kernels.convolution import conv_scratch, even_items
from edgec.kernels.depthwise import FLOATS
from edgec.kernels.depthwise_float import WINDOWS, DepthwiseFloat, PixelTile, patches
from edgec.kernels.pool_average import PoolAverageFloat
from edgec.kernels.pool_max import PoolMaxFloat
from edgec.kernels.variants import Pack, Packing, Variant
from edgec.kernels.vectors import VectorTile
from edgec.kernels.windows import row_items, taps
from edgec.kernels.winograd_float import Form, WinogradTile
from edgec.program.arguments import Arguments, Size

LARGEST = 65504.0
STRETCH = 64  # products that are added up one by one, before a sum of such sums takes theirs: its error grows with both their numbers
BYTES, LANES = 2, 8
# The exam allows six times what rounding a layer's inputs, weights and results once makes of them; a layer may take as much
MOST_ROUNDINGS = 6 * 3**0.5


def _of_halves(kind: type[Arguments]) -> type[Arguments]:
    """The same arguments, what they point to being halves. sure, of what sums products: whether no sum leaves their range on its way."""

    def member(known: Any) -> tuple[str, Any, Any]:
        c_type = known.metadata.get("c", "").replace("float *", "half *")
        metadata = {"c": c_type} if "half" in c_type else known.metadata
        return known.name, known.type, field(default=known.default, metadata=metadata)

    names = {
        "kernel": kind.kernel.replace("float", "half"),
        "template": kind.template,
        "__module__": __name__,
        "__doc__": f"{kind.__name__} of halves.",
    }
    name = kind.__name__.replace("Float", "Half")
    sums = any(known.name == "weights" for known in fields(kind))
    sure = [("sure", Size, field(default=0, metadata={"c": "int32_t"}))] if sums else []
    return make_dataclass(name, [*map(member, fields(kind)), *sure], bases=(kind,), namespace=names, frozen=True)


HALF_OF: dict[type[Arguments], type[Arguments]] = {
    kind: _of_halves(kind) for kind in (ConvFloat, DepthwiseFloat, PoolMaxFloat, PoolAverageFloat)
}


def _rounded(pack: Pack) -> Pack:
    return lambda arguments, plain, multiple: pack(arguments, plain, multiple).astype(np.float16)


def _packing(floats: Packing) -> Packing:
    return Packing(f"{floats.name}, halves", {name: _rounded(pack) for name, pack in floats.pack.items()}, reach=floats.reach)


# neon computes with floats what lies in memory as halves
CONV_TILES = {"neon": VectorTile(4, (8, 4, 1), (2,), 4, True), "fp16": VectorTile(8, (8, 4, 1), (2, 1), 8, True, 32, stretch=STRETCH)}
MERGED = {name: replace(tile, merged=True) for name, tile in CONV_TILES.items()}
DEPTHWISE_TILES = {"neon": PixelTile(4), "fp16": PixelTile(4)}
BLOCKS = _packing(FLOATS)
# F(4x4, 3x3) would multiply their errors by ten
SQUARES = Form(2, BYTES, 32, 80.0, 80.0)
GROWTH = 2.25  # how many times the largest weight of a channel one at a point may be
WINOGRAD_TILES = {
    "neon": WinogradTile(4, (8, 4, 1), 2, 4, block=SQUARES.block, side=SQUARES.side),
    "fp16": WinogradTile(8, (8, 4, 1), 2, 8, 32, SQUARES.block, side=SQUARES.side, stretch=STRETCH // 2),
}


def winograd_roundings(inputs: int) -> float:
    """Of so many channels: what a result of F(2x2, 3x3) is off by, in roundings of a result, each as far as one goes on average.

    The numbers of a tile at the points, and the weights there, multiply the errors of what is summed by 5 / 3 along each axis, as squares
    of random numbers add up: those of products that are added up one by one, STRETCH / 2 of more than STRETCH, of what such sums add up
    to, of the factors and of the transform of the results.
    """
    run = inputs if inputs <= STRETCH else STRETCH // 2
    return float(np.sqrt(25 / 9 * (run / 2 + inputs / run / 2 + 5)))


def _admits_squares(arguments: Any) -> bool:
    return SQUARES.admits(arguments) and winograd_roundings(arguments.in_channels) <= MOST_ROUNDINGS


WINOGRAD = Variant(
    "winograd", SQUARES.items, SQUARES.scratch, WINOGRAD_TILES, _packing(SQUARES.packing), _admits_squares, "conv_float/winograd"
)
VARIANTS: dict[type[Arguments], tuple[Variant, ...]] = {
    HALF_OF[ConvFloat]: (
        WINOGRAD,
        Variant("merged", even_items, merged_scratch(BYTES), MERGED, _packing(PACKING), admits_merged),
        Variant("panels", even_items, conv_scratch(BYTES), CONV_TILES, _packing(PACKING)),
    ),
    HALF_OF[DepthwiseFloat]: (
        *(patches(*window, tuple(DEPTHWISE_TILES), LANES, BLOCKS) for window in WINDOWS),
        Variant("rows", row_items, tiles=DEPTHWISE_TILES, packing=BLOCKS),
    ),
    HALF_OF[PoolMaxFloat]: (Variant("rows", row_items),),
    HALF_OF[PoolAverageFloat]: (Variant("rows", row_items),),
}
# of kernels that sum as halves alone: how many numbers
LONGEST: dict[type[Arguments], Callable[[Any], int]] = {DepthwiseFloat: lambda arguments: taps(arguments.window)}
# of kernels that sum products of constant weights: for how many channels
CHANNELS: dict[type[Arguments], Callable[[Any], int]] = {
    ConvFloat: lambda arguments: arguments.groups * arguments.out_channels,
    DepthwiseFloat: lambda arguments: arguments.channels,
}
