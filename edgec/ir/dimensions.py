"""Arithmetic of extents that a run counts. What is computed alike has one name wherever it is computed, so that equal extents are equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from itertools import chain
from math import prod

from edgec.ir.types import Dim, Symbol, static

LONGEST = 60  # characters of a name that spells out how it is computed


def total(dims: Sequence[Dim]) -> Dim:
    """Their sum, in the order in which they come."""
    number, terms = 0, Counter[Symbol]()
    for term in chain.from_iterable(_operands(dim, "sum") for dim in dims):
        if isinstance(term, Symbol):
            factor, symbols = factors(term)
            base = times(symbols)
            assert isinstance(base, Symbol)
            terms[base] += factor
        else:
            number += term
    found: list[Dim] = [times([factor, symbol]) for symbol, factor in terms.items()]
    return _made("sum", [*found, number] if number else found, "+", sum(static(found)) + number)


def times(dims: Sequence[Dim]) -> Dim:
    """Their product."""
    number, symbols = 1, list[Symbol]()
    for dim in dims:
        factor, others = factors(dim)
        number, symbols = number * factor, symbols + others
    if not number:
        return 0
    found = sorted(symbols, key=lambda symbol: symbol.name)
    return _made("product", [*found, number] if number != 1 else found, "x", number * prod(static(found)))


def factors(dim: Dim) -> tuple[int, list[Symbol]]:
    """A number, and symbols that are no products."""
    operands = _operands(dim, "product")
    return prod(item for item in operands if not isinstance(item, Symbol)), [item for item in operands if isinstance(item, Symbol)]


def least(dims: Sequence[Dim]) -> Dim:
    """The least of them."""
    operands = [item for dim in dims for item in _operands(dim, "least")]
    symbols = sorted({item for item in operands if isinstance(item, Symbol)}, key=lambda symbol: symbol.name)
    numbers = [item for item in operands if not isinstance(item, Symbol)]
    most = min([*numbers, *static(symbols)])
    if most == 0 or not symbols:
        return most
    bounding = [min(numbers)] if numbers and min(numbers) < min(static(symbols)) else []
    return _made("least", [*symbols, *bounding], "|", most)


def rest(dim: Dim, number: int) -> Dim:
    """What is left behind the first `number`, 0 where there are not as many."""
    if not isinstance(dim, Symbol):
        return max(dim - number, 0)
    first, *others = _operands(dim, "rest")
    dim, number = first, number + sum(static(others))
    most = max(static([dim])[0] - number, 0)
    return _made("rest", [dim, number], "-", most) if number and most else dim if most else 0


def no_more(dim: Dim, than: Dim) -> bool:
    """Whether one is never larger than the other, as its name tells."""
    return dim == than or (isinstance(dim, int) and dim == 0) or than in _operands(dim, "least")


def _operands(dim: Dim, op: str) -> tuple[Dim, ...]:
    return dim.made[1] if isinstance(dim, Symbol) and dim.made is not None and dim.made[0] == op else (dim,)


def _made(op: str, operands: Sequence[Dim], sign: str, most: int) -> Dim:
    """One operand is itself, and none is the number."""
    if len(operands) < 2:
        return operands[0] if operands else most
    if all(isinstance(item, int) for item in operands):
        return most
    told = sign.join(item.name if isinstance(item, Symbol) else str(item) for item in operands)
    name = f"({told})" if len(told) <= LONGEST else f"{op}_{sha256(told.encode()).hexdigest()[:12]}"
    return Symbol(name, most, True, (op, tuple(operands)))
