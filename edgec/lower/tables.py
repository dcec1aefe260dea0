"""Clause 9 of docs/int8.md: a unary function of 8-bit codes is a table of 256 codes, computed exactly and rounded once."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from edgec.integer.operators import Function
from edgec.ir.types import DType
from edgec.lower.coding import Parameters, limits
from edgec.ops import exact_function
from edgec.ops.exact import Infinite, Undefined


@lru_cache(maxsize=1024)
def table(functions: tuple[Function, ...], source: Parameters, result: Parameters, activation: DType) -> np.ndarray:
    """The result's code for every code of the source, from the least code up. The first of `functions` is computed first."""
    low, high = limits(activation)
    step, unit = Fraction(float(source.scale)), Fraction(float(result.scale))
    steps = [(exact_function(function.name), function.numbers) for function in functions]

    def entry(code: int) -> int:
        value = (code - source.zero) * step
        try:
            for exact, numbers in steps:
                value = exact(value, *numbers)
            return min(max(round(value / unit) + result.zero, low), high)
        except Undefined:
            return result.zero
        except Infinite as infinite:
            return high if infinite.sign > 0 else low

    return np.array([entry(code) for code in range(low, high + 1)], activation.numpy)
