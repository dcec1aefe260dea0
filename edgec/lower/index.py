"""Index arithmetic: rewrites integer expressions with what is known of the loop variables' ranges."""

from __future__ import annotations

from collections.abc import Mapping

from edgec.program.expr import BOOL, INT, Binary, Cast, Const, Expr, Load, Select, Size, Unary, Var, binary, cast, const, logical, select
from edgec.program.walk import children, rebuild

Interval = tuple[float, float]
UNKNOWN: Interval = (float("-inf"), float("inf"))
_LEAST, _MOST = -(2**31), 2**31 - 1


class Simplifier:
    """Simplifies expressions under `ranges`: loop variable -> extent, so that 0 <= variable < extent.

    Structurally equal expressions come out as one object, so identity tells whether two are the same.
    Sums are kept in the linear form `coefficient * atom + ... + constant`; an atom is whatever is not itself a sum.
    """

    def __init__(self, ranges: Mapping[str, Expr]) -> None:
        self.ranges = ranges
        self._done: dict[int, Expr] = {}
        self._alive: list[Expr] = []  # keeps the memo's keys from being reused
        self._interned: dict[tuple[object, ...], Expr] = {}
        self._one: dict[int, Expr] = {}
        self._data: dict[int, bool] = {}

    def __call__(self, e: Expr) -> Expr:
        known = self._done.get(id(e))
        if known is None:
            known = self._intern(self._rewrite(e))
            self._done[id(e)] = self._done[id(known)] = known
            self._alive += [e, known]
        return known

    # One node, its children first

    def _rewrite(self, e: Expr) -> Expr:
        if isinstance(e, Load):
            return Load(e.dtype, e.buffer, self(e.index))
        if isinstance(e, Cast):
            return cast(self(e.a), e.dtype)
        if isinstance(e, Unary):
            return self._unary(e.op, self(e.a), e)
        if isinstance(e, Select):
            condition = self(e.condition)
            if isinstance(condition, Const):
                return self(e.a) if condition.value else self(e.b)
            return select(condition, self(e.a), self(e.b))
        if isinstance(e, Binary):
            return self._binary(e.op, self(e.a), self(e.b), e)
        return e

    def _unary(self, op: str, a: Expr, e: Unary) -> Expr:
        if op == "not" and isinstance(a, Const):
            return const(not a.value)
        return Unary(e.dtype, op, a)

    def _binary(self, op: str, a: Expr, b: Expr, e: Binary) -> Expr:
        if e.dtype == BOOL and op in ("and", "or"):
            return logical(op, a, b)
        if a.dtype != INT:
            return Binary(e.dtype, op, a, b)
        if op in ("add", "sub") or (op == "mul" and isinstance(b, Const)):
            return self.build(*self.linear(Binary(INT, op, a, b)))
        if op in ("floordiv", "mod") and isinstance(b, Const) and b.value > 0:
            return self._divide(op, a, int(b.value))
        return self._compare(op, a, b) or binary(op, a, b)

    def _compare(self, op: str, a: Expr, b: Expr) -> Expr | None:
        (low_a, high_a), (low_b, high_b) = self.interval(a), self.interval(b)
        if op in ("min", "max"):
            if high_a <= low_b:
                return a if op == "min" else b
            if high_b <= low_a:
                return b if op == "min" else a
        if op == "lt" and (high_a < low_b or low_a >= high_b):
            return const(high_a < low_b)
        if op == "le" and (high_a <= low_b or low_a > high_b):
            return const(high_a <= low_b)
        if op == "eq" and (high_a < low_b or low_a > high_b):
            return const(False)
        return None

    def _divide(self, op: str, a: Expr, divisor: int) -> Expr:
        """(divisor * q + r) / divisor, by terms; only when the rest r cannot be negative, since C truncates. Data may be, and may wrap."""
        if self._is_data(a) and self.interval(a)[0] < 0:
            return binary(op, a, divisor)
        terms, constant = self.linear(a)
        whole = {atom: factor // divisor for atom, factor in terms.items() if factor % divisor == 0}
        part = {atom: factor for atom, factor in terms.items() if factor % divisor}
        rest = self.build(part, constant % divisor)
        low, high = self.interval(rest)
        if low < 0:
            return binary(op, a, divisor)
        if op == "mod":
            return rest if high < divisor else binary("mod", rest, divisor)
        total, offset = self.linear(const(0) if high < divisor else self._quotient(rest, divisor))
        for atom, factor in whole.items():
            total[atom] = total.get(atom, 0) + factor
        return self.build(total, offset + constant // divisor)

    def _quotient(self, rest: Expr, divisor: int) -> Expr:
        """(x // c) // divisor -> x // (c * divisor)"""
        if isinstance(rest, Binary) and rest.op == "floordiv" and isinstance(rest.b, Const):
            return binary("floordiv", rest.a, int(rest.b.value) * divisor)
        return binary("floordiv", rest, divisor)

    # Linear forms; atoms are interned expressions, keyed by themselves through their identity

    def linear(self, e: Expr) -> tuple[dict[Atom, int], int]:
        """The simplified `e` as sum(factor * atom) + constant."""
        if isinstance(e, Const):
            return {}, int(e.value)
        if isinstance(e, Binary) and e.dtype == INT and e.op in ("add", "sub"):
            (terms, constant), (others, offset) = self.linear(e.a), self.linear(e.b)
            sign = 1 if e.op == "add" else -1
            for atom, factor in others.items():
                terms[atom] = terms.get(atom, 0) + sign * factor
            return {atom: factor for atom, factor in terms.items() if factor}, constant + sign * offset
        if isinstance(e, Binary) and e.dtype == INT and e.op == "mul" and isinstance(e.b, Const):
            terms, constant = self.linear(e.a)
            scale = int(e.b.value)
            return {atom: factor * scale for atom, factor in terms.items() if scale}, constant * scale
        return {Atom(self._intern(e)): 1}, 0

    def build(self, terms: dict[Atom, int], constant: int) -> Expr:
        """The sum as an expression: positive terms, the constant, negative terms."""
        terms = self._rejoin(terms)
        total: Expr = const(0)
        for atom, factor in terms.items():
            if factor > 0:
                total = binary("add", total, self._intern(binary("mul", atom.e, factor)))
        total = binary("add", total, const(constant))
        for atom, factor in terms.items():
            if factor < 0:
                total = binary("sub", total, self._intern(binary("mul", atom.e, -factor)))
        return total

    def _rejoin(self, terms: dict[Atom, int]) -> dict[Atom, int]:
        """(x // c) * c * k + (x % c) * k -> x * k"""
        for atom, factor in terms.items():
            e = atom.e
            if not (isinstance(e, Binary) and e.op == "mod" and isinstance(e.b, Const)):
                continue
            divisor = int(e.b.value)
            partner = Atom(self._intern(self._quotient(e.a, divisor)))
            inner, constant = self.linear(e.a)
            if constant == 0 and terms.get(partner) == factor * divisor:
                rest = {key: value for key, value in terms.items() if key not in (atom, partner)}
                for key, value in inner.items():
                    rest[key] = rest.get(key, 0) + value * factor
                return self._rejoin({key: value for key, value in rest.items() if value})
        return terms

    # Ranges

    def interval(self, e: Expr) -> Interval:
        """Bounds of an integer expression, both inclusive."""
        if isinstance(e, Const):
            return float(e.value), float(e.value)
        if isinstance(e, Size):
            return 0 if e.counted else 1, e.bound
        if isinstance(e, Var):
            return (0, self.interval(self.ranges[e.name])[1] - 1) if e.name in self.ranges else UNKNOWN
        if isinstance(e, Binary) and e.dtype == INT:
            found = _combine(e.op, self.interval(e.a), self.interval(e.b))
            return found if e.op in ("min", "max") or not self._is_data(e) or (found[0] >= _LEAST and found[1] <= _MOST) else UNKNOWN
        return UNKNOWN

    def _is_data(self, e: Expr) -> bool:
        """Whether more than loop variables and sizes makes the value: data, which may be any integers."""
        if id(e) not in self._data:
            data = isinstance(e, Load) or (isinstance(e, Var) and e.name not in self.ranges) or any(map(self._is_data, children(e)))
            self._data[id(e)] = data
            self._alive.append(e)
        return self._data[id(e)]

    def _intern(self, e: Expr) -> Expr:
        """The one object that stands for every expression equal to `e`."""
        if id(e) in self._one:
            return self._one[id(e)]
        operands = [self._intern(child) for child in children(e)]
        same = rebuild(e, operands)
        key = (type(e), e.dtype, *map(id, operands), *(getattr(e, name, None) for name in ("op", "name", "buffer", "bound")))
        found = self._interned.setdefault((*key, repr(e.value)) if isinstance(e, Const) else key, same)
        self._one[id(e)] = self._one[id(found)] = found
        self._alive += [e, found]
        return found


class Atom:
    """An expression as a dictionary key, compared by identity; interned expressions make that equality."""

    __slots__ = ("e",)

    def __init__(self, e: Expr) -> None:
        self.e = e

    def __hash__(self) -> int:
        return id(self.e)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Atom) and other.e is self.e


def _combine(op: str, a: Interval, b: Interval) -> Interval:
    if op == "add":
        return a[0] + b[0], a[1] + b[1]
    if op == "sub":
        return a[0] - b[1], a[1] - b[0]
    if op == "min":
        return min(a[0], b[0]), min(a[1], b[1])
    if op == "max":
        return max(a[0], b[0]), max(a[1], b[1])
    if UNKNOWN[0] in a or UNKNOWN[1] in a or UNKNOWN[0] in b or UNKNOWN[1] in b:
        return UNKNOWN
    if op == "mul":
        corners = [x * y for x in a for y in b]
        return min(corners), max(corners)
    if op == "floordiv" and b[0] > 0 and a[0] >= 0:
        return a[0] // b[1], a[1] // b[0]
    if op == "mod" and b[0] > 0 and a[0] >= 0:
        return 0, min(a[1], b[1] - 1)
    return UNKNOWN
