"""Which loop calls may write their result over an operand: those that read each element only where they store it."""

from __future__ import annotations

from collections.abc import Iterator

from edgec.program.expr import Binary, Cast, Expr, Load, Select, Unary
from edgec.program.program import Assign, Declare, For, Kind, LoopCall, Program, Statement, Store


def in_place_pairs(program: Program) -> Iterator[tuple[int, str, str]]:
    """(index of the call, written buffer, read buffer) where every load of the read buffer has the store's own index
    and element size, so that element i is read before element i is written and by the same thread."""
    for index, call in enumerate(program.calls):
        if not isinstance(call, LoopCall):
            continue
        stores = [item for item in _statements(call.body) if isinstance(item, Store)]
        if len(stores) != 1:
            continue
        target = program.buffers[stores[0].buffer]
        loads = [load for item in _statements(call.body) for load in _loads_of(item)]
        for name in dict.fromkeys(load.buffer for load in loads):
            source = program.buffers[name]
            own = all(load.index == stores[0].index for load in loads if load.buffer == name)
            whole = source.parent is None and target.parent is None
            if own and whole and source.kind is target.kind is Kind.ARENA and source.dtype.bytes == target.dtype.bytes:
                yield index, target.name, name


def _statements(body: tuple[Statement, ...]) -> Iterator[Statement]:
    for item in body:
        yield item
        if isinstance(item, For):
            yield from _statements(item.body)


def _loads_of(item: Statement) -> Iterator[Load]:
    if isinstance(item, Store):
        yield from _loads(item.value)
        yield from _loads(item.index)
    elif isinstance(item, (Declare, Assign)):
        yield from _loads(item.value)


def _loads(value: Expr) -> Iterator[Load]:
    if isinstance(value, Load):
        yield value
        yield from _loads(value.index)
    elif isinstance(value, (Unary, Cast)):
        yield from _loads(value.a)
    elif isinstance(value, Binary):
        yield from _loads(value.a)
        yield from _loads(value.b)
    elif isinstance(value, Select):
        yield from _loads(value.condition)
        yield from _loads(value.a)
        yield from _loads(value.b)
