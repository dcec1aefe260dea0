"""Polynomials over named integers, which sums of products of sizes and loop variables are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import floor, prod

Monomial = tuple[str, ...]  # names in order, each as often as its power
Coefficient = int | Fraction
Interval = tuple[Coefficient, Coefficient]


@dataclass(frozen=True)
class Polynomial:
    """sum(coefficient * product of a monomial's names); no coefficient is 0."""

    terms: Mapping[Monomial, Coefficient]

    def __add__(self, other: Polynomial) -> Polynomial:
        terms = dict(self.terms)
        for monomial, factor in other.terms.items():
            terms[monomial] = terms.get(monomial, 0) + factor
        return _made(terms)

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + other.scaled(-1)

    def __mul__(self, other: Polynomial) -> Polynomial:
        terms: dict[Monomial, Coefficient] = {}
        for one, factor in self.terms.items():
            for two, second in other.terms.items():
                monomial = tuple(sorted((*one, *two)))
                terms[monomial] = terms.get(monomial, 0) + factor * second
        return _made(terms)

    def scaled(self, factor: Coefficient) -> Polynomial:
        return _made({monomial: value * factor for monomial, value in self.terms.items()})

    @property
    def names(self) -> set[str]:
        return {name for monomial in self.terms for name in monomial}

    @property
    def constant(self) -> Coefficient:
        """The term without names."""
        return self.terms.get((), 0)

    def split(self, name: str) -> tuple[Polynomial, Polynomial] | None:
        """(a, b) with self = a + name * b, neither of which has the name; None where it has powers."""
        rest: dict[Monomial, Coefficient] = {}
        factor: dict[Monomial, Coefficient] = {}
        for monomial, value in self.terms.items():
            if monomial.count(name) > 1:
                return None
            if name in monomial:
                factor[tuple(item for item in monomial if item != name)] = value
            else:
                rest[monomial] = value
        return Polynomial(rest), Polynomial(factor)

    def floor_of(self, divisor: int) -> Polynomial | None:
        """floor(self / divisor) where that is a polynomial again: every factor but the constant is a multiple of the divisor."""
        if any(monomial and Fraction(value, divisor).denominator != 1 for monomial, value in self.terms.items()):
            return None
        terms: dict[Monomial, Coefficient] = {monomial: Fraction(value, divisor) for monomial, value in self.terms.items()}
        terms[()] = floor(terms.get((), 0))
        return _made(terms)

    def interval(self, range_of: Callable[[str], Interval]) -> Interval:
        """Between which numbers it lies when every name does."""
        low: Coefficient = 0
        high: Coefficient = 0
        for monomial, factor in self.terms.items():
            least, most = _product(map(range_of, monomial))
            low += factor * (least if factor > 0 else most)
            high += factor * (most if factor > 0 else least)
        return low, high

    def least_of(self, bounds: Mapping[str, tuple[int, int]]) -> Coefficient:
        """A lower bound when every name lies between its bounds: in powers of (name - least), which are not negative."""
        moved = number(0)
        for monomial, factor in self.terms.items():
            term = number(factor)
            for name in monomial:
                term = term * (named(name) + number(bounds[name][0]))
            moved = moved + term
        return moved.constant + sum(
            min(factor, 0) * prod(bounds[name][1] - bounds[name][0] for name in monomial)
            for monomial, factor in moved.terms.items()
            if monomial
        )


def number(value: Coefficient) -> Polynomial:
    return _made({(): value})


def named(name: str) -> Polynomial:
    return Polynomial({(name,): 1})


def _made(terms: Mapping[Monomial, Coefficient]) -> Polynomial:
    return Polynomial({monomial: value for monomial, value in terms.items() if value})


def _product(intervals: Iterator[Interval]) -> Interval:
    low: Coefficient = 1
    high: Coefficient = 1
    for least, most in intervals:
        corners = (low * least, low * most, high * least, high * most)
        low, high = min(corners), max(corners)
    return low, high
