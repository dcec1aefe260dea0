"""Which variant of a kernel computes a call, and with which tile each instruction set does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from edgec.kernels import VARIANTS, Variant
from edgec.program.arguments import Arguments
from edgec.program.layer_signature import signature
from edgec.program.program import Chosen, Slot
from edgec.targets import Target

Choices = Mapping[str, str]  # by the signature of a layer, the name of the variant that was measured to be the fastest
UNTUNED: Choices = {}


def variants(kind: type[Arguments], target: Target) -> list[Variant]:
    """Those that a package for the target may have of a kernel: one of its instruction sets gains by them, and all can compute the last.

    Weights that only some variants read must be of use to all that share them: instruction sets, and shaders, which read the last's.
    """
    *special, last = VARIANTS[kind]
    return [*(variant for variant in special if _of_use(variant, last, target)), last]


def _of_use(variant: Variant, last: Variant, target: Target) -> bool:
    able = set(filter(variant.can, target.vocabularies))
    if variant.packing != last.packing:
        return able == set(target.vocabularies) and not target.gpu
    return any(variant.outdone.get(vocabulary) not in target.vocabularies for vocabulary in able)


def candidates(arguments: Arguments, target: Target) -> list[Variant]:
    """All that can compute a call, in the order that the cost model prefers them."""
    return [variant for variant in variants(type(arguments), target) if variant.admits(arguments)]


def variant_of(arguments: Arguments, target: Target, tuned: Choices = UNTUNED) -> Variant:
    """The one that was measured to be the fastest, if it is one of the candidates; else the first that pays."""
    found = candidates(arguments, target)
    wanted = tuned.get(signature(arguments)) if tuned else None
    likely = (variant for variant in found if variant.pays(arguments, target.vocabularies))
    return next((variant for variant in found if variant.name == wanted), None) or next(likely)


def slot(kind: type[Arguments], variant: Variant) -> Slot:
    """Where every instruction set has the variant, or what it computes the same calls with."""
    return Slot(kind, kind.kernel if variant == VARIANTS[kind][-1] else f"{kind.kernel}_{variant.name}")


def choose(kind: type[Arguments], variant: Variant, vocabulary: str, target: Target) -> Chosen:
    """What an instruction set has in a variant's slot; `target` has those that share its weights."""
    own = variant_in(kind, variant, vocabulary)
    tile = own.tile(vocabulary, target.reorders)
    multiple = own.packing.multiple(target.vocabularies)
    return Chosen(
        vocabulary, own.name, slot(kind, own).name, own.template or kind.template, tile, multiple, own.headers.get(vocabulary, ())
    )


def variant_in(kind: type[Arguments], variant: Variant, vocabulary: str) -> Variant:
    """`variant`, or the one for every layer and instruction set where this one cannot compute it."""
    for found in (variant, VARIANTS[kind][-1]):
        if found.can(vocabulary):
            return found
    raise LookupError(f"no variant of {kind.kernel} is for {vocabulary}")


def choose_all(kinds: Iterable[type[Arguments]], vocabulary: str, target: Target) -> dict[Slot, Chosen]:
    """All that a package for the target may have of several kernels."""
    return {slot(kind, variant): choose(kind, variant, vocabulary, target) for kind in kinds for variant in variants(kind, target)}
