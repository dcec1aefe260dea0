"""schedule(): every template call of a Program gets what computes it, with each instruction set of a target."""

from __future__ import annotations

from dataclasses import replace

from edgec.program.program import Program, TemplateCall
from edgec.schedule.choice import choose, variant_of
from edgec.targets import Target


def schedule(program: Program, target: Target) -> Program:
    """`program` with all that it leaves open about template calls; what they compute stays as it is."""
    return replace(program, calls=[scheduled(call, target) if isinstance(call, TemplateCall) else call for call in program.calls])


def scheduled(call: TemplateCall, target: Target) -> TemplateCall:
    """`call` with what computes it. All instruction sets of a package divide its work alike, and share one size of scratch memory."""
    kind = type(call.arguments)
    variants = [variant_of(kind, vocabulary) for vocabulary in target.vocabularies]
    items = {variant.items(call.arguments) for variant in variants}
    assert len(items) == 1, f"{call.call.name}: the variants of {kind.kernel} divide its work differently"
    chosen = tuple(choose(kind, vocabulary) for vocabulary in target.vocabularies)
    return replace(call, chosen=chosen, items=items.pop(), scratch_bytes=max(variant.scratch(call.arguments) for variant in variants))
