"""The tables of program/walk.py know every kind of expression and statement."""

from __future__ import annotations

from dataclasses import fields

import pytest

from edgec.ir.types import DType
from edgec.program.expr import BOOL, FLOAT, INT, Binary, Cast, Expr, Load, Select, Size, Unary, const, var
from edgec.program.program import Assign, Call, Declare, For, LoopCall, Store
from edgec.program.text import text
from edgec.program.walk import children, distinct, loads, rebuild, replaced, roots, statements, stores, subexpressions, substitute, walk

INDEX, X = var("i"), var("x", FLOAT)
EXAMPLES: dict[type[Expr], Expr] = {
    type(item): item
    for item in (
        const(3),
        INDEX,
        Size(INT, "n", 8),
        Unary(FLOAT, "exp", X),
        Binary(INT, "add", INDEX, const(1)),
        Select(FLOAT, Binary(BOOL, "lt", INDEX, INDEX), X, X),
        Cast(FLOAT, INDEX),
        Load(DType.UINT8, "t", INDEX),
    )
}


def nest() -> For:
    """for i < n: var v = x[i] * x[i]; for j from i: v += w[j]; y[i] = v"""
    v, j = var("v", FLOAT), var("j")
    loaded = Load(FLOAT, "x", INDEX)
    inner = For(j, const(4), (Assign(v, Binary(FLOAT, "add", v, Load(FLOAT, "w", j))),), start=INDEX)
    body = (Declare(v, Binary(FLOAT, "mul", loaded, loaded), mutable=True), inner, Store("y", INDEX, v))
    return For(INDEX, Size(INT, "n", 8), body)


def test_every_kind_of_expression_has_an_example() -> None:
    assert set(EXAMPLES) == set(Expr.__subclasses__())


@pytest.mark.parametrize("kind", EXAMPLES, ids=lambda kind: kind.__name__)
def test_children_are_all_fields_that_hold_expressions_and_rebuild_takes_them(kind: type[Expr]) -> None:
    item = EXAMPLES[kind]
    assert children(item) == tuple(value for field in fields(item) if isinstance(value := getattr(item, field.name), Expr))
    others = [Cast(child.dtype, child) for child in children(item)]
    changed = rebuild(item, others)
    assert children(changed) == tuple(others)
    assert rebuild(changed, children(item)) == item


def test_walks_see_operands_first_and_distinct_ones_once() -> None:
    total = Binary(INT, "mul", INDEX, INDEX)
    assert [text(part) for part in walk(total)] == ["i", "i", "(i * i)"]
    assert sorted(text(part) for part in distinct([total, total])) == ["(i * i)", "i"]


def test_what_is_replaced_is_not_looked_into_and_what_is_shared_stays_so() -> None:
    shared = Load(FLOAT, "x", INDEX)
    result = replaced(Binary(FLOAT, "add", shared, Unary(FLOAT, "exp", shared)), lambda part: const(1) if part == INDEX else None)
    assert text(result) == "(x[1] + exp(x[1]))"
    assert isinstance(result, Binary) and isinstance(result.b, Unary) and result.a is result.b.a
    assert text(replaced(shared, lambda part: Load(FLOAT, "y", part) if isinstance(part, Load) else None)) == "y[x[i]]"


def test_a_nest_is_walked_whole() -> None:
    loop = nest()
    assert [type(item).__name__ for item in statements([loop])] == ["For", "Declare", "For", "Assign", "Store"]
    assert [text(root) for root in roots([loop])] == ["n", "(x[i] * x[i])", "i", "4", "(v + w[j])", "i", "v"]
    assert (loads([loop]), stores([loop])) == (("w", "x"), ("y",))
    call = LoopCall(Call("c", (), (), (), (), 0), (loop,), parallel=True)
    assert [text(part) for part in subexpressions(call) if isinstance(part, Load)] == ["x[i]", "x[i]", "w[j]"]


def test_variables_are_replaced_in_bounds_bodies_and_starts() -> None:
    changed = substitute(nest(), {"i": const(2), "v": X})
    assert [text(root) for root in roots([changed])] == ["n", "(x[2] * x[2])", "2", "4", "(x + w[j])", "2", "x"]
