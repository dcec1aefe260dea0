"""What the operations of scalar expressions give, in numpy: docs/int8.md, clauses 10 and 13. Also where C leaves it open.

Emitted C has the same in runtimes/c/scalar.h, shaders in templates/gpu/functions.j2; tests/operators/test_extremes.py compares them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def wrap(value: int, dtype: np.dtype[Any]) -> int:
    """The low bits of a Python integer, as a value of the type."""
    bits = dtype.itemsize * 8
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if dtype.kind == "i" and low >> (bits - 1) else low


def divide(a: Any, b: Any) -> Any:
    """Towards zero; x / 0 = 0, and the least number / -1 is itself."""
    with np.errstate(all="ignore"):
        safe = np.where(b == 0, np.ones_like(b), b)
        down = np.floor_divide(a, safe)
        inexact = (np.multiply(down, safe) != a) & ((a < 0) != (safe < 0))
        return np.where(b == 0, np.zeros_like(down), down + inexact.astype(down.dtype))


def remainder(a: Any, b: Any) -> Any:
    """a - divide(a, b) * b, with the sign of a; x mod 0 = 0."""
    with np.errstate(all="ignore"):
        return np.where(b == 0, np.zeros_like(a), a - divide(a, b) * b)


def power(a: Any, b: Any) -> Any:
    """The low bits of a^b. For a negative b 1 / a^-b, towards zero: 0 but for 1 and -1."""
    with np.errstate(all="ignore"):
        odd = (b & 1) != 0
        shrunk = np.where(a == 1, 1, np.where((a == -1) & odd, -1, np.where(a == -1, 1, 0)))
        return np.where(b < 0, shrunk, _by_squares(a, np.maximum(b, 0))).astype(a.dtype)


def _by_squares(a: Any, b: Any) -> Any:
    result, base, left = np.ones_like(a * b.astype(a.dtype)), np.asarray(a), np.asarray(b)
    while np.any(left):
        result = np.where(left & 1, result * base, result)
        base, left = base * base, left >> 1
    return result


def _is_whole(a: Any) -> bool:
    return bool(np.asarray(a).dtype.kind in "iu")


def minimum(a: Any, b: Any) -> Any:
    """a < b ? a : b, but NaN where one is NaN."""
    return np.where((a < b) | (a != a), a, b)


def maximum(a: Any, b: Any) -> Any:
    """a > b ? a : b, but NaN where one is NaN."""
    return np.where((a > b) | (a != a), a, b)


UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": np.negative, "abs": np.abs, "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "rint": np.rint, "not": np.logical_not,
}  # fmt: skip
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": lambda a, b: divide(a, b) if _is_whole(a) else np.divide(a, b),
    "floordiv": lambda a, b: divide(a, b), "mod": lambda a, b: remainder(a, b) if _is_whole(a) else np.fmod(a, b),
    "min": lambda a, b: np.where(a < b, a, b), "max": lambda a, b: np.where(a > b, a, b), "minimum": minimum, "maximum": maximum,
    "pow": lambda a, b: power(a, b) if _is_whole(a) else np.power(a, b), "lt": np.less, "le": np.less_equal, "eq": np.equal,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "shl": np.left_shift, "shr": np.right_shift,
}  # fmt: skip


def as_bits(a: Any, dtype: np.dtype[Any]) -> Any:
    """The bits of `a` as values of another type of the same width."""
    return np.ascontiguousarray(a).view(dtype).reshape(np.shape(a))


def convert(a: Any, dtype: np.dtype[Any]) -> Any:
    """`a` as another type."""
    a = np.asarray(a)
    return to_integer(a, dtype) if a.dtype.kind == "f" and dtype.kind in "iu" else a.astype(dtype)


def to_integer(x: Any, dtype: np.dtype[Any]) -> Any:
    """A float towards zero. Types below 32 bits keep the low bits of the int32.

    What the type cannot hold, as a signed or an unsigned number of its width, becomes the least signed one: so does NaN. (As uint32
    or uint64 what is too large becomes 0.)
    """
    x = np.asarray(x)
    bits = 64 if dtype.itemsize == 8 else 32
    signed, unsigned = np.dtype(f"int{bits}"), np.dtype(f"uint{bits}")
    half = x.dtype.type(2.0 ** (bits - 1)) if x.dtype != np.float16 else np.float32(2.0 ** (bits - 1))
    with np.errstate(all="ignore"):
        inside = (x >= -half) & (x < half)
        result = np.where(inside, np.where(inside, x, 0).astype(signed), np.iinfo(signed).min)
        if dtype == unsigned:
            above = (x >= half) & (x < 2 * half)
            large = np.where(above, np.where(above, x, 0).astype(unsigned), np.where(x >= half, 0, 1 << (bits - 1)).astype(unsigned))
            return np.where(inside, result.astype(unsigned), large)
        return result.astype(dtype)
