"""What kernels share that multiply pairs of computed matrices: outer * inner of them, at any strides, the second packed while running."""

from __future__ import annotations

from dataclasses import dataclass

from edgec.kernels.windows import strided
from edgec.program.arguments import Arguments, Size, pointer, size
from edgec.program.expr import Expr, Number
from edgec.program.program import Pointer


@dataclass(frozen=True)
class PackedMatrices(Arguments):
    """Matrices [in_channels, out_channels] of any strides, to be packed."""

    x: Pointer = pointer("const void")
    y: Pointer = pointer("void")
    outer: Size = size()
    inner: Size = size()
    outer_stride: Size = size()
    inner_stride: Size = size()
    k_stride: Size = size()
    n_stride: Size = size()
    in_channels: Size = size()
    out_channels: Size = size()

    def read(self) -> Expr:
        """How far x is read."""
        axes = [(self.outer, self.outer_stride), (self.inner, self.inner_stride), (self.in_channels, self.k_stride)]
        return strided([*axes, (self.out_channels, self.n_stride)], 1)


@dataclass(frozen=True)
class MatrixPairs(Arguments):
    """y [rows, out_channels] = x [rows, in_channels] times packed weights, for every pair; a matrix whose strides are 0 serves all."""

    x: Pointer = pointer("const void")
    weights: Pointer = pointer("const void")
    y: Pointer = pointer("void")
    outer: Size = size()
    inner: Size = size()
    rows: Size = size()
    x_outer_stride: Size = size()
    x_inner_stride: Size = size()
    x_row_stride: Size = size()
    weights_outer_stride: Size = size()
    weights_inner_stride: Size = size()
    y_outer_stride: Size = size()
    y_inner_stride: Size = size()
    y_row_stride: Size = size()
    in_channels: Size = size()
    out_channels: Size = size()

    def reach_of(self, packed: Size) -> dict[str, Number]:
        """The same of all kernels, whose packed matrices have this many elements."""
        return {
            "x": strided(rows_of(self, "x"), self.in_channels),
            "weights": strided(pairs_of(self, "weights"), packed),
            "y": strided(rows_of(self, "y"), self.out_channels),
        }


def pairs_of(arguments: Arguments, name: str) -> list[tuple[Size, Size]]:
    """Sizes and strides of the axes over the matrices of an argument."""
    sizes = vars(arguments)
    return [(sizes[axis], sizes[f"{name}_{axis}_stride"]) for axis in ("outer", "inner")]


def rows_of(arguments: Arguments, name: str) -> list[tuple[Size, Size]]:
    """The same, and of their rows."""
    sizes = vars(arguments)
    return [*pairs_of(arguments, name), (sizes["rows"], sizes[f"{name}_row_stride"])]
