"""Deferred values: a tensor is a function from an index to a scalar expression, and sometimes also a place in memory."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgec.ir.dimensions import total
from edgec.ir.types import Dim, DType, Shape, Symbol, static
from edgec.program.expr import Const, Expr, binary, bound, const, extent, load, product, select
from edgec.program.program import Pointer, Store

Index = tuple[Expr, ...]
Extents = tuple[Expr, ...]
Order = tuple[int, ...]  # a permutation of the dimensions, outermost in memory first


@dataclass(frozen=True)
class View:
    """Element `index` of the tensor is element offset + sum(index * strides) of the buffer."""

    buffer: str
    dtype: DType
    offset: Expr
    strides: Extents

    def at(self, index: Index) -> Expr:
        return load(self.buffer, self.position(index), self.dtype)

    def position(self, index: Index) -> Expr:
        total = self.offset
        for coordinate, stride in zip(index, self.strides, strict=True):
            total = total + coordinate * stride
        return total

    @property
    def pointer(self) -> Pointer:
        return Pointer(self.buffer, self.offset)


@dataclass(frozen=True, eq=False)
class Coded:
    """The 8-bit form of a value: `value` has the target's activation type.

    scale is that of the DequantizeLinear that made the value, None for a value that is itself 8-bit.
    """

    value: Value
    zero: int
    scale: np.float32 | None


@dataclass(frozen=True, eq=False)
class Value:
    """One tensor.

    at: the expression of one element. view: its place, when it is a strided piece of a buffer. free: reading an element
    costs no arithmetic worth saving, so several readers may each evaluate it. order: the memory order in which
    it is best written. splits: by dimension, the factors whose separate loops make the indices simple.
    nodes and ops: the ONNX nodes and operators that `at` computes beyond its loads.
    """

    dtype: DType
    shape: Extents
    at: Callable[[Index], Expr]
    view: View | None = None
    free: bool = False
    order: Order | None = None
    splits: tuple[Extents, ...] | None = None
    coded: Coded | None = None
    constant: np.ndarray | None = None
    nodes: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()

    @property
    def rank(self) -> int:
        return len(self.shape)

    def by(self, *sources: Value, node: str = "", op: str = "") -> Value:
        """The same value, whose expression also computes what the deferred `sources` compute, and then `node`."""
        nodes = [name for source in sources for name in source.nodes] + [node] * bool(node)
        ops = [name for source in sources for name in source.ops] + [op] * bool(op)
        return replace(self, nodes=tuple(dict.fromkeys(nodes)), ops=tuple(ops))


def extents(shape: Shape) -> Extents:
    return tuple(extent(dim) for dim in shape)


def derived(symbol: Symbol, extent_of: Callable[[Dim], Expr], known: Container[str]) -> Expr:
    """How a symbol is computed from its operands; a sum of many from that of all but the last, if that is known."""
    op, operands = symbol.made or ("sum", (symbol,))
    if op == "sum":
        shorter = total([item for item in operands if item is not _last(operands)])
        if isinstance(shorter, Symbol) and shorter.name in known:
            operands = (shorter, _last(operands))
    if op == "rest":
        operands = (operands[0], -static(operands[1:])[0])
    first, *others = map(extent_of, operands)
    for other in others:
        first = binary({"sum": "add", "product": "mul", "least": "min", "rest": "add"}[op], first, other)
    return binary("max", first, 0) if op == "rest" else first


def _last(operands: Sequence[Dim]) -> Dim:
    return [item for item in operands if isinstance(item, Symbol)][-1]


class NotStatic(ValueError):
    """An extent that is no number here."""


def fixed(e: Expr) -> int:
    """A static extent as an integer."""
    if not isinstance(e, Const):
        raise NotStatic(f"{e} is not static")
    return int(e.value)


def is_one(e: Expr) -> bool:
    return isinstance(e, Const) and e.value == 1


def elements(shape: Sequence[Expr]) -> int:
    """Number of elements, symbols at their bounds."""
    total = 1
    for item in shape:
        total *= bound(item)
    return total


def view_of(value: Value) -> View:
    """Where a value is that was put into memory."""
    assert value.view is not None
    return value.view


def store(target: Value, index: Index, value: Expr) -> Store:
    """One element of a value in memory becomes `value`."""
    view = view_of(target)
    return Store(view.buffer, view.position(index), value)


def digits(place: Expr, sizes: Sequence[Expr | int]) -> Index:
    """The place of an element in row-major order as one on each axis; it is below their product."""
    index = [binary("floordiv", place, product(tuple(sizes[d + 1 :]))) for d in range(len(sizes))]
    return tuple(binary("mod", item, sizes[d]) if d else item for d, item in enumerate(index))


def chosen(place: Expr, items: Sequence[Expr]) -> Expr:
    """The item at a place, which is in range."""
    found = items[-1]
    for number, item in reversed(list(enumerate(items[:-1]))):
        found = select(binary("eq", place, number), item, found)
    return found


def row_major(rank: int) -> Order:
    return tuple(range(rank))


def channels_last(rank: int) -> Order:
    """Batch, spatial dimensions, channel; ranks below 3 have no spatial dimension."""
    return row_major(rank) if rank < 3 else (0, *range(2, rank), 1)


def packed_strides(shape: Extents, order: Order) -> Extents:
    """Strides by dimension of a dense tensor laid out in `order`."""
    strides: list[Expr] = [const(0)] * len(shape)
    step: Expr = const(1)
    for dim in reversed(order):
        strides[dim] = step
        step = step * shape[dim]
    return tuple(strides)


def order_of(view: View, shape: Extents) -> Order:
    """The memory order of a view; dimensions of extent 1 keep away from the inner loops."""

    def weight(dim: int) -> tuple[int, int, int]:
        if is_one(shape[dim]):
            return (0, 0, dim)
        stride = view.strides[dim]
        return (1, -(abs(int(stride.value)) if isinstance(stride, Const) else 1 << 40), dim)

    return tuple(sorted(range(len(shape)), key=weight))


def viewed(view: View, shape: Extents) -> Value:
    """A value that lies in memory."""
    return Value(view.dtype, shape, view.at, view=view, free=True, order=order_of(view, shape))


def same_strides(a: Extents, b: Extents, shape: Extents) -> bool:
    """Whether two views of one shape address alike; a dimension of extent 1 has no stride to speak of."""
    return all(is_one(size) or x == y for x, y, size in zip(a, b, shape, strict=True))
