"""How a call of a kernel divides, and the scratch memory it needs: alike for every instruction set, as a package has several."""

from __future__ import annotations

from edgec.program.arguments import Arguments
from edgec.program.expr import bound
from edgec.schedule.choice import variant_of


def work_items(arguments: Arguments) -> int:
    return bound(variant_of(type(arguments), "portable").items(arguments))


def scratch_bytes(arguments: Arguments) -> int:
    return variant_of(type(arguments), "portable").scratch(arguments)
