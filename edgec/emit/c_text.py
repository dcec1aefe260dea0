"""The smallest pieces of C: type names, literals, identifiers and comments."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Container
from decimal import Decimal

import numpy as np

from edgec.base.harmless import in_a_comment
from edgec.ir.types import DType
from edgec.program.names import KEYWORDS

# The type of an element in memory. A bool is one byte, a half or a bfloat its bits.
C_TYPES: dict[DType, str] = {
    DType.FLOAT32: "float",
    DType.FLOAT64: "double",
    DType.FLOAT16: "uint16_t",
    DType.BFLOAT16: "uint16_t",
    DType.INT8: "int8_t",
    DType.UINT8: "uint8_t",
    DType.INT16: "int16_t",
    DType.UINT16: "uint16_t",
    DType.INT32: "int32_t",
    DType.UINT32: "uint32_t",
    DType.INT64: "int64_t",
    DType.UINT64: "uint64_t",
    DType.BOOL: "uint8_t",
}

PLAIN = frozenset((string.ascii_letters + string.digits + " /._:-[](),;=+").encode())  # stands for itself in a string constant


def scalar_type(dtype: DType) -> str:
    """The type of a named scalar: memory's type, but a bool is an int and a half or a bfloat a float."""
    return {DType.BOOL: "int", DType.FLOAT16: "float", DType.BFLOAT16: "float"}.get(dtype, C_TYPES[dtype])


def float_literal(value: float, suffix: str = "f") -> str:
    """A binary32 (or, without a suffix, binary64) value: decimal where a short one is exact, else hexadecimal."""
    value = float(np.float32(value)) if suffix else float(value)
    if math.isnan(value):
        return "EDGEC_NAN"
    if math.isinf(value):
        return "EDGEC_INFINITY" if value > 0 else "-EDGEC_INFINITY"
    short = repr(value)
    if len(short) <= 12 and Decimal(short) == Decimal(value):
        return short + suffix
    mantissa, exponent = value.hex().split("p")
    return f"{mantissa.rstrip('0')}p{exponent}{suffix}"


def literal(value: float | bool, dtype: DType) -> str:
    """A constant of type `dtype`."""
    if dtype is DType.FLOAT64:
        return float_literal(float(value), "")
    if dtype.is_float:
        return float_literal(float(value))
    number = int(value)
    if dtype is DType.INT64:
        return f"INT64_C({number})" if number > -(2**63) else "INT64_MIN"
    if dtype is DType.UINT64:
        return f"UINT64_C({number})"
    if dtype is DType.UINT32:
        return f"{number}u"
    return "INT32_MIN" if number == -(2**31) else str(number)


def text_literal(text: str) -> str:
    """A string constant of any text, in UTF-8."""
    safe = "".join(chr(byte) if byte in PLAIN else f"\\{byte:03o}" for byte in text.encode())
    return f'"{safe}"'


def identifier(text: str, taken: Container[str] = ()) -> str:
    """A C identifier made of `text` that is no keyword and not among `taken`."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or "value"
    name = f"_{name}"[0 if name[0].isdigit() else 1 :]
    name = f"v{name}" if name[0] == "_" else name
    candidate, number = (f"{name}_" if name in KEYWORDS else name), 1
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def comment(lines: tuple[str, ...]) -> str:
    """One comment block of these lines."""
    return "/* " + "\n   ".join(map(in_a_comment, lines)) + " */" if lines else ""
