"""Graph -> Program: layouts, kernel choice, fusion."""

from edgec.lower.builder import LowerOptions
from edgec.lower.core import lower

__all__ = ["LowerOptions", "lower"]
