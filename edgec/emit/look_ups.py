"""Loops that read tables of 256 codes (unary functions of 8-bit tensors): which look-ups the kernels' vectors can do for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from edgec.ir.types import DType
from edgec.program.expr import INT, Binary, Cast, Const, Expr, Load, Select, Unary, Var, const
from edgec.program.program import For, Kind, Program, Store
from edgec.program.walk import children

BLOCK = 256  # codes that a loop looks up at once, on its stack
FEWEST = 64  # codes that are worth a call
_FIRST = {DType.UINT8: 0, DType.INT8: 128}


@dataclass(frozen=True)
class LookUp:
    """`load` = table[code], and `code` = x[origin + j], j counting the iterations of the nest from the first one.

    origin: None where only the innermost loop reads one code after the other, so that a block of them has to be brought together.
    """

    load: Load
    table: str
    code: Load
    origin: Expr | None

    @property
    def x(self) -> str:
        return self.code.buffer


@dataclass(frozen=True)
class LookUpNest:
    """A perfect nest of `loop`, `row` iterations inside each of its own, around one store.

    whole: the store's origin, when all it does is to put consecutive look-ups into consecutive elements.
    """

    loop: For
    loops: tuple[For, ...]
    row: int
    store: Store
    found: tuple[LookUp, ...]
    whole: Expr | None

    @property
    def rows(self) -> int:
        """Iterations of `loop` that fill a block."""
        return max(1, BLOCK // self.row)

    def number(self, first: Var) -> Expr:
        """Which iteration of the nest this is, counted from iteration `first` of `loop`."""
        total: Expr = const(0)
        for item in self.loops:
            assert item is self.loop or isinstance(item.extent, Const)
            total = total * item.extent + item.var if item is not self.loop else item.var - first
        return total

    def storing(self, store: Store) -> For:
        """The nest around another store."""
        body: For | Store = store
        for item in reversed(self.loops):
            body = replace(item, body=(body,))
        assert isinstance(body, For)
        return body


def code_tables(program: Program, activation: DType) -> frozenset[str]:
    """The constants that hold an entry for every code."""
    return frozenset(
        buffer.name for buffer in program.buffers.values()
        if buffer.kind is Kind.CONSTANT and buffer.dtype is activation and isinstance(buffer.size, Const) and buffer.size.value >= 256
    )  # fmt: skip


def look_ups(loop: For, tables: frozenset[str]) -> LookUpNest | None:
    """The look-ups that a nest does on consecutive elements, if there are any, and as many as are worth it."""
    loops, store = perfect(loop)
    if store is None:
        return None
    row = 1
    for inner in loops[1:]:
        row *= _fixed(inner)
    if isinstance(loop.extent, Const) and loop.extent.value * row < FEWEST:
        return None
    found = tuple(dict.fromkeys(item for load in _loads(store.value) if (item := _look_up(load, loops, tables)) is not None))
    alone = [item.load for item in found if item.origin is not None] == [store.value]
    whole = origin(store.index, loops) if alone else None
    if not found or (whole is None and row > BLOCK):
        return None
    return LookUpNest(loop, loops, row, store, found, whole)


def perfect(loop: For) -> tuple[tuple[For, ...], Store | None]:
    """The loops from `loop` inwards and the only statement in them, a store; inner extents are constants."""
    loops = [loop]
    while len(loops[-1].body) == 1:
        inner = loops[-1].body[0]
        if isinstance(inner, Store):
            return tuple(loops), inner
        if not isinstance(inner, For) or inner.start is not None or not isinstance(inner.extent, Const):
            break
        loops.append(inner)
    return tuple(loops), None


def _fixed(loop: For) -> int:
    """The extent where it is known; only an outermost loop's may not be."""
    return int(loop.extent.value) if isinstance(loop.extent, Const) else 1


def _look_up(load: Load, loops: tuple[For, ...], tables: frozenset[str]) -> LookUp | None:
    index: Expr = load.index
    first = 0
    if load.buffer not in tables:
        return None
    if isinstance(index, Binary) and index.op == "add" and isinstance(index.b, Const):
        first, index = int(index.b.value), index.a
    code = index.a if isinstance(index, Cast) and index.dtype is INT else None
    if not isinstance(code, Load) or code.dtype is not load.dtype or first != _FIRST[load.dtype]:
        return None
    first_code = origin(code.index, loops)
    return None if first_code is None and origin(code.index, loops[-1:]) is None else LookUp(load, load.buffer, code, first_code)


def _loads(item: Expr) -> Iterator[Load]:
    """Loads that every iteration does: none behind a condition."""
    if isinstance(item, Load):
        yield item
    elif not isinstance(item, Select):
        for child in children(item):
            yield from _loads(child)


def origin(index: Expr, loops: tuple[For, ...]) -> Expr | None:
    """The rest of an index that goes up by one from each iteration of the nest to the next; None for another one."""
    step = 1
    for item in reversed(loops):
        parts = split(index, item.var)
        if parts is None or parts[0] != step:
            return None
        index = parts[1]
        step *= _fixed(item)
    return index


def split(item: Expr, variable: Var) -> tuple[int, Expr] | None:
    """(factor, rest) with item = factor * variable + rest; None when it is not of that form."""
    if item == variable:
        return 1, const(0)
    if isinstance(item, Binary):
        a, b = split(item.a, variable), split(item.b, variable)
        if a is None or b is None:
            return None
        if item.op in ("add", "sub"):
            return (a[0] + b[0], a[1] + b[1]) if item.op == "add" else (a[0] - b[0], a[1] - b[1])
        if item.op == "mul" and isinstance(item.b, Const):
            return a[0] * int(item.b.value), a[1] * item.b
        return (0, item) if a[0] == b[0] == 0 else None
    return None if isinstance(item, (Load, Cast, Select, Unary)) else (0, item)
