"""What is known before a run: constants, which values hold q on which grid, and where integer patterns end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from edgec.oracle.grid import Array, Grid, quantize
from edgec.oracle.model import Model, Node

_BY_CODE = {code: np.dtype(kind) for code, kind in ((0, np.uint8), (2, np.uint8), (3, np.int8), (4, np.uint16), (5, np.int16))}
Run = Callable[..., Sequence[Array]]
Limits = tuple[np.float32 | None, np.float32 | None]


@dataclass(frozen=True)
class Step:
    """run(*inputs) -> outputs. `raw`: a quantized input arrives as its q, else dequantized. Absent inputs arrive as None.

    turns: of a loop, which disturbs each step of its turns by itself.
    """

    node: Node
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    run: Run
    raw: bool = False
    exact: bool = True
    grids: tuple[Grid | None, ...] = ()  # of the outputs that hold q standing for a float value
    turns: Callable[..., Sequence[Array]] | None = None


@dataclass(frozen=True)
class Weights:
    """A constant behind DequantizeLinear: one scale and zero point, or one each along `axis`."""

    q: Array
    scale: Array
    zero: Array
    axis: int

    @property
    def per_tensor(self) -> bool:
        return self.scale.size == 1

    def dequantized(self) -> Array:
        """Clause 3, in binary32."""
        shape = [-1 if d == self.axis % self.q.ndim else 1 for d in range(self.q.ndim)] if self.q.ndim else []
        scale, zero = (v.reshape(shape if v.size > 1 else ()) for v in (self.scale, self.zero))
        return (self.q.astype(np.int64) - zero.astype(np.int64)).astype(np.float32) * scale.astype(np.float32)

    def along(self, axis: int) -> tuple[Array, Array] | None:
        """(scale, q - zero in int32) with one scale per index of `axis`; None when the scales lie along another axis."""
        extent = self.q.shape[axis]
        if not self.per_tensor and (self.axis % self.q.ndim != axis % self.q.ndim or self.scale.size != extent):
            return None
        shape = [-1 if d == axis % self.q.ndim else 1 for d in range(self.q.ndim)]
        zero = self.zero.astype(np.int32).reshape(shape if self.zero.size > 1 else [1] * self.q.ndim)
        return np.broadcast_to(self.scale.ravel(), (extent,)), self.q.astype(np.int32) - zero


@dataclass(frozen=True)
class Ending:
    """Where a pattern's result goes: the QuantizeLinear's output and grid, the activation's bounds, the nodes it swallows."""

    output: str
    grid: Grid
    low: int
    high: int
    swallowed: tuple[Node, ...]


def narrow(grid: Grid | None) -> Grid | None:
    return grid if grid is not None and not grid.is_wide else None


@dataclass
class Context:
    model: Model
    constants: dict[str, Array]
    grids: dict[str, Grid] = field(default_factory=dict)  # values that hold q
    weights: dict[str, Weights] = field(default_factory=dict)
    dtypes: dict[str, np.dtype[Any]] = field(default_factory=dict)  # of q tensors
    shaped: set[str] = field(default_factory=set)  # the floats of products of which a function of clause 4 is taken
    behind: dict[str, Array] = field(default_factory=dict)  # what these functions' results are multiplied by, where that is a Mul as well

    def constant(self, name: str) -> Array | None:
        """The array of a constant that stands for itself (not for a dequantized one)."""
        return self.constants.get(name) if name not in self.grids else None

    def scalar(self, name: str) -> np.float32 | None:
        value = self.constant(name)
        return np.float32(value.item()) if value is not None and value.size == 1 and value.dtype == np.float32 else None

    def grid(self, name: str) -> Grid | None:
        """Of a value that holds q of 8 bits."""
        return narrow(self.grids.get(name))

    def rank(self, name: str) -> int | None:
        """How many axes a value has, None when shape inference does not say."""
        found = self.model.types.get(name)
        return found.rank if found else None

    def parameters(self, node: Node) -> Grid | None:
        """The grid of a QuantizeLinear or DequantizeLinear: constant scalars, 8 bits; else None."""
        return narrow(self.any_parameters(node))

    def any_parameters(self, node: Node) -> Grid | None:
        """The same, of 8 or 16 bits."""
        scale, zero = self.constant(node.input(1)), self.constant(node.input(2))
        if scale is None or scale.size != 1 or scale.dtype != np.float32 or (node.input(2) and zero is None) or node.get("block_size", 0):
            return None
        if zero is not None:
            dtype = zero.dtype
        elif node.op == "QuantizeLinear":
            dtype = _BY_CODE.get(node.get("output_dtype", 0), np.dtype(np.void))
        else:
            dtype = self.dtypes.get(node.input(0), np.dtype(np.void))
        if dtype not in _BY_CODE.values():
            return None
        return Grid(np.float32(scale.item()), 0 if zero is None else int(zero.item()), dtype)

    def ending(self, value: str, *, activation: bool = True) -> Ending | None:
        """The QuantizeLinear to 8 bits that alone reads `value`, through at most one Relu or Clip with constant bounds."""
        found = self.any_ending(value, activation=activation)
        return found if found is not None and not found.grid.is_wide else None

    def any_ending(self, value: str, *, activation: bool = True) -> Ending | None:
        """The same, to 8 or 16 bits."""
        reader = self.model.only_reader(value)
        limits: Limits = (None, None)
        swallowed: tuple[Node, ...] = ()
        if reader is not None and activation and reader.op in ("Relu", "Clip") and reader.inputs[0] == value:
            found = self._limits(reader)
            if found is None:
                return None
            limits, swallowed = found, (reader,)
            reader = self.model.only_reader(reader.outputs[0])
        if reader is None or reader.op != "QuantizeLinear" or reader.inputs[0] != (swallowed[0].outputs[0] if swallowed else value):
            return None
        grid = self.any_parameters(reader)
        if grid is None:
            return None
        low, high = (None if v is None else int(quantize(np.asarray(v), grid)) for v in limits)
        return Ending(reader.outputs[0], grid, grid.low if low is None else low, grid.high if high is None else high, (*swallowed, reader))

    def _limits(self, node: Node) -> Limits | None:
        if node.op == "Relu":
            return np.float32(0), None
        bounds = []
        for index in (1, 2):
            bound = self.scalar(node.input(index))
            if bound is None and node.input(index):
                return None
            bounds.append(bound)
        return bounds[0], bounds[1]
