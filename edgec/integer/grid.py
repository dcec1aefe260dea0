"""The parameters of codes: docs/int8.md, clauses 1 to 3, as QuantizeLinear and DequantizeLinear nodes state them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType
from edgec.ops.quantize import dequantized

EIGHT_BIT = (DType.INT8, DType.UINT8)
BITS = {DType.INT8: 8, DType.UINT8: 8, DType.INT16: 16, DType.UINT16: 16}
SIGNED = (DType.INT8, DType.INT16)
LARGEST_MULTIPLIER = np.float32(2.0**64)


@dataclass(frozen=True)
class Grid:
    """A code q of 0 to `most` stands for (q - zero) * scale. A code of an int8 tensor counts as 128 more, and so does its zero point; of
    an int16 tensor as 32,768 more."""

    scale: np.float32
    zero: int
    bits: int = 8

    @property
    def most(self) -> int:
        """The largest code; 0 is the least."""
        return int(2**self.bits - 1)


def stored_type(graph: Graph, node: Node) -> DType:
    """ONNX's type of the codes that a QuantizeLinear writes or a DequantizeLinear reads."""
    return graph.dtype(node.outputs[0] if node.op == "QuantizeLinear" else node.inputs[0])


def grid_of(graph: Graph, node: Node) -> Grid | None:
    """The grid of a QuantizeLinear or DequantizeLinear with constant per-tensor 8-bit parameters."""
    found = any_grid_of(graph, node)
    return found if found is not None and found.bits == 8 else None


def any_grid_of(graph: Graph, node: Node) -> Grid | None:
    """The same, of 8 or 16 bits."""
    scale, zero = graph.constant(node.inputs[1]), graph.constant(node.input(2)) if node.input(2) else None
    if scale is None or scale.size != 1 or scale.dtype != np.float32 or (node.input(2) and zero is None):
        return None
    dtype = stored_type(graph, node)
    bits = BITS.get(dtype)
    if bits is None:
        return None
    return Grid(np.float32(scale.item()), (0 if zero is None else int(zero.item())) + (2 ** (bits - 1) if dtype in SIGNED else 0), bits)


def code_of(number: float, grid: Grid) -> int:
    """Clause 2 for a constant, in binary32."""
    if np.isnan(number):
        return grid.zero
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.rint(np.float32(number) * (np.float32(1) / np.float32(grid.scale)))
    steps = np.float32(0) if np.isnan(steps) else steps
    return int(np.clip(steps, -grid.zero, grid.most - grid.zero)) + grid.zero


def stands_for(code: int, grid: Grid) -> np.float32:
    """Clause 3."""
    return np.float32(np.float32(code - grid.zero) * grid.scale)


def ratio(a: np.float32, b: np.float32) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float32(a / b)


def usable(*multipliers: np.floating) -> bool:
    return all(bool(multiplier <= LARGEST_MULTIPLIER) for multiplier in multipliers)


def known_number(graph: Graph, name: str) -> np.ndarray | None:
    """The array of a float constant, or of one that is stored as integers behind DequantizeLinear."""
    node = graph.producer(name, "DequantizeLinear")
    if node is None:
        return graph.constant(name)
    codes, scale = graph.constant(node.inputs[0]), graph.constant(node.inputs[1])
    zero = graph.constant(node.inputs[2]) if node.input(2) else None
    if codes is None or scale is None or (node.input(2) and zero is None):
        return None
    return dequantized(codes, scale, zero, node.attributes).astype(np.float32)


def is_known(graph: Graph, name: str) -> bool:
    """Whether `known_number` has an answer."""
    node = graph.producer(name, "DequantizeLinear")
    return name in graph.constants if node is None else all(not item or item in graph.constants for item in node.inputs)
