"""Kernels with a function of edgec/program/functions.py before they quantize."""

from __future__ import annotations

from typing import TypeVar

from edgec.program.arguments import Arguments
from edgec.program.functions import FUNCTIONS

Kind = TypeVar("Kind", bound=Arguments)


def with_functions(base: type[Kind]) -> dict[str, type[Kind]]:
    """A kernel for each function: only those that a package needs are in it."""
    return {
        op: type(
            f"{base.__name__}{op.title().replace(' ', '')}",
            (base,),
            {"function": op, "kernel": f"{base.kernel}_{about.name}", "__doc__": base.__doc__},
        )
        for op, about in FUNCTIONS.items()
    }
