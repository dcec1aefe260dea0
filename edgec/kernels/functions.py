"""Kernels with a function of edgec/program/functions.py before they quantize."""

from __future__ import annotations

from typing import TypeVar

from edgec.program.arguments import Arguments
from edgec.program.functions import FUNCTIONS

Kind = TypeVar("Kind", bound=Arguments)


def with_functions(base: type[Kind]) -> dict[str, type[Kind]]:
    """A kernel for each function: only those that a package needs are in it."""

    def kernel(op: str, name: str) -> type[Kind]:
        title = "".join(word[0].upper() + word[1:] for word in op.split())
        return type(f"{base.__name__}{title}", (base,), {"function": op, "kernel": f"{base.kernel}_{name}", "__doc__": base.__doc__})

    return {op: kernel(op, about.name) for op, about in FUNCTIONS.items()}
