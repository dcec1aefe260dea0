"""Importing this room fills OPERATORS, the table of everything that a Graph may hold."""

from edgec.ops import binary, infer, loop, make, matrix, move, normalize, pool, quantize, recurrent, reduce, scatter, select, unary  # noqa: F401
from edgec.ops.registry import OPERATORS, Call, Operator, Role, exact_function, operator

__all__ = ["OPERATORS", "Call", "Operator", "Role", "exact_function", "operator"]
