"""Index arithmetic: a simplified expression has the value of the original at every position."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from edgec.lower.index import Simplifier
from edgec.program.expr import Binary, Const, Expr, Select, Var, binary, const, select, var
from edgec.program.text import text

EXTENTS = {"i": 3, "j": 4, "k": 5}


def value(e: Expr, at: dict[str, int]) -> int:
    if isinstance(e, Const):
        return int(e.value)
    if isinstance(e, Var):
        return at[e.name]
    if isinstance(e, Select):
        return value(e.a if value(e.condition, at) else e.b, at)
    assert isinstance(e, Binary)
    a, b = value(e.a, at), value(e.b, at)
    if e.op in ("floordiv", "mod"):
        assert a >= 0 and b > 0, "C divides negative numbers otherwise"
    table = {
        "add": a + b, "sub": a - b, "mul": a * b, "min": min(a, b), "max": max(a, b), "lt": a < b, "le": a <= b, "eq": a == b,
        "and": a and b, "or": a or b,
    }  # fmt: skip
    return int(a // b if e.op == "floordiv" else a % b if e.op == "mod" else table[e.op])


leaves = st.one_of(st.sampled_from([var(name) for name in EXTENTS]), st.integers(0, 9).map(const))


def grown(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    numbers = st.integers(1, 12)
    return st.one_of(
        st.builds(lambda a, b: a + b, children, children),
        st.builds(lambda a, n: a * n, children, numbers),
        st.builds(lambda a, n: a // n, children, numbers),
        st.builds(lambda a, n: a % n, children, numbers),
        st.builds(lambda a, b: binary("min", a, b), children, children),
        st.builds(lambda a, b, c: select(binary("lt", a, b), c, a), children, children, children),
    )


@settings(max_examples=300, deadline=None)
@given(st.recursive(leaves, grown, max_leaves=8))
def test_the_value_stays(e: Expr) -> None:
    simple = Simplifier({name: const(size) for name, size in EXTENTS.items()})(e)
    for place in product(*(range(size) for size in EXTENTS.values())):
        at = dict(zip(EXTENTS, place, strict=True))
        assert value(simple, at) == value(e, at)


def simplified(e: Expr) -> str:
    return text(Simplifier({name: const(size) for name, size in EXTENTS.items()})(e))


def test_splitting_and_joining_an_index_cancel() -> None:
    i, j = var("i"), var("j")
    assert simplified((i * 4 + j) // 4) == "i"
    assert simplified((i * 4 + j) % 4) == "j"
    assert simplified(((i * 4 + j) // 2) * 2 + (i * 4 + j) % 2) == "((i * 4) + j)"
    assert simplified(binary("min", i + 1, 7)) == "(i + 1)"
    assert simplified(select(binary("lt", i, 3), i, j)) == "i"
