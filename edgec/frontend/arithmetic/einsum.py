"""Einsum as products of two operands each: labels of both that are needed later are batches, the others are summed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import Value, operand
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source

Labels = tuple[str, ...]  # letters, and "...0", "...1" and so on for the axes of an ellipsis, of which "...0" is the last


@dataclass(frozen=True)
class Term:
    """A value whose axes have labels, each of them one."""

    value: Value
    labels: Labels

    def extent(self, label: str) -> int:
        return self.value.shape[self.labels.index(label)]

    def ordered(self, labels: Labels) -> Value:
        return self.value.turned(*(self.labels.index(label) for label in labels))

    def without(self, labels: Iterable[str]) -> Term:
        """Summed over these."""
        gone = [self.labels.index(label) for label in self.labels if label in set(labels)]
        return Term(self.value.summed(*gone), tuple(label for place, label in enumerate(self.labels) if place not in gone))

    def squeezed(self, labels: Iterable[str]) -> Term:
        """Without these, of extent 1."""
        kept = tuple(label for label in self.labels if label not in set(labels))
        return Term(self.value.reshaped(*map(self.extent, kept)), kept)


@rule("Einsum")
def einsum(b: Builder, s: Source) -> None:
    operands = [operand(b, s, index) for index in range(len(s.inputs))]
    inputs, result = parsed(s.attributes["equation"], [len(value.shape) for value in operands])
    terms = [_diagonal(Term(value, labels)) for value, labels in zip(operands, inputs, strict=True)]
    extents = _extents(terms)
    unknown = [label for label in result if label not in extents]
    if unknown or len(set(result)) < len(result):
        raise ModelError(f"its result has the labels {' '.join(result)}, each must be one of an operand's, once")
    terms = [term.squeezed(label for label in term.labels if term.extent(label) != extents[label]) for term in terms]
    while len(terms) > 1:
        needed = set(result).union(*(term.labels for term in terms[2:]))
        terms = [product(terms[0], terms[1], needed), *terms[2:]]
    last = terms[0].without(set(terms[0].labels) - set(result))
    last.ordered(result).end()


def parsed(equation: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """The labels of every operand and of the result. Without an arrow this has the ellipsis, then what occurs once, by the alphabet."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    words = left.split(",")
    if len(words) != len(ranks):
        raise ModelError(f"has {len(ranks)} operands for the {len(words)} of {equation!r}")
    inputs = [_labels(word, equation, rank) for word, rank in zip(words, ranks, strict=True)]
    dots = sorted({label for labels in inputs for label in labels if len(label) > 1}, key=lambda label: -int(label[3:]))
    if arrow:
        return inputs, _labels(right, equation, len(right.replace("...", "")) + len(dots) if "..." in right else len(right))
    every = [label for labels in inputs for label in labels]
    return inputs, (*dots, *sorted(label for label in set(every) if every.count(label) == 1 and len(label) == 1))


def _labels(word: str, equation: str, rank: int) -> Labels:
    before, dots, after = word.partition("...")
    letters, hidden = before + after, rank - len(before + after)
    if (letters and not letters.isalpha()) or not letters.isascii() or hidden < 0 or (hidden and not dots):
        raise ModelError(f"the labels {word!r} of {equation!r} do not fit an operand of {rank} axes")
    return (*before, *(f"...{place}" for place in reversed(range(hidden))), *after)


def _diagonal(term: Term) -> Term:
    """Of labels that an operand has twice only the places where both are alike."""
    twice = next((label for label in term.labels if term.labels.count(label) > 1), None)
    if twice is None:
        return term
    (first, second, *_), rank = [place for place, label in enumerate(term.labels) if label == twice], len(term.labels)
    others, shape = [place for place in range(rank) if place not in (first, second)], term.value.shape
    size = shape[first]
    if shape[second] != size:
        raise ModelError(f"label {twice} has the extents {size} and {shape[second]}")
    flat = term.value.turned(*others, first, second).reshaped(*(shape[place] for place in others), size * size)
    taken = flat.taken(np.arange(size) * (size + 1), rank - 2)
    return _diagonal(Term(taken, (*(term.labels[place] for place in others), twice)))


def _extents(terms: Sequence[Term]) -> dict[str, int]:
    """Of each label; what is 1 somewhere repeats."""
    found: dict[str, int] = {}
    for term in terms:
        for label, extent in zip(term.labels, term.value.shape, strict=True):
            if found.setdefault(label, extent) == 1:
                found[label] = extent
            if extent not in (1, found[label]):
                raise ModelError(f"label {label} has the extents {found[label]} and {extent}")
    return found


def product(a: Term, b: Term, needed: set[str]) -> Term:
    """The product of two terms, summed over the labels that nobody else needs."""
    a, b = (one.without(set(one.labels) - set(other.labels) - needed) for one, other in ((a, b), (b, a)))
    batch = tuple(label for label in a.labels if label in b.labels and label in needed)
    inner = tuple(label for label in a.labels if label in b.labels and label not in needed)
    rows, columns = (tuple(label for label in term.labels if label not in (*batch, *inner)) for term in (a, b))
    labels = (*batch, *rows, *columns)
    if not inner or not a.value.dtype.is_float:
        left, right = _beside(a, (*labels, *inner)), _beside(b, (*labels, *inner))
        return Term((left * right).summed(*range(len(labels), len(labels) + len(inner))), labels)
    lead = tuple(a.extent(label) for label in batch)
    sizes = [tuple(term.extent(label) for label in part) for term, part in ((a, rows), (a, inner), (b, columns))]
    m, k, n = map(prod, sizes)
    left = a.ordered((*batch, *rows, *inner)).reshaped(*lead, m, k)
    right = b.ordered((*batch, *inner, *columns)).reshaped(*lead, k, n)
    return Term(left.of("MatMul", right).reshaped(*lead, *sizes[0], *sizes[2]), labels)


def _beside(term: Term, labels: Labels) -> Value:
    """The value with an axis for each label, of extent 1 where it has none."""
    kept = tuple(label for label in labels if label in term.labels)
    shape = (term.extent(label) if label in kept else 1 for label in labels)
    return term.ordered(kept).reshaped(*shape)
