"""The ways to compute a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from edgec.program.expr import Expr


@dataclass(frozen=True)
class Variant:
    """One of them. items: into how many units of work a call divides, which threads share; scratch: bytes that one thread needs."""

    name: str
    items: Callable[[Any], Expr]
    scratch: Callable[[Any], int] = lambda arguments: 0
