"""Which loop calls may write their result over an operand: those that read each element only where they store it."""

from __future__ import annotations

from collections.abc import Iterator

from edgec.program.expr import Load
from edgec.program.program import Kind, LoopCall, Program, Store
from edgec.program.walk import statements, subexpressions


def in_place_pairs(program: Program) -> Iterator[tuple[int, str, str]]:
    """(index of the call, written buffer, read buffer) where every load of the read buffer has the store's own index
    and element size, so that element i is read before element i is written and by the same thread."""
    for index, call in enumerate(program.calls):
        if not isinstance(call, LoopCall):
            continue
        stores = [item for item in statements(call.body) if isinstance(item, Store)]
        if len(stores) != 1:
            continue
        target = program.buffers[stores[0].buffer]
        loads = [item for item in subexpressions(call) if isinstance(item, Load)]
        for name in dict.fromkeys(load.buffer for load in loads):
            source = program.buffers[name]
            own = all(load.index == stores[0].index for load in loads if load.buffer == name)
            whole = source.parent is None and target.parent is None
            if own and whole and source.kind is target.kind is Kind.ARENA and source.dtype.bytes == target.dtype.bytes:
                yield index, target.name, name
