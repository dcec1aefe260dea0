"""What Programs are made of, for everyone who walks through one: the parts of expressions, statements and calls, and others in their place.

The tables below are the one place that spells out which operands an expression has; statements and calls are told apart here alone too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any

from edgec.program.arguments import Window
from edgec.program.expr import Binary, Cast, Expr, Load, Select, Unary, Var, expr
from edgec.program.program import AnyCall, For, LoopCall, Pointer, Statement, Store

# The constructor of each kind takes what it keeps, then its operands.
_OPERANDS: dict[type[Expr], Callable[[Any], tuple[Expr, ...]]] = {
    Unary: lambda e: (e.a,),
    Cast: lambda e: (e.a,),
    Binary: attrgetter("a", "b"),
    Select: attrgetter("condition", "a", "b"),
    Load: lambda e: (e.index,),
}
_KEPT: dict[type[Expr], Callable[[Any], tuple[Any, ...]]] = {
    Unary: attrgetter("dtype", "op"),
    Cast: lambda e: (e.dtype,),
    Binary: attrgetter("dtype", "op"),
    Select: lambda e: (e.dtype,),
    Load: attrgetter("dtype", "buffer"),
}


# Expressions


def children(item: Expr) -> tuple[Expr, ...]:
    """The operands of an expression, in order."""
    operands = _OPERANDS.get(type(item))
    return operands(item) if operands else ()


def rebuild(item: Expr, operands: Sequence[Expr]) -> Expr:
    """The expression over other operands, nothing folded."""
    kept = _KEPT.get(type(item))
    return type(item)(*kept(item), *operands) if kept else item


def walk(item: Expr) -> Iterator[Expr]:
    """An expression and everything below it, operands first, and as often as it stands there."""
    for child in children(item):
        yield from walk(child)
    yield item


def distinct(roots: Iterable[Expr]) -> Iterator[Expr]:
    """Every object under `roots`, once."""
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        item = stack.pop()
        if id(item) not in seen:
            seen.add(id(item))
            yield item
            stack.extend(children(item))


def replaced(item: Expr, change: Callable[[Expr], Expr | None], done: dict[int, Expr] | None = None) -> Expr:
    """The expression with every part that `change` has another one for exchanged, outer parts first.

    What is shared stays shared, over several expressions that live as long as the memo `done`, which holds results by identity.
    """
    done = {} if done is None else done
    if id(item) not in done:
        other = change(item)
        done[id(item)] = rebuild(item, [replaced(child, change, done) for child in children(item)]) if other is None else other
    return done[id(item)]


# Statements


def expressions(item: Statement) -> tuple[Expr, ...]:
    """The expressions directly in a statement."""
    if isinstance(item, For):
        return (item.extent,) if item.start is None else (item.start, item.extent)
    return (item.index, item.value) if isinstance(item, Store) else (item.value,)


def statements(body: Iterable[Statement]) -> Iterator[Statement]:
    """All statements of a nest, outer ones first."""
    for item in body:
        yield item
        if isinstance(item, For):
            yield from statements(item.body)


def roots(body: Iterable[Statement]) -> Iterator[Expr]:
    """The expressions of all statements of a nest."""
    for item in statements(body):
        yield from expressions(item)


def rewritten(item: Statement, change: Callable[[Expr], Expr]) -> Statement:
    """The statement with `change` of each of its expressions, those of a loop's body included."""
    if isinstance(item, For):
        start = change(item.start) if item.start is not None else None
        return replace(item, extent=change(item.extent), body=tuple(rewritten(inner, change) for inner in item.body), start=start)
    if isinstance(item, Store):
        return Store(item.buffer, change(item.index), change(item.value))
    return replace(item, value=change(item.value))


def substitute(item: Statement, values: Mapping[str, Expr]) -> Statement:
    """The statement with variables replaced."""
    done: dict[int, Expr] = {}

    def value(part: Expr) -> Expr | None:
        return values.get(part.name) if isinstance(part, Var) else None

    return rewritten(item, lambda root: replaced(root, value, done))


def loads(body: Iterable[Statement]) -> tuple[str, ...]:
    """The buffers that a nest reads, by name."""
    return tuple(sorted({item.buffer for item in distinct(roots(body)) if isinstance(item, Load)}))


def stores(body: Iterable[Statement]) -> tuple[str, ...]:
    """The buffers that a nest writes, by name."""
    return tuple(sorted({item.buffer for item in statements(body) if isinstance(item, Store)}))


# Calls


def subexpressions(call: AnyCall) -> Iterator[Expr]:
    """Every expression that a call evaluates, with its parts."""
    if isinstance(call, LoopCall):
        found: Iterable[Expr] = roots(call.body)
    else:
        found = [call.items, *(value.offset if isinstance(value, Pointer) else expr(value) for value in _values(call.arguments))]
    for root in found:
        yield from walk(root)


def _values(arguments: object) -> Iterator[Expr | int | float | Pointer]:
    """What a template kernel's arguments say, the members of a window among them."""
    for field in fields(arguments):  # type: ignore[arg-type]
        value = getattr(arguments, field.name)
        if isinstance(value, Window):
            yield from _values(value)
        elif value is not None:
            yield value
