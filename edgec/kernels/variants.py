"""The ways to compute a kernel."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from edgec.program.expr import Expr

Pack = Callable[[Any, np.ndarray, int], np.ndarray]  # of a call's arguments, an array in plain order, and what inputs are padded to


@dataclass(frozen=True)
class Packing:
    """The order in which a variant reads its weights: by argument, what makes it of the plain order that lowering writes.

    multiple: of what all instruction sets of a package pad the number of inputs to.
    reach: how many elements it makes, by argument, where that is not what the kernel says of plain layers.
    """

    name: str
    pack: Mapping[str, Pack]
    multiple: Callable[[Iterable[str]], int] = lambda vocabularies: 1
    reach: Mapping[str, Callable[[Any], int]] = field(default_factory=dict)


PLAIN = Packing("plain", {})


@dataclass(frozen=True)
class Variant:
    """One of them. items: into how many units of work a call divides, which threads share.

    scratch: bytes that one thread needs, whichever of a package's instruction sets it has.

    tiles: what the registers of each instruction set hold that can compute it so; None: all can, and it has no tile.
    admits: of which layers it can compute a call. The last variant of a kernel is for every layer and instruction set.
    template: what it is written in, templates/c/KERNEL/VARIANT.c.j2, where that is not the kernel's own.
    headers: by instruction set, those of runtimes/c/vocabulary with the words that it needs beyond the kernel's.
    pays: of which of these layers packages with some instruction sets gain by it.
    reordered: those in place of these tiles where the processor takes instructions in any order: how long one takes need not be hidden.
    outdone: by instruction set, one that computes as fast without: in packages that have both, the variant is not worth its memory.
    """

    name: str
    items: Callable[[Any], Expr]
    scratch: Callable[[Any, Collection[str]], int] = lambda arguments, vocabularies: 0
    tiles: Mapping[str, object] | None = None
    packing: Packing = PLAIN
    admits: Callable[[Any], bool] = lambda arguments: True
    template: str = ""
    headers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    outdone: Mapping[str, str] = field(default_factory=dict)
    pays: Callable[[Any, Collection[str]], bool] = lambda arguments, vocabularies: True
    reordered: Mapping[str, object] = field(default_factory=dict)

    def can(self, vocabulary: str) -> bool:
        """Whether an instruction set can compute it."""
        return self.tiles is None or vocabulary in self.tiles

    def tile(self, vocabulary: str, reorders: bool) -> object:
        """What an instruction set computes it with, on such a processor."""
        if self.tiles is None:
            return None
        return self.reordered.get(vocabulary, self.tiles[vocabulary]) if reorders else self.tiles[vocabulary]
