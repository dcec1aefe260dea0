"""Scalar expressions: what loop kernels compute and what every extent, stride, offset and buffer size is made of.

Nodes are frozen and hashable; constructors fold constants and identities, so that static shapes end up as literals.
Integer arithmetic means what program/semantics.py says: sums wrap, nothing traps. `//` and shifts to the right
are used on non-negative numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Union

import numpy as np

from edgec.ir.types import Dim, DType, Symbol
from edgec.program.semantics import to_integer, wrap

INT, FLOAT, BOOL = DType.INT32, DType.FLOAT32, DType.BOOL

UNARY = ("neg", "abs", "exp", "log", "sqrt", "tanh", "erf", "sigmoid", "sin", "cos", "floor", "ceil", "rint", "not", "bits")
BINARY = ("add", "sub", "mul", "div", "floordiv", "mod", "min", "max", "minimum", "maximum", "pow", "lt", "le", "eq", "and", "or",
          "xor", "shl", "shr")  # fmt: skip
PREDICATES = ("lt", "le", "eq")

Number = Union["Expr", int, float]


@dataclass(frozen=True)
class Expr:
    """Base of all scalar expressions; `dtype` is the type of the value it gives."""

    dtype: DType

    def __add__(self, other: Number) -> Expr:
        return binary("add", self, other)

    def __radd__(self, other: Number) -> Expr:
        return binary("add", other, self)

    def __sub__(self, other: Number) -> Expr:
        return binary("sub", self, other)

    def __rsub__(self, other: Number) -> Expr:
        return binary("sub", other, self)

    def __mul__(self, other: Number) -> Expr:
        return binary("mul", self, other)

    def __rmul__(self, other: Number) -> Expr:
        return binary("mul", other, self)

    def __truediv__(self, other: Number) -> Expr:
        return binary("div", self, other)

    def __rtruediv__(self, other: Number) -> Expr:
        return binary("div", other, self)

    def __floordiv__(self, other: Number) -> Expr:
        return binary("floordiv", self, other)

    def __mod__(self, other: Number) -> Expr:
        return binary("mod", self, other)

    def __neg__(self) -> Expr:
        return unary("neg", self)


@dataclass(frozen=True)
class Const(Expr):
    """A literal; -0.0 is another one than 0.0."""

    value: int | float | bool
    negative: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "negative", isinstance(self.value, float) and math.copysign(1, self.value) < 0)


@dataclass(frozen=True)
class Var(Expr):
    """A loop index or a named intermediate of a kernel."""

    name: str


@dataclass(frozen=True)
class Size(Expr):
    """A symbolic dimension, an argument of the package's run function: 1 <= value <= bound. counted: a call finds it, and it may be 0."""

    name: str
    bound: int
    counted: bool = False


@dataclass(frozen=True)
class Unary(Expr):
    op: str
    a: Expr


@dataclass(frozen=True)
class Binary(Expr):
    op: str
    a: Expr
    b: Expr


@dataclass(frozen=True)
class Select(Expr):
    """`a` where `condition` holds, else `b`; only the chosen side is evaluated (loads stay in bounds)."""

    condition: Expr
    a: Expr
    b: Expr


@dataclass(frozen=True)
class Cast(Expr):
    """Conversion to `dtype`; a float becomes an integer by program/semantics.py, to_integer."""

    a: Expr


@dataclass(frozen=True)
class Load(Expr):
    """Element `index` of the buffer called `buffer`."""

    buffer: str
    index: Expr


def const(value: int | float | bool, dtype: DType | None = None) -> Const:
    """A literal; a Python int is int32, a float float32, a bool bool unless `dtype` says otherwise."""
    if dtype is None:
        dtype = BOOL if isinstance(value, bool) else INT if isinstance(value, int) else FLOAT
    if dtype.is_float or dtype is BOOL:
        with np.errstate(over="ignore"):  # what is too large for the type is infinite there
            return Const(dtype, dtype.numpy.type(value).item())
    return Const(dtype, wrap(int(value), dtype.numpy))


def expr(value: Number, like: DType | None = None) -> Expr:
    """`value` as an expression; a plain number takes the type `like`."""
    return value if isinstance(value, Expr) else const(value, like)


def extent(dim: Dim) -> Expr:
    """A dimension of the graph as an expression."""
    return Size(INT, dim.name, dim.bound, dim.counted) if isinstance(dim, Symbol) else const(int(dim))


def var(name: str, dtype: DType = INT) -> Var:
    return Var(dtype, name)


def load(buffer: str, index: Number, dtype: DType) -> Load:
    return Load(dtype, buffer, expr(index))


def cast(a: Expr, dtype: DType) -> Expr:
    if a.dtype == dtype:
        return a
    if isinstance(a, Const):
        whole = a.dtype.is_float and not dtype.is_float and dtype is not BOOL
        return const(to_integer(a.dtype.numpy.type(a.value), dtype.numpy).item() if whole else a.value, dtype)
    if dtype is INT and isinstance(a, Cast) and a.dtype is DType.INT64 and a.a.dtype is INT:  # there and back
        return a.a
    return Cast(dtype, a)


def unary(op: str, a: Number) -> Expr:
    if op not in UNARY:
        raise ValueError(f"unknown unary operator {op!r}")
    a = expr(a)
    if op == "neg" and isinstance(a, Const):
        return const(-a.value, a.dtype)
    return Unary(a.dtype, op, a)


