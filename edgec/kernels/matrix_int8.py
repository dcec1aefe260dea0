"""Register tiles of products of 8-bit codes, by instruction set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class MatrixTile:
    """`rows` output pixels by `panels` weight panels of 16 channels.

    A panel is held in `units` registers (or register pairs) a row; a step takes `k_step` blocks of 4 input channels, for `row_step` rows
    at once.
    """

    rows: tuple[int, ...]  # tile heights, the best first, that never reach past a PIXEL_BLOCK; the last one is row_step
    panels: int
    units: int
    k_step: int = 1
    row_step: int = 1
    hold: str = "weights"  # the operand that stays in registers while the other one passes: "weights" or "pixels"


TILES: dict[str, MatrixTile] = {
    "portable": MatrixTile((4, 1), 1, 1),
    "sse41": MatrixTile((1,), 1, 8, hold="pixels"),
    "avx2": MatrixTile((2, 1), 1, 4, hold="pixels"),
    "avxvnni": MatrixTile((4, 1), 1, 2),
    "avx512vnni": MatrixTile((7, 1), 2, 1),
    "neon": MatrixTile((2, 1), 1, 4, k_step=2, hold="pixels"),
    "dotprod": MatrixTile((4, 1), 1, 4, k_step=2, hold="pixels"),
    "i8mm": MatrixTile((4, 2), 1, 4, k_step=2, row_step=2, hold="pixels"),
    "fp16": MatrixTile((2, 1), 1, 4, k_step=2, hold="pixels"),
    "neon32": MatrixTile((1,), 1, 4, k_step=2, hold="pixels"),
    "dsp": MatrixTile((2, 1), 1, 16, k_step=2, hold="pixels"),
    "helium": MatrixTile((2, 1), 1, 16, k_step=4, hold="pixels"),
    "wasm128": MatrixTile((4, 1), 1, 4),
    "relaxed7": MatrixTile((2, 1), 1, 4, hold="pixels"),
    "relaxed8": MatrixTile((2, 1), 1, 4, hold="pixels"),
}


def input_multiple(vocabularies: Iterable[str]) -> int:
    """What the inputs of packed weights are padded to a multiple of, so that each of these instruction sets takes whole steps."""
    return 4 * max(TILES[name].k_step for name in vocabularies)
