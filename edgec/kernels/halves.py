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
from edgec.program.arguments import Arguments, Size

LARGEST = 65504.0
STRETCH = 64  # products that are added up one by one, before a sum of such sums takes theirs: its error grows with both their numbers
BYTES, LANES = 2, 8


def _of_halves(kind: type[Arguments]) -> type[Arguments]:
    """The same arguments, what they point to being halves. sure, of what sums products: whether no sum leaves their range on its way."""

    def member(known: Any) -> tuple[str, Any, Any]:
        c_type = known.metadata.get("c", "").replace("float *", "half *")
        return known.name, known.type, field(metadata={"c": c_type}) if "half" in c_type else field(metadata=known.metadata)

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
    return Packing(f"{floats.name}, halves", {name: _rounded(pack) for name, pack in floats.pack.items()})


# neon computes with floats what lies in memory as halves
CONV_TILES = {"neon": VectorTile(4, (8, 4, 1), (2,), 4, True), "fp16": VectorTile(8, (8, 4, 1), (2, 1), 8, True, 32, stretch=STRETCH)}
MERGED = {name: replace(tile, merged=True) for name, tile in CONV_TILES.items()}
DEPTHWISE_TILES = {"neon": PixelTile(4), "fp16": PixelTile(4)}
BLOCKS = _packing(FLOATS)
VARIANTS: dict[type[Arguments], tuple[Variant, ...]] = {
    HALF_OF[ConvFloat]: (
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
