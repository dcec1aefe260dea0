"""Between which values an expression lies, so that what cannot overflow is not wrapped and what is exact is not rounded."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from edgec.ir.types import DType
from edgec.program.expr import Binary, Cast, Const, Expr, Load, Select, Size, Unary, Var
from edgec.program.program import Declare, For, LoopCall, Program, Statement

Range = tuple[float, float]
Known = Mapping[str, Range]  # of variables, and of what buffers hold
ANY: Range = (-math.inf, math.inf)
NOTHING: Known = {}


def range_of(item: Expr, known: Known = NOTHING) -> Range:
    """The least and the largest value, infinite where nothing is known. A NaN lies in every range."""
    if isinstance(item, Const):
        return ANY if item.dtype is DType.BOOL or math.isnan(item.value) else (item.value, item.value)
    if isinstance(item, Size):
        return 0 if item.counted else 1, item.bound
    if isinstance(item, Load):
        return known.get(contents(item.buffer), of_type(item.dtype))
    if isinstance(item, Var):
        return known.get(item.name, of_type(item.dtype))
    if isinstance(item, Select):
        a, b = range_of(item.a, known), range_of(item.b, known)
        return min(a[0], b[0]), max(a[1], b[1])
    if isinstance(item, (Binary, Cast, Unary)):
        return _wrapped(item.dtype, before_wrap(item, known))
    return of_type(item.dtype)


def before_wrap(item: Binary | Cast | Unary, known: Known = NOTHING) -> Range:
    """The range of what an operation gives before it is cut to the width of its type."""
    if isinstance(item, Cast):
        return of_type(item.a.dtype) if item.a.dtype is DType.BOOL else range_of(item.a, known)
    a = range_of(item.a, known)
    if isinstance(item, Unary):
        return _unary(item.op, a)
    b = range_of(item.b, known)
    if item.op in ("min", "minimum"):  # the second operand where the first is NaN
        return min(a[0], b[0]), min(a[1], b[1])
    if item.op in ("max", "maximum"):
        return max(a[0], b[0]), max(a[1], b[1])
    if item.op == "add":
        return a[0] + b[0], a[1] + b[1]
    if item.op == "sub":
        return a[0] - b[1], a[1] - b[0]
    if not all(map(math.isfinite, (*a, *b))):
        return (0, b[1] - 1) if item.op == "mod" and a[0] >= 0 and b[0] > 0 else ANY
    if item.op == "mul":
        corners = [one * other for one in a for other in b]
        return min(corners), max(corners)
    if item.op in ("floordiv", "div", "mod") and a[0] >= 0 and b[0] > 0 and not item.dtype.is_float:
        return (0, min(a[1], b[1] - 1)) if item.op == "mod" else (a[0] // b[1], a[1] // b[0])
    return ANY


def _unary(op: str, a: Range) -> Range:
    if op == "neg":
        return -a[1], -a[0]
    if op == "abs":
        return max(0, a[0], -a[1]), max(-a[0], a[1])
    return (math.floor(a[0]), math.ceil(a[1])) if op in ("rint", "floor", "ceil") and all(map(math.isfinite, a)) else ANY


def fits(found: Range, dtype: DType) -> bool:
    """Whether all of a range are values of an integer type."""
    low, high = limits(dtype)
    return low <= found[0] and found[1] <= high


def is_number(item: Expr) -> bool:
    """Whether a value is never NaN, whatever is in memory."""
    if isinstance(item, Const):
        return not math.isnan(item.value)
    if isinstance(item, Binary) and item.op in ("min", "max"):
        return is_number(item.b)
    if isinstance(item, Select):
        return is_number(item.b) and (is_number(item.a) or _asks_for_number(item.condition, item.a))
    if isinstance(item, Unary):
        return item.op in ("neg", "abs", "rint", "floor", "ceil") and is_number(item.a)
    if isinstance(item, Binary) and item.op in ("add", "sub", "mul"):
        return is_number(item.a) and is_number(item.b) and all(map(math.isfinite, (*range_of(item.a), *range_of(item.b))))
    return isinstance(item, Cast) and not item.a.dtype.is_float


def _asks_for_number(condition: Expr, value: Expr) -> bool:
    return isinstance(condition, Binary) and condition.op == "eq" and condition.a == condition.b == value


def limits(dtype: DType) -> tuple[int, int]:
    """The least and the largest value of an integer type."""
    values = 1 << dtype.bytes * 8
    return (0, values - 1) if dtype.value.startswith("u") else (-values // 2, values // 2 - 1)


def of_type(dtype: DType) -> Range:
    if dtype is DType.BOOL:
        return 0, 1
    return ANY if dtype.is_float else limits(dtype)


def _wrapped(dtype: DType, found: Range) -> Range:
    """The range after it: unchanged where it fits into the type."""
    return found if dtype.is_float or fits(found, dtype) else of_type(dtype)


def contents(buffer: str) -> str:
    """The name of a buffer's elements in Known, which is no variable's."""
    return f"{buffer}[]"


def of_call(program: Program, call: LoopCall) -> dict[str, Range]:
    """The ranges of a nest's variables, over all of one name that no Assign changes, and of buffers whose elements are known or limited."""
    found: dict[str, Range] = {}
    for name in call.call.reads:
        buffer = program.buffers[name]
        if buffer.below is not None:
            found[contents(name)] = 0, range_of(buffer.below)[1] - 1
        elif buffer.data is not None and buffer.data.size and buffer.data.dtype.kind in "iu":
            found[contents(name)] = int(buffer.data.min()), int(buffer.data.max())
    mutable: set[str] = set()
    _collect(call.body, found, mutable)
    return {name: range_ for name, range_ in found.items() if name not in mutable}


def _collect(body: Iterable[Statement], found: dict[str, Range], mutable: set[str]) -> None:
    for item in body:
        if isinstance(item, Declare):
            if item.mutable:
                mutable.add(item.var.name)
            known = {name: range_ for name, range_ in found.items() if name not in mutable}
            _widen(found, item.var.name, range_of(item.value, known))
        if not isinstance(item, For):
            continue
        start = (0, 0) if item.start is None else range_of(item.start, found)
        count = range_of(item.extent, found)
        _widen(found, item.var.name, (start[0], max(start[0], start[1] + count[1] - 1)))
        _collect(item.body, found, mutable)


def _widen(found: dict[str, Range], name: str, range_: Range) -> None:
    before = found.get(name, range_)
    found[name] = min(before[0], range_[0]), max(before[1], range_[1])
