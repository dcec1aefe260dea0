"""Loop nests: from axes and statements to the simplified body of a LoopCall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from edgec.ir.types import DType
from edgec.lower.index import Simplifier
from edgec.program.expr import INT, Cast, Const, Expr, Load, Select, Size, Unary, Var, const, var
from edgec.program.program import Declare, For, Statement, Store
from edgec.program.walk import children, distinct, rebuild, roots, substitute

Axis = tuple[Var, Expr]  # a loop variable and its extent


def nest(axes: Sequence[Axis], body: Sequence[Statement]) -> tuple[Statement, ...]:
    """The loops `axes`, outermost first, around `body`: indices simplified, neighbours merged, shared work named.

    Axes of extent 1 get no loop; neighbouring loops that address memory as one loop would are merged.
    """
    single = {axis.name: const(0) for axis, size in axes if _is_one(size)}
    loops = [(axis, size) for axis, size in axes if not _is_one(size)]
    statements = tuple(substitute(statement, single) for statement in body) if single else tuple(body)
    statements = simplify(statements, {axis.name: size for axis, size in loops})
    if all(isinstance(statement, Store) for statement in statements):
        loops, statements = _merge(loops, statements)
        statements = _name_shared(statements)
    for axis, size in reversed(loops):
        statements = (For(axis, size, statements),)
    return statements


def simplify(statements: Sequence[Statement], ranges: Mapping[str, Expr]) -> tuple[Statement, ...]:
    """Every expression of `statements`, simplified; inner loops add to the ranges."""
    simple = Simplifier(ranges)

    def one(statement: Statement) -> Statement:
        if isinstance(statement, For):
            size = simple(statement.extent)
            # a loop that starts elsewhere has no known range
            inner = {**ranges, statement.var.name: size} if statement.start is None else dict(ranges)
            start = simple(statement.start) if statement.start is not None else None
            return replace(statement, extent=size, body=simplify(statement.body, inner), start=start)
        if isinstance(statement, Store):
            return Store(statement.buffer, simple(statement.index), simple(statement.value))
        return replace(statement, value=simple(statement.value))

    return tuple(one(statement) for statement in statements)


def _is_one(size: Expr) -> bool:
    return isinstance(size, Const) and size.value == 1


# Merging of neighbouring loops


def _merge(loops: list[Axis], statements: tuple[Statement, ...]) -> tuple[list[Axis], tuple[Statement, ...]]:
    """for a < A, for b < B with every index of the form (a * B + b) * k + rest  ->  for b < A * B."""
    level = len(loops) - 2
    while level >= 0:
        (outer, outer_size), (inner, inner_size) = loops[level], loops[level + 1]
        if isinstance(inner_size, Const) and _addresses_as_one(statements, loops, level, int(inner_size.value)):
            loops[level : level + 2] = [(inner, outer_size * inner_size)]
            statements = tuple(substitute(statement, {outer.name: const(0)}) for statement in statements)
            statements = simplify(statements, {axis.name: size for axis, size in loops})
        level -= 1
    return loops, statements


def _addresses_as_one(statements: Sequence[Statement], loops: Sequence[Axis], level: int, inner_size: int) -> bool:
    outer, inner = loops[level][0].name, loops[level + 1][0].name
    simple = Simplifier({axis.name: size for axis, size in loops})
    seen: set[int] = set()

    def fits(e: Expr) -> bool:
        if id(e) in seen:
            return True
        seen.add(id(e))
        if e.dtype != INT or isinstance(e, (Load, Select, Cast, Unary, Const, Size)):
            return all(fits(child) for child in children(e))
        terms, _ = simple.linear(simple(e))
        factors = {outer: 0, inner: 0}
        for atom, factor in terms.items():
            if isinstance(atom.e, Var):
                if atom.e.name in factors:
                    factors[atom.e.name] = factor
            elif not all(fits(child) for child in children(atom.e)):
                return False
        return factors[outer] == factors[inner] * inner_size

    return all(fits(e) for e in roots(statements))


# Shared work


def _name_shared(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Declares what is computed more than once. Nothing leaves a branch of a select: its loads may be out of bounds."""
    uses: Counter[int] = Counter()
    certain: list[Expr] = []  # children before parents
    seen: set[int] = set()

    def visit(e: Expr, sure: bool) -> None:
        uses[id(e)] += 1
        if id(e) in seen:
            return
        if not sure:
            return
        seen.add(id(e))
        for position, child in enumerate(children(e)):
            visit(child, not isinstance(e, Select) or position == 0)
        certain.append(e)

    for e in roots(statements):
        visit(e, True)
    names: dict[int, Var] = {}
    written: dict[int, Expr] = {}
    declared: list[Statement] = []

    def renamed(e: Expr) -> Expr:
        if id(e) in names:
            return names[id(e)]
        if id(e) not in written:
            written[id(e)] = rebuild(e, [renamed(child) for child in children(e)])
        return written[id(e)]

    for e in certain:
        if uses[id(e)] > 1 and _worth_a_name(e):
            value = renamed(e)
            names[id(e)] = var(f"v{len(names)}", e.dtype)
            declared.append(Declare(names[id(e)], value))
    if not declared:
        return statements
    return (*declared, *(Store(s.buffer, renamed(s.index), renamed(s.value)) for s in statements if isinstance(s, Store)))


def _worth_a_name(e: Expr) -> bool:
    """Loads and arithmetic on values; not indices, which compilers share by themselves."""
    if isinstance(e, (Const, Var, Size)):
        return False
    return isinstance(e, Load) or e.dtype not in (INT, DType.BOOL) or any(isinstance(part, Load) for part in distinct([e]))
