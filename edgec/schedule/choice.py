"""Which variant of a kernel computes with an instruction set."""

from __future__ import annotations

from collections.abc import Iterable

from edgec.kernels import VARIANTS, Variant
from edgec.program.arguments import Arguments
from edgec.program.program import Chosen
from edgec.targets import Target


def choose(kind: type[Arguments], vocabulary: str, target: Target) -> Chosen:
    """The first variant that the instruction set can compute; `target` has those that share its weights."""
    variant = variant_of(kind, vocabulary)
    tile = variant.tiles[vocabulary] if variant.tiles is not None else None
    return Chosen(vocabulary, variant.name, tile, variant.packing.multiple(target.vocabularies))


def choose_all(kinds: Iterable[type[Arguments]], vocabulary: str, target: Target) -> dict[type[Arguments], Chosen]:
    """The same of several kernels."""
    return {kind: choose(kind, vocabulary, target) for kind in kinds}


def variant_of(kind: type[Arguments], vocabulary: str) -> Variant:
    for variant in VARIANTS[kind]:
        if variant.tiles is None or vocabulary in variant.tiles:
            return variant
    raise LookupError(f"no variant of {kind.kernel} is for {vocabulary}")
