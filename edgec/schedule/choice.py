"""Which variant of a kernel computes with an instruction set."""

from __future__ import annotations

from collections.abc import Iterable

from edgec.kernels import VARIANTS, Variant
from edgec.program.arguments import Arguments
from edgec.program.program import Chosen


def choose(kind: type[Arguments], vocabulary: str) -> Chosen:
    """The first variant that the instruction set can compute."""
    variant = variant_of(kind, vocabulary)
    return Chosen(vocabulary, variant.name, variant.tiles[vocabulary] if variant.tiles is not None else None)


def choose_all(kinds: Iterable[type[Arguments]], vocabulary: str) -> dict[type[Arguments], Chosen]:
    """The same of several kernels."""
    return {kind: choose(kind, vocabulary) for kind in kinds}


def variant_of(kind: type[Arguments], vocabulary: str) -> Variant:
    for variant in VARIANTS[kind]:
        if variant.tiles is None or vocabulary in variant.tiles:
            return variant
    raise LookupError(f"no variant of {kind.kernel} is for {vocabulary}")
