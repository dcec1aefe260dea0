"""Expressions and literals as C text; tests/emit/test_package.py compiles and runs them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgec.emit.c_text import comment, float_literal, identifier, literal
from edgec.emit.render_c import NoCForm, Scope, render, render_statements
from edgec.ir.types import DType
from edgec.program.expr import BOOL, FLOAT, INT, Binary, Cast, Unary, cast, clamp, const, expr, load, logical, select, unary, var
from edgec.program.program import For, Store

SCOPE = Scope({"t": "in", "u": "out"}, ranges={"i": (0, 1000), "j": (0, 1000)})
i, j, a, b = var("i"), var("j"), var("a", FLOAT), var("b", FLOAT)

LESS, NOT_MORE = Binary(BOOL, "lt", i, j), Binary(BOOL, "le", j, i)
NUMBER_OR_ZERO = select(Binary(BOOL, "eq", a, a), clamp(a * 2.0, -128.0, 127.0), 0.0)

TEXTS = [
    ((i + 1) * 3, "(i + 1) * 3"),
    (i * 3 + j, "i * 3 + j"),
    (i - (j - i), "i - (j - i)"),
    (i // 4 % 5, "i / 4 % 5"),
    (i // (j * 2), "edgec_div_i32(i, j * 2)"),
    (i // (j * 2 + 1), "i / (j * 2 + 1)"),
    (a * b + a, "a * b + a"),
    (a - (b + a), "a - (b + a)"),
    (a / (b / a), "a / (b / a)"),
    (unary("neg", -a), "-(-a)"),
    (a - expr(-1.5), "a - -1.5f"),
    (clamp(a, 0.0, 6.0), "edgec_min_f(edgec_max_f(a, 0.0f), 6.0f)"),
    (unary("exp", -a), "edgec_expf(-a)"),
    (select(Binary(BOOL, "lt", i, j), a, b), "i < j ? a : b"),
    (select(Binary(BOOL, "lt", i, j), a, b) * 2.0, "(i < j ? a : b) * 2.0f"),
    (
        logical("or", logical("and", LESS, NOT_MORE), Binary(BOOL, "eq", i, j)),
        "((i < j) && (j <= i)) || (i == j)",
    ),
    (cast(load("t", i, DType.UINT8), INT) - 128, "(int32_t)in[i] + -128"),
    (cast(a + b, DType.INT8), "(int8_t)(edgec_to_i32_f(a + b))"),
    (cast(clamp(a, -128.0, 127.0), DType.INT8), "(int8_t)edgec_min_f(edgec_max_f(a, -128.0f), 127.0f)"),
    (cast(unary("rint", clamp(a, -128.0, 127.0)), INT), "edgec_nearest(edgec_min_f(edgec_max_f(a, -128.0f), 127.0f))"),  # NaN is -128
    (cast(unary("rint", clamp(cast(i, FLOAT) * 0.5, -128.0, 127.0)), INT), "edgec_nearest_within((float)i * 0.5f, -128.0f, 127.0f)"),
    (cast(unary("rint", NUMBER_OR_ZERO), INT), "edgec_nearest_known(a, a * 2.0f, -128.0f, 127.0f)"),
    (cast(unary("rint", clamp(a, -128.0, b)), INT), "edgec_to_i32_f(edgec_rintf(edgec_min_f(edgec_max_f(a, -128.0f), b)))"),
    (cast(unary("rint", clamp(a, -128.0, 8388608.0)), INT), "(int32_t)edgec_rintf(edgec_min_f(edgec_max_f(a, -128.0f), 8388608.0f))"),
    (cast(unary("rint", a), INT), "edgec_to_i32_f(edgec_rintf(a))"),
    (load("t", i, INT) + 1, "edgec_add_i32(in[i], 1)"),
    (Binary(DType.UINT8, "add", load("t", i, DType.UINT8), load("t", j, DType.UINT8)), "(uint8_t)(in[i] + in[j])"),
    (Cast(BOOL, i), "i != 0"),
    (Unary(BOOL, "not", Binary(BOOL, "lt", i, j)), "!(i < j)"),
    (Binary(BOOL, "xor", Unary(BOOL, "not", LESS), NOT_MORE), "(!(i < j)) != (j <= i)"),
    (Binary(INT, "shl", i, const(3)), "(int32_t)((uint32_t)i << 3)"),
    (Binary(INT, "max", i, j), "edgec_max_i32(i, j)"),
]


@pytest.mark.parametrize(("expression", "text"), TEXTS, ids=[text for _, text in TEXTS])
def test_an_expression_has_only_the_parentheses_it_needs(expression, text) -> None:
    assert render(expression, SCOPE) == text


def test_index_arithmetic_that_is_used_twice_gets_a_name() -> None:
    at = (i * 7 + j) * 3
    body = (For(i, const(2), (For(j, const(7), (Store("u", at, load("t", at, FLOAT) + load("t", at + 1, FLOAT)),)),)),)
    assert list(render_statements(body, SCOPE)) == [
        "    for (int32_t i = 0; i < 2; i++) {",
        "        for (int32_t j = 0; j < 7; j++) {",
        "            const int32_t index = (i * 7 + j) * 3;",
        "            out[index] = in[index] + in[index + 1];",
        "        }",
        "    }",
    ]


def test_what_the_loops_around_decide_of_constants_is_read_before_a_loop() -> None:
    """Not what a choice may leave out, nor at a place that was read itself, nor what is no constant."""
    table, other = load("table", i, INT), load("t", i, FLOAT)
    chosen = select(Binary(BOOL, "lt", i, j), load("table", i + 1, INT), 3)
    value = load("t", j + table * 8, FLOAT) + other + cast(chosen, FLOAT) + cast(load("table", table, INT), FLOAT)
    buffers = {"t": "in", "u": "out", "table": "table"}
    scope = Scope(buffers, ranges={"i": (0, 1), "j": (0, 6), "table[]": (0, 9)}, constants=frozenset({"table"}))
    body = (For(i, const(2), (For(j, const(7), (Store("u", j, value),)),)),)
    assert list(render_statements(body, scope)) == [
        "    for (int32_t i = 0; i < 2; i++) {",
        "        const int32_t held = table[i];",
        "        for (int32_t j = 0; j < 7; j++) {",
        "            out[j] = in[j + held * 8] + in[i] + (float)(i < j ? table[i + 1] : 3) + (float)table[held];",
        "        }",
        "    }",
    ]


@pytest.mark.parametrize("rounds, stays", [(2, True), (3, False)])
def test_two_rounds_of_reads_that_a_choice_leaves_out_stay_a_loop(rounds: int, stays: bool) -> None:
    """And no other loop does: neither of more rounds, nor with what is read in any case."""
    read, place = load("t", i * rounds + j - 2 * rounds, FLOAT), i * rounds + j
    for value, taken in ((select(Binary(BOOL, "lt", const(1), i), read, 0.0), stays), (read, False)):
        lines = list(render_statements((For(i, const(9), (For(j, const(rounds), (Store("u", place, value),)),)),), SCOPE))
        assert [line.strip() for line in lines[:3]].count("EDGEC_STAYS_A_LOOP") == taken
        assert not taken or (lines[1] == "        EDGEC_STAYS_A_LOOP" and lines[2].strip().startswith("for (int32_t j = 0; "))


def test_a_name_given_to_an_index_hides_no_variable() -> None:
    index = var("index")
    at = index * 4 + 1
    scope = Scope({"t": "in", "u": "out"}, taken=frozenset({"index"}), ranges={"index": (0, 9)})
    lines = list(render_statements((For(index, const(2), (Store("u", at, load("t", at, FLOAT)),)),), scope))
    assert lines[1].strip() == "const int32_t index_2 = index * 4 + 1;"


def test_a_changing_variable_is_never_part_of_a_name() -> None:
    at = i * 4 + 1
    lines = list(
        render_statements(
            (Store("u", at, load("t", at, FLOAT)),), Scope({"t": "in", "u": "out"}, mutable=frozenset({"i"}), ranges={"i": (0, 9)})
        )
    )
    assert lines == ["    out[i * 4 + 1] = in[i * 4 + 1];"]


def test_what_c_cannot_say_is_an_error() -> None:
    with pytest.raises(NoCForm):
        render(Binary(FLOAT, "shl", a, b), SCOPE)
    with pytest.raises(NoCForm):
        render(Unary(DType.FLOAT64, "exp", var("d", DType.FLOAT64)), SCOPE)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float_literal_is_the_value_exactly(value: float) -> None:
    text = float_literal(value)
    digits = text.removesuffix("f")
    read = float.fromhex(digits) if "x" in digits else float(digits)
    assert read == value and np.signbit(read) == np.signbit(value)
    assert any(mark in digits for mark in ".xe"), "an f suffix needs a floating constant"


def test_literals_of_every_type() -> None:
    assert literal(-(2**31), INT) == "INT32_MIN"
    assert literal(-(2**63), DType.INT64) == "INT64_MIN"
    assert literal(7, DType.UINT32) == "7u"
    assert literal(True, BOOL) == "1"
    assert float_literal(float("-inf")) == "-EDGEC_INFINITY"
    assert float_literal(0.1) == "0x1.99999ap-4f"
    assert float_literal(-0.0) == "-0.0f"


def test_identifiers_and_comments_are_always_legal() -> None:
    assert identifier("/features/1/conv") == "features_1_conv"
    assert identifier("1x") == "v_1x"
    assert identifier("while") == "while_"
    assert identifier("a", {"a", "a_2"}) == "a_3"
    assert comment(("ends */ early", "??/ trigraph")) == "/* ends * / early\n   ? ?/ trigraph */"
