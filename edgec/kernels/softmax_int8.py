"""Softmax of rows of codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edgec.kernels.variants import Variant
from edgec.program.arguments import Arguments, Size, pointer, real, size
from edgec.program.expr import Number, expr
from edgec.program.program import Pointer


@dataclass(frozen=True)
class SoftmaxInt8(Arguments):
    """Softmax of rows: s = the sum of table[255 - (most - x)] over a row, most being its largest code; then, by one division a row,

    y = clamp(rint(fl32(table[255 - (most - x)]) * (inverse / fl32(s))), low - zero_y, high - zero_y) + zero_y. table: int32 [256].
    """

    kernel: ClassVar[str] = "softmax_int8"
    template: ClassVar[str] = "softmax_int8/rows"
    x: Pointer = pointer("const activation")
    table: Pointer = pointer("const int32_t")
    y: Pointer = pointer("activation")
    rows: Size = size()
    columns: Size = size()
    inverse: float = real()
    zero_y: int = size()
    low: int = size()
    high: int = size()

    def reach(self) -> dict[str, Number]:
        whole = expr(self.rows) * self.columns
        return {"x": whole, "y": whole, "table": 256}


VARIANTS = (Variant("rows", lambda arguments: expr(arguments.rows)),)
