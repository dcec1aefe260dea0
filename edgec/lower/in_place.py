"""Which calls may write their result over an operand: those that read each element only where they store it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from edgec.program.expr import Const, Load
from edgec.program.program import Buffer, For, Kind, Program, Statement, Store, TemplateCall
from edgec.program.walk import statements, subexpressions


def in_place_pairs(program: Program) -> Iterator[tuple[int, str, str]]:
    """(index of the call, written buffer, read buffer) where every load of the read buffer has the store's own index
    and element size, so that element i is read before element i is written and by the same thread."""
    for index, call in enumerate(program.calls):
        if isinstance(call, TemplateCall):
            yield from ((index, written, read) for written, read in _of_kernel(program, call))
            continue
        store = _only_store(call.body)
        if store is None:
            continue
        target = program.buffers[store.buffer]
        loads = [item for item in subexpressions(call) if isinstance(item, Load)]
        for name in dict.fromkeys(load.buffer for load in loads):
            source = program.buffers[name]
            own = all(load.index == store.index for load in loads if load.buffer == name)
            if own and _fit(source, target):
                yield index, target.name, name


def _only_store(body: Sequence[Statement]) -> Store | None:
    """What each iteration of a nest stores once at most; pieces of one loop have it each."""
    storing = [item for item in body if any(isinstance(inner, Store) for inner in statements([item]))]
    loops = [item for item in storing if isinstance(item, For)]
    if not loops:
        return storing[0] if len(storing) == 1 and isinstance(storing[0], Store) else None
    found = [_only_store(loop.body) for loop in loops]
    alike = len({None if item is None else (item.buffer, item.index) for item in found}) == 1
    return found[0] if alike and len(loops) == len(storing) and all(_goes_on(*pair) for pair in pairwise(loops)) else None


def _goes_on(first: For, second: For) -> bool:
    """Whether a loop begins where another one ends."""
    start = 0 if first.start is None else first.start
    return first.var == second.var and isinstance(first.extent, Const) and second.start == first.extent + start


def _of_kernel(program: Program, call: TemplateCall) -> Iterator[tuple[str, str]]:
    for read in call.arguments.in_place():
        (written,) = call.call.writes
        if _fit(program.buffers[read], program.buffers[written]):
            yield written, read


def _fit(source: Buffer, target: Buffer) -> bool:
    """Whether both are whole, in the arena, and of elements of one size."""
    whole = source.parent is None and target.parent is None
    return whole and source.kind is target.kind is Kind.ARENA and source.dtype.bytes == target.dtype.bytes
