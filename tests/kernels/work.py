"""How a call of a kernel divides, and the scratch memory it needs: alike for every instruction set, as a package has several."""

from __future__ import annotations

from edgec.kernels import VARIANTS, Variant
from edgec.program.arguments import Arguments
from edgec.program.expr import bound
from edgec.schedule.choice import slot, variant_of, variants
from edgec.targets import Target

PLACES = [(kind, variant) for kind in VARIANTS for variant in VARIANTS[kind]]  # what a driver's cases are numbered by


def place_of(arguments: Arguments, target: Target, variant: Variant | None = None) -> int:
    """The place of a variant; of the one that a package for the target takes if none is given."""
    return PLACES.index((type(arguments), variant or variant_of(arguments, target)))


def slot_in(kind: type[Arguments], variant: Variant, target: Target) -> str:
    """The slot of a variant in the tables of a target; the one for every layer where it has no such variant."""
    return slot(kind, variant if variant in variants(kind, target) else VARIANTS[kind][-1]).name


def work_items(arguments: Arguments, target: Target) -> int:
    return bound(variant_of(arguments, target).items(arguments))


def scratch_bytes(arguments: Arguments, target: Target, variant: Variant | None = None) -> int:
    return max(
        one.scratch(arguments, target.vocabularies) for one in (variant or variant_of(arguments, target), VARIANTS[type(arguments)][-1])
    )
