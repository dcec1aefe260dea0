"""Translations of operators that compute: elementwise, constants, normalizations, reductions, products."""

from edgec.frontend.arithmetic import (  # noqa: F401  (their rules are in RULES now)
    constants,
    conversion,
    cumulative,
    determinant,
    einsum,
    elementwise,
    normalization,
    reduction,
    trigonometry,
)
