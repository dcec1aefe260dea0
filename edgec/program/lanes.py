"""Totals in parts: the order in which loops with `lanes` sum, and find extremes, so that vectors of any width give the same bits."""

from __future__ import annotations

from dataclasses import dataclass

from edgec.program.expr import Binary, Var
from edgec.program.program import Assign, For

LANES = 16
STARTS = {"add": 0.0, "mul": 1.0, "max": float("-inf"), "maximum": float("-inf"), "min": float("inf"), "minimum": float("inf")}


@dataclass(frozen=True)
class Total:
    """A variable that every iteration joins with a term; `start` changes no result of `op`."""

    var: Var
    op: str

    @property
    def start(self) -> float:
        return STARTS[self.op]


def totals(loop: For) -> tuple[Total, ...]:
    """What a loop with `lanes` keeps in parts, one for each Assign in it: variable = op(variable, term)."""
    found = [item for item in loop.body if isinstance(item, Assign)]
    for item in found:
        assert isinstance(item.value, Binary) and item.value.op in STARTS and item.value.a == item.var, "no total"
    return tuple(Total(item.var, item.value.op) for item in found if isinstance(item.value, Binary))