def bits(a: Expr, dtype: DType) -> Expr:
    """The bits of `a` as a value of another type of the same width."""
    return a if a.dtype is dtype else Unary(dtype, "bits", a)


def select(condition: Expr, a: Number, b: Number) -> Expr:
    first = expr(a, b.dtype if isinstance(b, Expr) else None)
    second = expr(b, first.dtype)
    if isinstance(condition, Const):
        return first if condition.value else second
    return first if first == second else Select(first.dtype, condition, first, second)


def minimum(a: Number, b: Number) -> Expr:
    """a < b ? a : b, and NaN where one of them is NaN."""
    return _extreme("minimum", "min", a, b)


def maximum(a: Number, b: Number) -> Expr:
    """a > b ? a : b, and NaN where one of them is NaN."""
    return _extreme("maximum", "max", a, b)


def _extreme(keeping: str, plain: str, a: Number, b: Number) -> Expr:
    """By the plain operation, which gives its second operand where one is NaN, when the first one is none."""
    first = expr(a, b.dtype if isinstance(b, Expr) else None)
    keeps = first.dtype.is_float and not (isinstance(first, Const) and first.value == first.value)
    return binary(keeping if keeps else plain, first, b)


def clamp(a: Number, low: Number, high: Number) -> Expr:
    """min(max(a, low), high) as integer clauses have it; a NaN gives `low` (max returns its second argument unless a > low)."""
    return binary("min", binary("max", a, low), high)


def clip(a: Number, low: Number | None, high: Number | None) -> Expr:
    """min(high, max(low, a)), None being no bound; a NaN in `a` stays, one in a bound is none."""
    raised = a if low is None else binary("max", low, a)
    return expr(raised) if high is None else binary("min", high, raised)


def logical(op: str, a: Expr, b: Expr) -> Expr:
    """and / or over conditions, with constants folded."""
    for first, second in ((a, b), (b, a)):
        if isinstance(first, Const):
            return second if bool(first.value) == (op == "and") else first
    return Binary(BOOL, op, a, b)


def _quotient(a: int, b: int) -> int:
    """Towards zero; 0 for b = 0."""
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_FOLD: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": _quotient, "floordiv": _quotient,
    "mod": lambda a, b: a - _quotient(a, b) * b if b else 0, "min": min, "max": max,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "eq": lambda a, b: a == b,
}  # fmt: skip


def binary(op: str, a: Number, b: Number) -> Expr:
    """`a op b` with integer constants folded and identities removed; float arithmetic is left as written."""
    if op not in BINARY:
        raise ValueError(f"unknown binary operator {op!r}")
    first = expr(a, b.dtype if isinstance(b, Expr) else None)
    second = expr(b, first.dtype)
    dtype = BOOL if op in PREDICATES else first.dtype
    if first.dtype.is_float:
        return Binary(dtype, op, first, second)
    if isinstance(first, Const) and isinstance(second, Const) and op in _FOLD:
        return const(_FOLD[op](first.value, second.value), dtype)
    return _identity(op, first, second) or _regroup(op, first, second) or Binary(dtype, op, first, second)


def _is(a: Expr, value: int) -> bool:
    return isinstance(a, Const) and a.value == value


def _identity(op: str, a: Expr, b: Expr) -> Expr | None:
    if op == "add" and _is(a, 0):
        return b
    if op in ("add", "sub") and _is(b, 0):
        return a
    if op == "mul" and (_is(a, 0) or _is(b, 1)):
        return a
    if op == "mul" and (_is(b, 0) or _is(a, 1)):
        return b
    if op in ("div", "floordiv") and _is(b, 1):
        return a
    if a.dtype.value.startswith("uint") and ((op == "lt" and _is(b, 0)) or (op == "le" and _is(a, 0))):
        return const(op == "le")  # compilers complain of such comparisons
    if op in ("mod", "div", "floordiv") and _is(b, 0):
        return const(0, a.dtype)
    if op == "mod" and _is(b, 1):
        return const(0, a.dtype)
    return None


def _regroup(op: str, a: Expr, b: Expr) -> Expr | None:
    """(x + 2) + 3 -> x + 5, (x * 2) * 3 -> x * 6; constants move to the right."""
    if op in ("add", "mul") and isinstance(a, Const):
        return binary(op, b, a)
    if op == "sub" and isinstance(b, Const):
        return binary("add", a, const(-b.value, b.dtype))
    if op in ("add", "mul") and isinstance(b, Const) and isinstance(a, Binary) and a.op == op and isinstance(a.b, Const):
        return binary(op, a.a, const(_FOLD[op](a.b.value, b.value), b.dtype))
    return None


def bound(size: Expr) -> int:
    """The largest value of a size expression: every symbol at its bound."""
    if isinstance(size, Const):
        return int(size.value)
    if isinstance(size, Size):
        return size.bound
    if isinstance(size, Binary) and size.op in _FOLD:
        return int(_FOLD[size.op](bound(size.a), bound(size.b)))
    raise ValueError(f"not a size expression: {size}")


def most(extent: Expr) -> Expr:
    """The largest number of an extent that a call counts, else the extent."""
    return const(extent.bound) if isinstance(extent, Size) and extent.counted else extent


def product(extents: tuple[Number, ...]) -> Expr:
    result: Expr = const(1)
    for item in extents:
        result = result * item
    return result


def real(value: float) -> Const:
    """A float32 literal that holds `value` rounded once."""
    return const(float(np.float32(value)), FLOAT)
