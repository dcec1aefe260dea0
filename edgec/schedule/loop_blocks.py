"""Loops that turn rows into columns, in blocks: of each line of memory that a cache brings, a block is read at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgec.program.expr import Const, Expr, Load, Unary, Var, const, var
from edgec.program.linear_index import linear
from edgec.program.program import AnyCall, Declare, For, LoopCall, Program, Statement, Store
from edgec.program.walk import distinct, expressions, substitute
from edgec.schedule.nests import nest_of

SIZES = range(8, 3, -1)  # columns of a block, the best first: more write to more places at once than some caches keep
SHARED = 4  # blocks that threads can share, if there are so many
MANY = 32  # rows: caches keep the lines of fewer until all their columns are read
FAR = 16  # elements between rows: nearer ones share lines


def with_blocks(program: Program) -> Program:
    """`program`, in which loops over rows that read columns read a few of these at a time; each element is computed as before."""
    return replace(program, calls=[_blocked(call) for call in program.calls])


def _blocked(call: AnyCall) -> AnyCall:
    loops, body = nest_of(call)
    if not isinstance(call, LoopCall) or len(loops) < 2 or not all(isinstance(item, Declare | Store) for item in body):
        return call
    *around, column, row = loops  # of what is read
    columns, rows = column.extent, row.extent
    if not isinstance(columns, Const) or not isinstance(rows, Const) or rows.value <= MANY or not _turns(body, row, column):
        return call
    nest = _nest(body, row, column, int(columns.value))
    if nest is None:
        return call
    for loop in reversed(around):
        nest = replace(loop, body=(nest,))
    return replace(call, body=(nest,))


def _turns(body: Sequence[Statement], row: For, column: For) -> bool:
    """Whether all that is read lies side by side in rows, and what is written in columns, elsewhere, and functions of it cost little.

    Compilers compute functions, and what lies beside each other in columns already, for many elements at once.
    """
    stores = [item for item in body if isinstance(item, Store)]
    parts = list(distinct(e for item in body for e in expressions(item)))
    loads = [e for e in parts if isinstance(e, Load)]
    reads = [_steps(load.index, row.var, column.var) for load in loads]
    writes = [_steps(store.index, row.var, column.var) for store in stores]
    apart = not {load.buffer for load in loads} & {store.buffer for store in stores}
    turned = all(step is not None and step[1] == 1 and step[0] >= FAR for step in reads)
    light = not any(isinstance(e, Unary) for e in parts)
    return apart and light and bool(reads) and turned and all(step is not None and step[0] == 1 for step in writes)


def _steps(index: Expr, row: Var, column: Var) -> tuple[int, int] | None:
    """How far an index goes with each row and each column; None where that is not the same everywhere."""
    terms = linear(index)
    return None if terms is None else (terms.factors.get(row, 0), terms.factors.get(column, 0))


def _nest(body: tuple[Statement, ...], row: For, column: For, columns: int) -> For | None:
    """The loops over blocks of columns, the rows and the columns of a block; None where columns make no blocks."""
    sizes = [size for size in SIZES if columns % size == 0 and columns > size]
    if not sizes:
        return None
    size = next((size for size in sizes if columns // size >= SHARED), sizes[-1])
    block = var(f"{column.var.name}_block")
    moved = tuple(substitute(item, {column.var.name: block * size + column.var}) for item in body)
    return For(block, const(columns // size), (replace(row, body=(For(column.var, const(size), moved),)),))
