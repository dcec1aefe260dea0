"""What only a branch of a choice reads is read before it, where memory chooses and the place is inside whatever is chosen."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import parser

import edgec
from edgec.emit.early import early_reads
from edgec.emit.render_c import Scope, render_statements
from edgec.program.expr import BOOL, FLOAT, INT, Binary, Expr, Load, cast, const, load, logical, select, var
from edgec.program.program import Declare, For, Store

i, j = var("i"), var("j")
READ, MASK = load("t", i, FLOAT), load("m", j, FLOAT)
CHOSEN, INSIDE = Binary(BOOL, "lt", MASK, const(1.0, FLOAT)), Binary(BOOL, "le", const(2), i)
ZERO = const(0.0, FLOAT)
AT = load("places", j, INT)
V, SLOPE = var("v", FLOAT), load("slope", j, FLOAT)
BELOW = Binary(BOOL, "lt", V, ZERO)

CASES: list[tuple[str, Expr, list[Expr]]] = [
    ("a mask", select(CHOSEN, READ, ZERO), [READ]),
    ("both branches", select(CHOSEN, READ, load("u", j, FLOAT)), [READ, load("u", j, FLOAT)]),
    ("what the condition reads, too", select(Binary(BOOL, "lt", READ, ZERO), READ * 2.0, READ), []),
    ("a place that is kept inside", select(INSIDE, load("t", i - 2, FLOAT), ZERO), []),
    ("a mask and a place that is kept inside", select(logical("and", INSIDE, CHOSEN), load("t", i - 2, FLOAT), ZERO), []),
    ("a place that is kept inside, behind a mask", select(CHOSEN, select(INSIDE, load("t", i - 2, FLOAT), ZERO), ZERO), []),
    ("what a variable chooses", select(BELOW, SLOPE * V, V), [SLOPE]),
    ("choices in each other", select(BELOW, SLOPE, select(CHOSEN, READ, ZERO)), [SLOPE, MASK, READ]),
    ("a variable that is no data", select(Binary(BOOL, "lt", var("w", FLOAT), ZERO), SLOPE * V, V), []),
    ("a place that changes", select(BELOW, load("t", var("m"), FLOAT) * V, V), []),
    ("a place that a variable has", select(BELOW, load("t", var("at"), FLOAT), V), []),
    ("a place that is kept inside, for a variable", select(INSIDE, load("t", i - 2, FLOAT) * V, ZERO), []),
    ("a place that is read", select(Binary(BOOL, "lt", AT, const(9)), load("t", AT, FLOAT), ZERO), []),
]


@pytest.mark.parametrize(("choice", "found"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_which(choice: Expr, found: list[Load]) -> None:
    assert early_reads([choice], {"v", "at"}, {"m"}) == found


def test_what_is_read_chooses_by_its_name() -> None:
    product, scope = select(BELOW, SLOPE * V, V), Scope({"t": "in", "slope": "table"})
    text = list(render_statements((For(i, const(3), (Declare(V, READ), Store("t", i, product))),), scope))
    assert [line.strip() for line in text[1:-1]] == [
        "const float v = in[i];",
        "const float value = table[j];",
        "in[i] = v < 0.0f ? value * v : v;",
    ]
    free = For(i, const(3), (Declare(V, cast(i, FLOAT)), Store("t", i, product)))  # a number of the loop may keep places inside
    assert "in[i] = v < 0.0f ? table[j] * v : v;" in "\n".join(render_statements((free,), scope))


def test_names_are_new_in_each_statement() -> None:
    """What a statement stores may be what the next one reads."""
    twice = tuple(Store("t", i, select(CHOSEN, READ, ZERO)) for _ in range(2))
    text = list(render_statements((For(i, const(3), twice),), Scope({"t": "in", "m": "mask"})))
    assert [line.strip() for line in text[1:-1]] == [
        "const float value = in[i];",
        "in[i] = mask[j] < 1.0f ? value : 0.0f;",
        "const float value_2 = in[i];",
        "in[i] = mask[j] < 1.0f ? value_2 : 0.0f;",
    ]


@pytest.mark.parametrize(
    "text",
    [
        '(uint64[2,3,6] x) => (y) <uint64[2,1,6] n = {7,18,18,61,18,16,46,59,3,49,17,52}> { y = BitShift<direction = "RIGHT">(x, n) }',
        "(float[19,2,4] x, bool[19,1,4] m) => (y) <float zero = {0}> { y = Where(m, x, zero) }",
        "(float[24,2] x, int64[40,2] z) => (y, u) <int64[4] p = {2,0,2,0}> { y = Pad(x, p) u = Pad(z, p) }",
    ],
    ids=["BitShift", "Where", "Pad"],
)
def test_masked_reads_read_what_they_should(tmp_path: Path, text: str) -> None:
    """gcc 12 with -O3 and AVX2 once took the rows of the mask for those that are read, or the mask of some for others: the exam says so."""
    onnx.save(parser.parse_model(f'<ir_version: 10, opset_import: ["": 22]> g {text}'), tmp_path / "model.onnx")
    package = edgec.build(tmp_path / "model.onnx", target="host", precision="fp32", cc="gcc", out=tmp_path / "package")
    assert package.examine()
