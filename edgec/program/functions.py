"""Functions that an integer kernel may compute of its sums before it quantizes them: one row each.

A row is in steps, each the expression of a named float: of `v`, the sum as a float, of the numbers that the ONNX attributes named here
have, and of the steps before it. There is no operation that a GPU rounds as it likes; every vocabulary and shader renders the steps in
its words. Most are the operator's own expression in edgec/ops. Those of Swish and Gelu, which would take an exponential and a division,
come near: `x f(x) = max(x, 0) - |x| f(-|x|)` for either, and what is taken away is small and soon nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from edgec.program.expr import FLOAT, Expr, Var, binary, clip, real, select, var

Steps = tuple[tuple[Var, Expr], ...]  # the last one is the result


@dataclass(frozen=True)
class KernelFunction:
    """name: as a part of kernels' names. numbers: the attributes that are arguments, at most `alpha` and `beta`.

    only: the numbers that the operator must have where the steps are of these alone. within: how far they may be from the operator; what
    comes near costs a kernel some ten instructions for each result, so it is for those who ask for it.
    """

    name: str
    numbers: tuple[str, ...]
    of: Callable[..., Steps]
    only: tuple[Fraction, ...] | None = None
    within: float = 0.0

    @property
    def steps(self) -> Steps:
        """Of V, ALPHA and BETA."""
        return self.of(V, **{name: ARGUMENTS[name] for name in self.numbers})

    def takes(self, numbers: tuple[Fraction | None, ...]) -> bool:
        """Whether it computes the operator with these numbers."""
        return self.only is None or numbers == self.only

    def arguments(self, numbers: tuple[Fraction | None, ...]) -> Mapping[str, Fraction | None]:
        """Of the operator's numbers, those that are arguments, by name."""
        return dict(zip(self.numbers, numbers, strict=self.only is None)) if self.numbers else {}


V = var("v", FLOAT)
ARGUMENTS: dict[str, Var] = {name: var(name, FLOAT) for name in ("alpha", "beta")}


def _one(of: Callable[..., Expr]) -> Callable[..., Steps]:
    """A single expression."""
    return lambda v, **numbers: ((V, of(v, **numbers)),)


def _near(most: float, coefficients: tuple[float, ...]) -> Callable[..., Steps]:
    """max(v, 0) - t p(t)^8 for t = min(|v|, most), p by Horner: the eighth power falls as an exponential does.

    The coefficients make the largest error least, as near as a fit finds them, and are rounded to binary32.
    """

    def of(v: Expr) -> Steps:
        t, root, square, fourth = (var(name, FLOAT) for name in ("t", "root", "square", "fourth"))
        polynomial: Expr = real(coefficients[0])
        for coefficient in coefficients[1:]:
            polynomial = polynomial * t + real(coefficient)
        return (
            (t, binary("min", most, binary("max", 0.0 - v, v))),
            (root, polynomial),
            (square, root * root),
            (fourth, square * square),
            (V, binary("max", 0.0, v) - t * (fourth * fourth)),
        )

    return of


# x / (1 + e^-x), and x times the normal distribution's share below x, by erf or by tanh
_SWISH = _near(
    14.0,
    (
        -3.7804244e-09,
        2.0405271e-07,
        -4.5572606e-06,
        5.398712e-05,
        -0.0003529858,
        0.0010685318,
        0.00079755986,
        -0.012842539,
        -0.057072513,
        0.9169578,
    ),
)
_GELU = _near(5.0, (-0.0001912397, 0.0019419312, -0.0011145129, -0.03171394, -0.091494866, 0.91700405))
_GELU_TANH = _near(5.0, (-0.0001276209, 0.0012611299, 0.0005670065, -0.033163033, -0.090954915, 0.9169421))

# by the name of the function, see edgec/integer/unary.py
FUNCTIONS: dict[str, KernelFunction] = {
    "HardSigmoid": KernelFunction("hard_sigmoid", ("alpha", "beta"), _one(lambda v, alpha, beta: clip(alpha * v + beta, 0.0, 1.0))),
    "HardSwish": KernelFunction("hard_swish", (), _one(lambda v: v * clip(real(1 / 6) * v + real(0.5), 0.0, 1.0))),
    "LeakyRelu": KernelFunction("leaky_relu", ("alpha",), _one(lambda v, alpha: select(binary("lt", v, 0.0), alpha * v, v))),
    "Swish": KernelFunction("swish", (), _SWISH, only=(Fraction(1),), within=1.2e-5),
    "Gelu none": KernelFunction("gelu", (), _GELU, within=1.8e-6),
    "Gelu tanh": KernelFunction("gelu_tanh", (), _GELU_TANH, within=1e-5),
}
