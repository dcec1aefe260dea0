"""Between which numbers integer expressions lie, and proofs that one is never negative.

An expression is a polynomial over sizes, loop variables and atoms. An atom stands for what is no polynomial (a quotient, a minimum, an
element of a buffer) and has bounds of its own, polynomials again. To prove that p >= 0, names are replaced by the bound that
makes p least, the latest name first, until only sizes are left; conditions that are known to hold are bounds too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np

from edgec.ir.types import DType
from edgec.program.expr import Binary, Cast, Const, Expr, Load, Select, Size, Unary, Var
from edgec.program.polynomial import Coefficient, Interval, Monomial, Polynomial, named, number
from edgec.program.program import Buffer, For

Quotient = tuple[frozenset[tuple[Monomial, Coefficient]], Coefficient]  # the terms of what is divided, and by what
Facts = tuple[Polynomial, ...]  # none of them is negative
Terms = frozenset[tuple[Monomial, Coefficient]]
MOST_QUESTIONS = 50_000  # about one call: each division of a division takes several times as many
Question = tuple[Terms, Coefficient, bool, tuple[Terms, ...]]  # whether a polynomial is above (or at) a number, where facts hold


class TooLong(Exception):
    """A proof that takes more questions than anybody waits for."""


@dataclass(frozen=True)
class Range:
    """Bounds of one name: polynomials over earlier names, and numbers. quotient: what it is the floor of, and by which divisor.

    truncated: the same where what is divided may be negative, and is then rounded to 0. exact: the name as a polynomial over others.
    """

    lows: tuple[Polynomial, ...]
    highs: tuple[Polynomial, ...]
    least: Coefficient
    most: Coefficient
    serial: int
    quotient: tuple[Polynomial, int] | None = None
    truncated: tuple[Polynomial, int] | None = None
    exact: Polynomial | None = None


@dataclass
class Scope:
    """What is known at one place of a nest: buffers, what its variables are, and the ranges of all names."""

    buffers: Mapping[str, Buffer]
    variables: dict[str, Polynomial] = field(default_factory=dict)
    ranges: dict[str, Range] = field(default_factory=dict)
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)  # their least and largest numbers
    serial: count[int] = field(default_factory=count)
    quotients: dict[Quotient, Polynomial] = field(default_factory=dict)  # equal ones are the same
    known: dict[int, Polynomial] = field(default_factory=dict)  # by the identity of expressions, which the Program keeps
    proofs: dict[Question, bool] = field(default_factory=dict)  # of what was asked

    def inner(self) -> Scope:
        """The scope of a loop's body."""
        return replace(self, variables=dict(self.variables), known={})

    def new(self, least: Coefficient, most: Coefficient, lows: Sequence[Polynomial] = (), highs: Sequence[Polynomial] = ()) -> Polynomial:
        """A name for something between these bounds."""
        serial = next(self.serial)
        self.ranges[f"#{serial}"] = Range((*lows, number(least)), (*highs, number(most)), least, most, serial)
        return named(f"#{serial}")

    def enter(self, loop: For) -> Polynomial:
        """The loop's variable in its body."""
        first = number(0) if loop.start is None else self.of(loop.start)
        final = first + self.of(loop.extent) - number(1)
        least, most = self.interval(first)[0], self.interval(final)[1]
        self.variables[loop.var.name] = self.new(least, max(least, most), (first,), (final,))
        return self.variables[loop.var.name]

    def interval(self, item: Polynomial) -> Interval:
        return item.interval(lambda name: (self.ranges[name].least, self.ranges[name].most))

    # Expressions

    def of(self, item: Expr) -> Polynomial:
        """An integer or truth value as a polynomial."""
        found = self.known.get(id(item))
        if found is None:
            found = self.known[id(item)] = self._of(item)
        return found

    def _of(self, item: Expr) -> Polynomial:
        if item.dtype.is_float:
            raise ValueError(f"{item} is no integer")
        if isinstance(item, Const):
            return number(int(item.value))
        if isinstance(item, Size):
            self.sizes[item.name] = (0 if item.counted else 1, item.bound)
            self.ranges.setdefault(item.name, Range((), (), *self.sizes[item.name], -1))
            return named(item.name)
        if isinstance(item, Var) and item.name in self.variables:
            return self.variables[item.name]
        if isinstance(item, Load):
            return self._element(item)
        if isinstance(item, Cast) and not item.a.dtype.is_float:
            return self._fitting(item.dtype, self.of(item.a))
        if isinstance(item, Unary) and item.op == "neg":
            return self._fitting(item.dtype, number(0) - self.of(item.a))
        if isinstance(item, Select):
            return self.either(self.of(item.a), self.of(item.b))
        if isinstance(item, Binary) and item.op in _COMBINED and not item.a.dtype.is_float:
            return self._fitting(item.dtype, _COMBINED[item.op](self, self.of(item.a), self.of(item.b)))
        return self.new(*limits(item.dtype))

    def _fitting(self, dtype: DType, item: Polynomial) -> Polynomial:
        """The same where the type holds it, else any number of the type."""
        (low, high), (least, most) = self.interval(item), limits(dtype)
        return item if least <= low and high <= most else self.new(least, most)

    def _element(self, item: Load) -> Polynomial:
        buffer = self.buffers[item.buffer]
        if buffer.data is not None and buffer.data.size:
            return self.new(int(np.min(buffer.data)), int(np.max(buffer.data)))
        if buffer.below is not None:
            most = self.of(buffer.below) - number(1)
            return self.new(0, self.interval(most)[1], (), (most,))
        return self.new(*limits(item.dtype))

    def either(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """One of both, of which all is known that is of both, as of two places on one axis."""
        (low, high), (least, most) = self.interval(a), self.interval(b)
        (lows, highs), (others_lows, others_highs) = self._limits(a), self._limits(b)
        return self.new(min(low, least), max(high, most), [x for x in lows if x in others_lows], [x for x in highs if x in others_highs])

    def _limits(self, item: Polynomial) -> tuple[tuple[Polynomial, ...], tuple[Polynomial, ...]]:
        """The bounds of what is but a name."""
        name = next(iter(item.names), "")
        return (self.ranges[name].lows, self.ranges[name].highs) if name and item == named(name) else ((), ())

    def minimum(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """Also at most the mean, which is a number in min(x, c - x)."""
        (low, high), (least, most), mean = self.interval(a), self.interval(b), (a + b).scaled(Fraction(1, 2))
        return self.new(min(low, least), min(high, most, self.interval(mean)[1]), (), (a, b))

    def maximum(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """Also at least the mean, as 0 in max(x, -x)."""
        (low, high), (least, most), mean = self.interval(a), self.interval(b), (a + b).scaled(Fraction(1, 2))
        return self.new(max(low, least, self.interval(mean)[0]), max(high, most), (a, b), ())

    def quotient(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """a // b as C has it, which truncates."""
        low, high = self.interval(a)
        divisor = b.constant
        if set(b.terms) - {()} or divisor < 1:
            size = max(-low, high)
            return self.new(0 if low >= 0 and self.interval(b)[0] > 0 else -size, size)
        key, whole = (frozenset(a.terms.items()), divisor), (a, int(divisor))
        if key not in self.quotients and low < 0:
            self.quotients[key] = self._known(self.new(-(-low // divisor), max(high, 0) // divisor), truncated=whole)
        elif key not in self.quotients:
            found = self.new(low // divisor, high // divisor, (), (a.scaled(Fraction(1, divisor)),))
            self.quotients[key] = self._known(found, quotient=whole)
        return self.quotients[key]

    def _known(self, found: Polynomial, **more: Any) -> Polynomial:
        """A new name, of which more is known."""
        (name,) = found.names
        self.ranges[name] = replace(self.ranges[name], **more)
        return found

    def remainder(self, a: Polynomial, b: Polynomial) -> Polynomial:
        (low, high), (least, most) = self.interval(a), self.interval(b)
        if least < 1:
            return self.new(-max(-least, most), max(-least, most))
        exact = None if b.names else a - self.quotient(a, b).scaled(b.constant)
        if low < 0:
            return self._known(self.new(1 - most, most - 1), exact=exact)
        return self._known(self.new(0, min(high, most - 1), (), (b - number(1), a)), exact=exact)

    def extreme(self, item: Polynomial, upper: bool, facts: Facts = ()) -> Polynomial | None:
        """An upper (or lower) bound over sizes alone; None where the sign of a factor is not plain."""
        while names := item.names - set(self.sizes):
            name = max(names, key=lambda one: self.ranges[one].serial)
            parts = item.split(name)
            low, high = self.interval(parts[1]) if parts is not None else (-1, 1)
            if parts is None or low < 0 < high:
                return None
            rising = (low >= 0) == upper
            bound = (self.ranges[name].highs if rising else self.ranges[name].lows)[0]
            bound, facts = next(_from_facts(name, not rising, facts), (bound, facts))
            item = parts[0] + parts[1] * bound
        return item

    def _bounds(self, name: str, upward: bool, facts: Facts) -> Iterator[tuple[Polynomial, Facts]]:
        """Lower (upward) or upper bounds of a name, and the facts that are left when one is taken."""
        yield from _from_facts(name, upward, facts)
        known = self.ranges[name]
        for bound in self._floors(known.quotient, upward, facts):
            yield bound, facts
        for bound in known.lows if upward else known.highs:
            yield bound, facts
        if known.truncated is not None and self.never_negative(known.truncated[0], facts):
            whole, divisor = known.truncated
            for bound in self._floors(known.truncated, upward, facts):
                yield bound, facts
            yield (whole - number(divisor - 1) if upward else whole).scaled(Fraction(1, divisor)), facts
        if known.exact is not None:
            yield known.exact, facts

    def _floors(self, quotient: tuple[Polynomial, int] | None, upward: bool, facts: Facts) -> Iterator[Polynomial]:
        """The floor of a bound of what is divided, where there is one over sizes alone."""
        whole = self.extreme(quotient[0], not upward, facts) if quotient is not None else None
        floor = whole.floor_of(quotient[1]) if quotient is not None and whole is not None else None
        if floor is not None:
            yield floor

    # Proofs

    def never_negative(self, item: Polynomial, facts: Facts = ()) -> bool:
        """Whether a polynomial of integers is proven to be at least 0 wherever the facts hold."""
        return self._more(item, Fraction(-1), False, facts)

    def _more(self, item: Polynomial, limit: Coefficient, equal: bool, facts: Facts) -> bool:
        """Whether item > limit, or item >= limit. Proofs meet the same question by many ways, which is answered once."""
        question = (_terms(item), limit, equal, tuple(map(_terms, facts)))
        if question not in self.proofs:
            if len(self.proofs) >= MOST_QUESTIONS:
                raise TooLong
            self.proofs[question] = self._shown(item, limit, equal, facts)
        return self.proofs[question]

    def _shown(self, item: Polynomial, limit: Coefficient, equal: bool, facts: Facts) -> bool:
        def suffices(value: Coefficient) -> bool:
            return value > limit or (equal and value == limit)

        if suffices(self.interval(item)[0]):
            return True
        names = item.names - set(self.sizes)
        if not names:
            return suffices(item.least_of(self.sizes))
        name = max(names, key=lambda one: self.ranges[one].serial)
        parts = item.split(name)
        if parts is None:
            return False
        rest, factor = parts
        if self._more(factor, 0, True, ()):
            upward = True
        elif self._more(factor.scaled(-1), 0, True, ()):
            upward = False
        else:
            return False
        return any(self._more(rest + factor * bound, limit, equal, left) for bound, left in self._bounds(name, upward, facts))


def _terms(item: Polynomial) -> Terms:
    return frozenset(item.terms.items())


def _from_facts(name: str, upward: bool, facts: Facts) -> Iterator[tuple[Polynomial, Facts]]:
    """Lower (upward) or upper bounds of a name that facts give, and the facts that are left."""
    for place, fact in enumerate(facts):
        parts = fact.split(name) if name in fact.names else None
        if parts is not None and set(parts[1].terms) == {()} and (parts[1].constant > 0) == upward:
            yield parts[0].scaled(Fraction(-1) / parts[1].constant), facts[:place] + facts[place + 1 :]


_COMBINED: dict[str, Callable[[Scope, Polynomial, Polynomial], Polynomial]] = {
    "add": lambda scope, a, b: a + b, "sub": lambda scope, a, b: a - b, "mul": lambda scope, a, b: a * b, "min": Scope.minimum,
    "max": Scope.maximum, "floordiv": Scope.quotient, "mod": Scope.remainder,
}  # fmt: skip


def limits(dtype: DType) -> tuple[int, int]:
    """The least and the largest number of an integer type."""
    if dtype is DType.BOOL:
        return 0, 1
    values = 1 << 8 * dtype.bytes
    return (0, values - 1) if dtype.value.startswith("u") else (-values // 2, values // 2 - 1)


def assumed(scope: Scope, condition: Expr, holds: bool) -> Facts:
    """What is known where a condition holds, or where it does not."""
    if isinstance(condition, Unary) and condition.op == "not":
        return assumed(scope, condition.a, not holds)
    if not isinstance(condition, Binary) or condition.a.dtype.is_float:
        return ()
    if condition.op == ("and" if holds else "or") and condition.dtype is DType.BOOL:
        return (*assumed(scope, condition.a, holds), *assumed(scope, condition.b, holds))
    if condition.op not in ("lt", "le", "eq"):
        return ()
    a, b = scope.of(condition.a), scope.of(condition.b)
    facts: Facts
    if condition.op == "eq":
        facts = (a - b, b - a) if holds else ()
    else:
        strict = number(1 if (condition.op == "lt") == holds else 0)
        facts = (b - a - strict,) if holds else (a - b - strict,)
    return (*facts, *(more for fact in facts for more in _of_dividends(scope, fact)))


def _of_dividends(scope: Scope, fact: Polynomial) -> Iterator[Polynomial]:
    """What a fact about q = a // d says of a: with r + f q >= 0 also d r + f a >= 0, or d r + f (a - d + 1) >= 0 where f is negative."""
    for name in sorted(fact.names & scope.ranges.keys()):
        parts, quotient = fact.split(name), scope.ranges[name].quotient
        if quotient is not None and parts is not None and set(parts[1].terms) == {()}:
            (dividend, divisor), (rest, factor) = quotient, parts
            least = dividend if factor.constant > 0 else dividend - number(divisor - 1)
            yield rest.scaled(divisor) + factor * least
