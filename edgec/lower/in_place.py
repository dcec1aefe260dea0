"""Which calls may write their result over an operand: those that read each element only where they store it."""

from __future__ import annotations

from collections.abc import Iterator

from edgec.program.expr import Load
from edgec.program.program import Buffer, Kind, Program, Store, TemplateCall
from edgec.program.walk import statements, subexpressions


def in_place_pairs(program: Program) -> Iterator[tuple[int, str, str]]:
    """(index of the call, written buffer, read buffer) where every load of the read buffer has the store's own index
    and element size, so that element i is read before element i is written and by the same thread."""
    for index, call in enumerate(program.calls):
        if isinstance(call, TemplateCall):
            yield from ((index, written, read) for written, read in _of_kernel(program, call))
            continue
        stores = [item for item in statements(call.body) if isinstance(item, Store)]
        if len(stores) != 1:
            continue
        target = program.buffers[stores[0].buffer]
        loads = [item for item in subexpressions(call) if isinstance(item, Load)]
        for name in dict.fromkeys(load.buffer for load in loads):
            source = program.buffers[name]
            own = all(load.index == stores[0].index for load in loads if load.buffer == name)
            if own and _fit(source, target):
                yield index, target.name, name


def _of_kernel(program: Program, call: TemplateCall) -> Iterator[tuple[str, str]]:
    for read in call.arguments.in_place():
        (written,) = call.call.writes
        if _fit(program.buffers[read], program.buffers[written]):
            yield written, read


def _fit(source: Buffer, target: Buffer) -> bool:
    """Whether both are whole, in the arena, and of elements of one size."""
    whole = source.parent is None and target.parent is None
    return whole and source.kind is target.kind is Kind.ARENA and source.dtype.bytes == target.dtype.bytes
