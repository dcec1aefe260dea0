"""Indices that are sums of multiples of variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgec.program.expr import Binary, Const, Expr, Var


@dataclass(frozen=True)
class Linear:
    """An index: the sum of factor * variable, and a constant."""

    factors: Mapping[Var, int]
    constant: int


def linear(index: Expr) -> Linear | None:
    """The index as a sum, if it is one."""
    if isinstance(index, Const):
        return Linear({}, int(index.value))
    if isinstance(index, Var):
        return Linear({index: 1}, 0)
    if isinstance(index, Binary) and index.op in ("add", "sub", "mul"):
        a, b = linear(index.a), linear(index.b)
        if a is None or b is None:
            return None
        if index.op == "mul":
            a, b = (b, a) if b.factors else (a, b)
            return None if b.factors else _combine(a, b.constant, Linear({}, 0), 0)
        return _combine(a, 1, b, 1 if index.op == "add" else -1)
    return None


def _combine(a: Linear, times: int, b: Linear, also: int) -> Linear:
    names = {**a.factors, **b.factors}
    factors = {name: a.factors.get(name, 0) * times + b.factors.get(name, 0) * also for name in names}
    return Linear({name: factor for name, factor in factors.items() if factor}, a.constant * times + b.constant * also)
