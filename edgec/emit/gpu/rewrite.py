"""Rewrites of loop nests for GPUs, before they are rendered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from edgec.emit.gpu.nest import Nest, walk_statements
from edgec.ir.types import DType
from edgec.program.expr import Expr, Load, Var
from edgec.program.linear_index import linear
from edgec.program.program import Assign, Declare, For, Statement, Store
from edgec.program.regions import Place
from edgec.program.walk import expressions, replaced, walk

_HELD = (DType.FLOAT32, DType.INT32, DType.UINT32)  # elements that a variable holds unchanged


def in_variables(nest: Nest, places: Mapping[str, Place], dtypes: Mapping[str, DType]) -> Nest:
    """An element that an invocation stores again and again is a variable until the end: sums stay out of memory."""
    stored = dict.fromkeys(item.buffer for item, _ in walk_statements(nest.body) if isinstance(item, Store))
    for number, buffer in enumerate(stored):
        if dtypes[buffer] in _HELD:
            nest = _held(nest, buffer, f"held{number or ''}", places, dtypes[buffer])
    return nest


def _held(nest: Nest, buffer: str, name: str, places: Mapping[str, Place], dtype: DType) -> Nest:
    accesses = [
        part for item, _ in walk_statements(nest.body)
        for part in (item, *(part for root in expressions(item) for part in walk(root)))
        if isinstance(part, (Store, Load)) and places[part.buffer].overlaps(places[buffer])
    ]  # fmt: skip
    if len(accesses) < 3:
        return nest
    first = accesses[0]
    index = linear(first.index)
    alone = all((part.buffer, part.index) == (buffer, first.index) for part in accesses)
    if not alone or index is None or not set(index.factors) <= {axis.variable for axis in nest.axes}:
        return nest
    start = next((place for place, item in enumerate(nest.body) if item is first), None)
    if start is None:
        return nest  # the first access is not a store that every invocation does
    held = Var(dtype, name)

    def value(item: Expr) -> Expr:
        return replaced(item, lambda part: held if isinstance(part, Load) and part.buffer == buffer else None)

    def statement(item: Statement) -> Statement:
        if isinstance(item, For):
            return replace(item, body=tuple(statement(inner) for inner in item.body))
        if isinstance(item, Store) and item.buffer == buffer:
            return Assign(held, value(item.value))
        return replace(item, value=value(item.value))

    assert isinstance(first, Store)
    rest = tuple(statement(item) for item in nest.body[start + 1 :])
    body = (*nest.body[:start], Declare(held, first.value, mutable=True), *rest, Store(buffer, first.index, held))
    return replace(nest, body=body)
