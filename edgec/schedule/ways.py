"""The ways that there are to compute the layers of a Program, for whoever measures them, and the choices that are none of these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from edgec.program.arguments import Arguments
from edgec.program.layer_signature import signature
from edgec.program.program import Program, TemplateCall
from edgec.program.titles import titles
from edgec.schedule.choice import Choices, candidates, choose, variant_of
from edgec.targets import Target


@dataclass(frozen=True)
class Ways:
    """Of all calls of one signature: the variant that the cost model chooses, and others that compute differently, the likeliest first."""

    signature: str
    calls: tuple[int, ...]
    base: str
    others: tuple[str, ...]


def ways(program: Program, target: Target, vocabulary: str) -> tuple[Ways, ...]:
    """Of the layers of a Program with some choice in packages for the target, when this instruction set runs them."""
    calls: dict[str, list[int]] = {}
    known: dict[str, list[list[str]]] = {}
    for number, call in enumerate(program.calls):
        if isinstance(call, TemplateCall):
            name = signature(call.arguments)
            calls.setdefault(name, []).append(number)
            known.setdefault(name, []).append(list(_differing(call.arguments, target, vocabulary)))
    others = {name: dict.fromkeys(other for _, *rest in each for other in rest) for name, each in known.items()}
    return tuple(Ways(name, tuple(calls[name]), known[name][0][0], tuple(others[name])) for name in calls if others[name])


def unfit(program: Program, target: Target, tuned: Choices) -> list[str]:
    """In words, choices for layers of a Program that none of the calls of this name can be computed by: the cost model chose for these."""
    able: dict[str, bool] = {}
    names: dict[str, str] = {}
    for call, title in zip(program.calls, titles(program), strict=True):
        if isinstance(call, TemplateCall) and (name := signature(call.arguments)) in tuned:
            known = {variant.name for variant in candidates(call.arguments, target)}
            able[name] = able.get(name, False) or tuned[name] in known
            names.setdefault(name, title)
    return [f"{names[name]} cannot be computed by {tuned[name]!r}" for name, can in able.items() if not can]


def _differing(arguments: Arguments, target: Target, vocabulary: str) -> Iterator[str]:
    """The variant of the cost model, then of those that are one computation for the instruction set the likeliest."""
    first, seen = variant_of(arguments, target), set[str]()
    for variant in [first, *candidates(arguments, target)]:
        own = choose(type(arguments), variant, vocabulary, target)
        computation = repr((own.template, own.tile, own.multiple, own.headers, variant.packing.name))
        if computation not in seen:
            yield variant.name
        seen.add(computation)
