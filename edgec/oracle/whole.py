"""Clause 13: arithmetic on integers where numpy and onnx's reference leave it open or trap, and floats that become integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import helper

from edgec.oracle import mathlib
from edgec.oracle.context import Run
from edgec.oracle.grid import Array
from edgec.oracle.model import Node


def divide(a: Array, b: Array) -> Array:
    """Towards zero; 0 for b = 0."""
    divisor = np.where(b == 0, np.ones_like(b), b)
    rest = np.fmod(a, np.where((b < 0) & (b + 1 == 0), np.ones_like(b), divisor))
    return np.where(b == 0, np.zeros_like(a), (a - rest) // divisor)


def modulo(a: Array, b: Array, truncated: bool) -> Array:
    """What divide leaves, or, with the divisor's sign, what rounding down leaves; 0 for b = 0."""
    rest = a - divide(a, b) * b
    wrong = (rest != 0) & ((rest < 0) != (b < 0)) & (not truncated)
    return np.where(b == 0, np.zeros_like(a), np.where(wrong, rest + b, rest))


def power(a: Array, b: Array) -> Array:
    """The low bits of a^b; 1 / a^-b towards zero for b < 0, whose fraction goes; a fractional power is binary32's."""
    if b.dtype.kind == "f":
        whole = power(a, to_integer(b, np.dtype(np.int64)))
        real = mathlib.power(a.astype(np.float32), b.astype(np.float32))
        return np.where(np.rint(b) == b, whole, to_integer(real, a.dtype))
    bits = a.dtype.itemsize * 8
    found = [_power(int(x), int(y), bits) for x, y in np.broadcast(a, b)]
    return np.array(found, object).astype(np.dtype(f"u{a.dtype.itemsize}")).view(a.dtype).reshape(np.broadcast(a, b).shape)


def _power(a: int, b: int, bits: int) -> int:
    if b >= 0:
        return pow(a, b, 1 << bits)
    return (1 if a == 1 or b % 2 == 0 else -1) % (1 << bits) if abs(a) == 1 else 0


def to_integer(x: Array, dtype: np.dtype[np.generic]) -> Array:
    """Towards zero. What 32 bits (64 for the types of 64) cannot hold is the least signed number, too large an unsigned one 0."""
    bits = 64 if dtype.itemsize == 8 else 32
    signed, unsigned = np.dtype(f"int{bits}"), np.dtype(f"uint{bits}")
    number, half = x.astype(np.float64), 2.0 ** (bits - 1)
    found = np.where((number >= -half) & (number < half), number, -half).astype(signed)
    if dtype != unsigned:
        return found.astype(dtype)
    large = np.where((number >= half) & (number < 2 * half), number, 0).astype(unsigned)
    return np.where(number >= half, large, found.view(unsigned))


BINARY: dict[str, Callable[[Node, Array, Array], Array]] = {
    "Div": lambda node, a, b: divide(a, b), "Mod": lambda node, a, b: modulo(a, b, bool(node.get("fmod", 0))),
    "Pow": lambda node, a, b: power(a, b),
}  # fmt: skip


def whole_number(node: Node) -> Run | None:
    """The meaning of an operator whose first operand is integers; None where the reference has it right."""
    rule = BINARY.get(node.op)
    return None if rule is None else lambda a, b: (rule(node, np.asarray(a), np.asarray(b)),)


def conversion(node: Node) -> Run | None:
    """Cast of floats to an integer type; None for other types."""
    dtype = helper.tensor_dtype_to_np_dtype(node.attributes["to"])
    if dtype.kind not in "iu":
        return None
    return lambda x: (to_integer(x, dtype) if x.dtype.kind == "f" else x.astype(dtype),)
