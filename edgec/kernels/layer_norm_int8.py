"""LayerNormalization and RMSNormalization of rows of codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from edgec.kernels.variants import Pack, Packing, Variant
from edgec.program.arguments import LANES, Arguments, Size, pointer, size
from edgec.program.expr import Number, expr
from edgec.program.program import Pointer


@dataclass(frozen=True)
class LayerNormInt8(Arguments):
    """Normalization of rows: S and Q the sums of x and of x * x over a row, u = columns * x - S, V = columns * Q - S * S,

    or where it is not centered u = columns * (x - zero_x), V = columns * sum((x - zero_x)^2);
    w = max(1, 2^16 * V + epsilon), R = 2^8 / sqrt(w) to 24 bits, as clause 18 of docs/int8.md has it;
    y = clamp(rint(fl32(fl32(fl32(u * R) * scale) + offset)), low - zero_y, high - zero_y) + zero_y. epsilon: one int64. scale, offset:
    of each column, padded to a multiple of 16.
    """

    kernel: ClassVar[str] = "layer_norm_int8"
    template: ClassVar[str] = "layer_norm_int8/rows"
    x: Pointer = pointer("const activation")
    epsilon: Pointer = pointer("const int64_t")
    scale: Pointer = pointer("const float")
    offset: Pointer = pointer("const float")
    y: Pointer = pointer("activation")
    rows: Size = size()
    columns: int = size()
    centered: int = size()
    zero_x: int = size()
    zero_y: int = size()
    low: int = size()
    high: int = size()

    def reach(self) -> dict[str, Number]:
        whole, padded = expr(self.rows) * self.columns, -(-self.columns // LANES) * LANES
        return {"x": whole, "y": whole, "epsilon": 1, "scale": padded, "offset": padded}


def pad_columns(arguments: LayerNormInt8, plain: np.ndarray, multiple: int) -> np.ndarray:
    return np.pad(plain, (0, -plain.size % LANES))


_PACK: dict[str, Pack] = {"scale": pad_columns, "offset": pad_columns}
VARIANTS = (Variant("rows", lambda arguments: expr(arguments.rows), packing=Packing("whole vectors", _PACK)),)
