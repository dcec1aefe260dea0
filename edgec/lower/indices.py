"""Indices that are known when the package runs: a call of its own brings them into their range, or reports that they are not in it."""

from __future__ import annotations

from dataclasses import replace

from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.lower.builder import Lowering, split_axes
from edgec.lower.values import Value, is_one, row_major, store
from edgec.program.bounds import Scope
from edgec.program.expr import INT, Const, Expr, binary, cast, clamp, const, logical, most, select, var
from edgec.program.polynomial import number
from edgec.program.program import Assign, Declare, For, Statement, Store

WIDE = DType.INT64


def places_on(lowering: Lowering, node: Node, indices: Value, extent: Expr) -> Value:
    """The indices, some of which may count from the end, as places on an axis: 0 <= place < extent."""
    known = indices.constant
    if known is None and _is_place(lowering, indices, extent):
        return indices
    if known is None or not isinstance(extent, Const):
        return indices if known is not None and not known.any() else _checked(lowering, node, indices, extent)
    return lowering.literal(known % extent.value, node.inputs[1]) if bool((known < 0).any()) else indices


def _is_place(lowering: Lowering, indices: Value, extent: Expr) -> bool:
    """Whether indices are proven to be in range, as the number of a turn may be, or places that a selection has found."""
    if not indices.free or indices.dtype.is_float:
        return False
    scope, index = Scope(lowering.program.buffers), []
    for d, size in enumerate(indices.shape):
        index.append(const(0) if is_one(size) else var(f"i{d}"))
        scope.enter(For(var(f"i{d}"), size, ()))
    place = scope.of(indices.at(tuple(index)))
    return scope.never_negative(place) and scope.never_negative(scope.of(extent) - place - number(1))


def _checked(lowering: Lowering, node: Node, indices: Value, extent: Expr) -> Value:
    """The call that computes the places into a buffer of their own, as int32.

    A negative index counts from the end. One that is out of range even so becomes the nearest place, and the run ends after this
    call with the status BAD_INDEX. All of it is done in 64 bits, so that no index is cut to another that is in range.
    """
    hint, order = node.inputs[1], row_major(indices.rank)
    places = lowering.places(f"{hint}_places", indices.shape, most(extent))
    outside = lowering.buffer(f"{hint}_outside", INT, const(1))
    axes, index = split_axes(replace(indices, splits=None), order)
    given, counted, bad, size = var("given", WIDE), var("counted", WIDE), var("bad"), cast(extent, WIDE)
    last = cast(most(extent), WIDE) - 1
    wrong = logical("or", binary("lt", counted, 0), binary("le", size, counted))
    nest: tuple[Statement, ...] = (
        Declare(given, cast(indices.at(index), WIDE)),
        Declare(counted, select(binary("lt", given, 0), given + size, given)),
        Assign(bad, select(wrong, 1, bad)),
        store(places, index, cast(clamp(counted, 0, last), INT)),
    )
    for axis, count in reversed(axes):
        nest = (For(axis, count, nest),)
    body = [Declare(bad, const(0), mutable=True), *nest, Store(outside, const(0), bad)]
    lowering.loops([], body, f"{hint}_places", places.by(indices, node=node.name, op=f"{node.op}Indices"), outside=outside)
    return places
