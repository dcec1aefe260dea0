"""Functions that an integer kernel may compute of its sums before it quantizes them: one row each.

A row is an expression of the sum as a float, and of the numbers that the ONNX attributes named here have. It is the operator's own
expression in edgec/ops, without an operation that a GPU rounds as it likes; every vocabulary and shader renders it in its words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from edgec.program.expr import FLOAT, Expr, Var, binary, clip, real, select, var


@dataclass(frozen=True)
class KernelFunction:
    """name: as a part of kernels' names. numbers: the attributes that are arguments, at most `alpha` and `beta`."""

    name: str
    numbers: tuple[str, ...]
    of: Callable[..., Expr]

    @property
    def expression(self) -> Expr:
        """Of V, ALPHA and BETA."""
        return self.of(V, **{name: ARGUMENTS[name] for name in self.numbers})


V = var("v", FLOAT)
ARGUMENTS: dict[str, Var] = {name: var(name, FLOAT) for name in ("alpha", "beta")}

FUNCTIONS: dict[str, KernelFunction] = {
    "HardSigmoid": KernelFunction("hard_sigmoid", ("alpha", "beta"), lambda v, alpha, beta: clip(alpha * v + beta, 0.0, 1.0)),
    "HardSwish": KernelFunction("hard_swish", (), lambda v: v * clip(real(1 / 6) * v + real(0.5), 0.0, 1.0)),
    "LeakyRelu": KernelFunction("leaky_relu", ("alpha",), lambda v, alpha: select(binary("lt", v, 0.0), alpha * v, v)),
}
