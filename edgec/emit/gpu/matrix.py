"""Convolutions and products by the matrices of Apple's simdgroups: 32 threads that multiply 8 x 8 numbers together (Apple7 and later).

The weights are the ordinary kernel's, at the same addresses, and that one runs where a device lacks the matrices. Sums are float32, in
another order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from edgec.emit.gpu.dialect import Dialect, render_kernel
from edgec.emit.gpu.shader import Shader
from edgec.kernels.gpu.matrices import MatrixTile


def matrix_shader(plain: Shader, dialect: Dialect, numbers: Mapping[str, Any], tile: MatrixTile) -> Shader:
    """What the shader `plain` does, by matrices. `numbers` are those of a convolution as one matrix product."""
    pixels, lanes, terms, parts = (int(numbers[name]) for name in ("pixels", "outputs", "terms", "groups"))
    grid = tile.grid(pixels, lanes, parts)
    halves = bool(numbers["weights"].is_half)  # then matrices of halves are multiplied; the sums stay float32
    shared = [("half" if halves else "float", "staged", tile.staged if halves else max(tile.staged, tile.finished))]
    shared += [("float", "finished", tile.finished)] if halves else []
    bytes_shared = sum(count * (2 if kind == "half" else 4) for kind, _, count in shared)
    name, group = f"{plain.name}_matrices", (tile.invocations, 1, 1)
    changed = {"name": name, "group": group, "tile": tile, "shared": shared, "finished": shared[-1][1], "halves": halves}
    source = render_kernel("conv_matrix", dialect, **{**numbers, **changed})
    words = {operand: 0.5 if numbers[operand] is not None and numbers[operand].is_half else 1.0 for operand in ("x", "weights", "residual")}
    staged = tile.steps(terms) * tile.depth * (tile.pixels * words["x"] + tile.lanes * words["weights"])
    ends = pixels * lanes * (1 if numbers["residual"] is None else 1 + words["residual"])
    loads = math.ceil(parts * (grid[0] * grid[1] * staged + ends))
    return Shader(plain.call, name, source, group, grid, bytes_shared, loads=loads, macs=plain.macs)
