"""Translations of operators that compute: elementwise, constants, normalizations, reductions, products."""

from edgec.frontend.arithmetic import arithmetic, composed, determinant, einsum, trigonometry  # their rules are in RULES now

__all__ = ["arithmetic", "composed", "determinant", "einsum", "trigonometry"]
