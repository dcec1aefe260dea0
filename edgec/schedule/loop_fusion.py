"""Loops that write parts of one tensor in the same steps, as a single loop: a row is in the first cache while it is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from edgec.program.expr import Const, Expr, Var
from edgec.program.linear_index import linear
from edgec.program.program import AnyCall, Declare, For, LoopCall, Program, Store
from edgec.program.walk import statements, substitute


@dataclass(frozen=True)
class Band:
    """What an iteration writes: elements `low` to `high` of the buffer behind its number times `stride`."""

    stride: int
    low: int
    high: int


def with_fused_loops(program: Program) -> Program:
    """`program`, in which the calls of a node that make a tensor together are one where no iteration touches what another one has."""
    calls = list[AnyCall]()
    for call in program.calls:
        fused = _fused(program, calls[-1], call) if calls else None
        calls[-1 if fused is not None else len(calls) :] = [fused if fused is not None else call]
    return replace(program, calls=calls)


def _fused(program: Program, first: AnyCall, second: AnyCall) -> LoopCall | None:
    """Both calls as one; None where they are not of one kind, or iterations of the one depend on others of the other."""
    loops = _loop(first), _loop(second)
    if not isinstance(first, LoopCall) or not isinstance(second, LoopCall) or loops[0] is None or loops[1] is None:
        return None
    a, b = first.call, second.call
    alike = (a.nodes, a.writes, a.when, a.shape, a.within) == (b.nodes, b.writes, b.when, b.shape, b.within)
    if not alike or len(a.writes) != 1 or loops[0].extent != loops[1].extent:
        return None
    if program.root(a.writes[0]) in {program.root(name) for name in (*a.reads, *b.reads)}:
        return None
    if any(isinstance(item, For) and item.var.name == loops[0].var.name for item in statements(loops[1].body)):
        return None  # an inner loop would hide the common one
    bands = _band(loops[0]), _band(loops[1])
    if bands[0] is None or bands[1] is None or bands[0].stride != bands[1].stride:
        return None
    if max(band.high for band in bands if band) - min(band.low for band in bands if band) >= bands[0].stride:
        return None
    body = [substitute(item, {loops[1].var.name: loops[0].var}) for item in loops[1].body]
    call = replace(a, reads=tuple(dict.fromkeys((*a.reads, *b.reads))), macs=a.macs + b.macs)
    return replace(first, call=call, body=(replace(loops[0], body=(*loops[0].body, *body)),))


def _loop(call: AnyCall) -> For | None:
    """The loop that a call is, whose iterations threads share."""
    if not isinstance(call, LoopCall) or not call.parallel or call.outside is not None or len(call.body) != 1:
        return None
    (loop,) = call.body
    plain = isinstance(loop, For) and loop.start is None and all(isinstance(item, For) for item in loop.body)
    return loop if plain and isinstance(loop, For) else None


def _band(loop: For) -> Band | None:
    """None where indices are no sums of multiples of loop variables whose extents are known."""
    found = list(statements(loop.body))
    if any(isinstance(item, Declare) and not item.var.dtype.is_float for item in found):
        return None
    extents: dict[Var, int] = {}
    for item in found:
        if isinstance(item, For):
            if item.start is not None or not isinstance(item.extent, Const) or item.var.name == loop.var.name:
                return None
            extents[item.var] = max(extents.get(item.var, 0), int(item.extent.value))
    bands = [_of_index(item.index, loop.var, extents) for item in found if isinstance(item, Store)]
    return _hull([band for band in bands if band is not None]) if bands and None not in bands else None


def _of_index(index: Expr, outer: Var, extents: Mapping[Var, int]) -> Band | None:
    terms = linear(index)
    if terms is None or not {outer, *extents} >= terms.factors.keys():
        return None
    ends = [factor * (extents[inner] - 1) for inner, factor in terms.factors.items() if inner != outer]
    low, high = (terms.constant + sum(take(end, 0) for end in ends) for take in (min, max))
    return Band(terms.factors.get(outer, 0), low, high)


def _hull(bands: Iterable[Band]) -> Band | None:
    """All of several, which have one stride."""
    (first, *rest) = bands
    if any(band.stride != first.stride for band in rest):
        return None
    return Band(first.stride, min(band.low for band in (first, *rest)), max(band.high for band in (first, *rest)))
