"""Expressions as shaders: random ones of every type against plain numpy, and special numbers, in all variants and both modes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from edgec.emit.constants import layout_constants
from edgec.emit.gpu.placement import place
from edgec.emit.gpu.render import NoShaderForm, Scope, literal, name_of, render
from edgec.ir.types import DType
from edgec.lower.plan import plan
from edgec.program import expr as ex
from edgec.program import semantics
from edgec.program.expr import BOOL, FLOAT, INT, Binary, Cast, Const, Expr, cast, const, load, select, unary, var
from edgec.program.program import For, Kind, Program, Store
from tests.emit import test_random_expressions
from tests.emit.programs import buffer, evaluate, loop, port
from tests.emit.programs import value as value_of
from tests.emit.test_random_expressions import extremes
from tests.gpu.cases import target_with_gpu
from tests.gpu.lavapipe import VARIANTS
from tests.gpu.programs import run_program

TARGET = target_with_gpu("portable")
i = var("i")


def test_random_expressions_give_numpys_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of 64-bit arithmetic stay on the CPU; all others run."""
    monkeypatch.setattr(test_random_expressions, "COUNT", 32)
    program = test_random_expressions.random_program()
    layout_constants(program)
    kept = [index for index, reason in enumerate(place(program, TARGET)) if not reason]
    assert len(kept) > len(program.calls) // 2
    program.calls = [program.calls[index] for index in kept]
    names = {name for call in program.calls for name in call.call.writes}
    inputs = {item.name: np.zeros(1, np.float32) for item in program.inputs}
    expected = evaluate(program, inputs)
    for item, found in zip(program.outputs, run_program(program, TARGET, list(inputs.values())), strict=True):
        if item.buffer not in names:
            continue
        wanted = np.asarray(expected[item.name]).reshape(found.shape)
        equal = np.isclose(found, wanted, 1e-6, 1e-7, equal_nan=True) if item.dtype is FLOAT else found == wanted
        assert equal.all(), f"{item.name}: {found[~equal]} instead of {wanted[~equal]}"


def run_expressions(
    expressions: list[Expr], data: dict[str, np.ndarray], variant: str = "base", quantized: bool = False, together: bool = True
) -> list[np.ndarray]:
    """Each expression at every i of the first array of `data`; all of them in one shader if `together`."""
    program = Program("test", "host")
    count = len(next(iter(data.values())))
    port(program, "unused", FLOAT, (1,), Kind.INPUT)
    for name, values in data.items():
        buffer(program, name, DType(str(values.dtype)), len(values), Kind.CONSTANT, values)
    for number, item in enumerate(expressions):
        port(program, f"y{number}", item.dtype, (count,), Kind.OUTPUT)
    stores = [Store(f"y{number}", i, item) for number, item in enumerate(expressions)]
    for number, body in enumerate([tuple(stores)] if together else [(store,) for store in stores]):
        loop(program, f"loop_{number}", (For(i, const(count), body),), tuple(data), tuple(store.buffer for store in body))
    if quantized:
        buffer(program, "codes", DType.INT8, 64, Kind.ARENA)
    plan(program)
    return run_program(program, TARGET, [np.zeros(1, np.float32)], variant)


SPECIAL = np.float32([math.nan, math.inf, -math.inf, 0.0, -0.0, 1, -1, 0.5, 1.5, 2.5, -0.5, -2.5, 3.4e38, -3.4e38, 1e-30, 8388609, 0.1])


@pytest.mark.parametrize("quantized", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
def test_special_numbers_compute_and_compare_as_in_numpy(variant: str, quantized: bool) -> None:
    left, right = (grid.reshape(-1).copy() for grid in np.meshgrid(SPECIAL, SPECIAL))
    a, b = load("a", i, FLOAT), load("b", i, FLOAT)
    with np.errstate(all="ignore"):
        cases: list[tuple[Expr, np.ndarray]] = [
            (a + b, left + right), (a - b, left - right), (a * b, left * right), (-a, -left), (unary("abs", a), np.abs(left)),
            (ex.binary("min", a, b), np.where(left < right, left, right)), (ex.binary("max", a, b), np.where(left > right, left, right)),
                (ex.minimum(a, b), semantics.minimum(left, right)), (ex.maximum(a, b), semantics.maximum(left, right)),
                (ex.clip(a, -1.0, 1.0), np.clip(left, -1, 1)), (cast(a, INT), semantics.convert(left, np.dtype(np.int32))),
                (cast(a, DType.UINT32), semantics.convert(left, np.dtype(np.uint32))),
            (cast(a, DType.INT8), semantics.convert(left, np.dtype(np.int8))),
            (Binary(BOOL, "lt", a, b), left < right), (Binary(BOOL, "le", a, b), left <= right), (Binary(BOOL, "eq", a, b), left == right),
            (Binary(BOOL, "eq", a, a), left == left), (unary("not", Binary(BOOL, "eq", a, a)), left != left),
            (unary("rint", a), np.rint(left)), (unary("floor", a), np.floor(left)), (unary("ceil", a), np.ceil(left)),
            (ex.clamp(a, -1.0, 1.0), np.where(left > -1, np.minimum(left, 1), -1).astype(np.float32)),
            (select(Binary(BOOL, "lt", a, b), a, const(7.0)), np.where(left < right, left, np.float32(7))),
        ]  # fmt: skip
    found = run_expressions([item for item, _ in cases], {"a": left, "b": right}, variant, quantized)
    for (item, wanted), result in zip(cases, found, strict=True):
        if wanted.dtype.kind != "f":
            np.testing.assert_array_equal(result, wanted, err_msg=str(item))
            continue
        nans, subnormal = np.isnan(wanted), (np.abs(wanted) < np.finfo(np.float32).tiny) & (wanted != 0)
        np.testing.assert_array_equal(np.isnan(result), nans, err_msg=str(item))
        same = result.view(np.uint32) == wanted.view(np.uint32)
        assert (same | nans | subnormal).all(), f"{item}: {result[~same]} instead of {wanted[~same]} of {left[~same]}, {right[~same]}"


@pytest.mark.parametrize("dtype", [DType.INT8, DType.UINT8, DType.INT16, DType.UINT16])
def test_small_integers_wrap_at_their_own_width(dtype: DType) -> None:
    rng = np.random.default_rng(1)
    information = np.iinfo(dtype.numpy)
    left, right = (rng.integers(information.min, information.max + 1, 500).astype(dtype.numpy) for _ in range(2))
    a, b = load("a", i, dtype), load("b", i, dtype)
    with np.errstate(over="ignore"):
        cases = [
            (a + b, left + right), (a - b, left - right), (a * b, left * right), (-a, -left), (unary("abs", a), np.abs(left)),
            (ex.minimum(a, b), np.minimum(left, right)), (ex.maximum(a, b), np.maximum(left, right)),
            (Binary(dtype, "and", a, b), left & right), (Binary(dtype, "or", a, b), left | right),
            (Binary(dtype, "xor", a, b), left ^ right),
            ((a + b) * a, (left + right) * left), (ex.cast(a * b, INT), (left * right).astype(np.int32)),
            (ex.cast(a + b, FLOAT), (left + right).astype(np.float32)),
            (Cast(dtype, ex.cast(a, INT) * 77), (left.astype(np.int32) * 77).astype(dtype.numpy)),
            (Binary(dtype, "shl", a, const(3, dtype)), left << 3), (Binary(BOOL, "lt", a, b), left < right),
            (Cast(DType.INT8, a), left.astype(np.int8)), (Cast(DType.UINT8, a), left.astype(np.uint8)),
            (Cast(DType.UINT16, a), left.astype(np.uint16)),
        ]  # fmt: skip
    for chosen, together in ((cases, True), (cases[-3:], False)):
        found = run_expressions([item for item, _ in chosen], {"a": left, "b": right}, together=together)
        for (item, wanted), result in zip(chosen, found, strict=True):
            np.testing.assert_array_equal(result, wanted, err_msg=str(item))


WHOLE = [DType(f"{sign}int{bits}") for bits in (8, 16, 32, 64) for sign in ("", "u")]


@pytest.mark.parametrize("dtype", WHOLE)
def test_integers_of_all_sizes_wrap_and_divide_by_nothing_as_written(dtype: DType) -> None:
    left, right = (grid.reshape(-1).copy() for grid in np.meshgrid(*[extremes(dtype)] * 2))
    a, b = load("a", i, dtype), load("b", i, dtype)
    items = [*(Binary(dtype, op, a, b) for op in ("add", "sub", "mul", "div", "mod", "min", "max")), -a, unary("abs", a), a * 77 + b]
    found = run_expressions(items, {"a": left, "b": right})
    for item, result in zip(items, found, strict=True):
        np.testing.assert_array_equal(result, [value_of(item, {"i": np.int32(at)}, {"a": left, "b": right}) for at in range(len(left))])


def test_words_and_large_integers_compute_as_in_numpy() -> None:
    rng = np.random.default_rng(2)
    left, right = (rng.integers(0, 2**32, 300, np.uint32) for _ in range(2))
    signed, small = left.view(np.int32), rng.integers(1, 50, 300).astype(np.int32)
    u, v = load("u", i, DType.UINT32), load("v", i, DType.UINT32)
    s, t = load("s", i, INT), load("t", i, INT)
    cases = [
        (u + v, left + right), (u * v, left * right), (u - v, left - right), (Binary(u.dtype, "shr", u, const(5, u.dtype)), left >> 5),
        (ex.minimum(u, v), np.minimum(left, right)), (Binary(BOOL, "lt", u, v), left < right), (ex.cast(u, INT), signed),
        (ex.cast(s, DType.UINT32), left),
        (s % t, np.fmod(signed, small)), (Binary(INT, "div", s, t), np.trunc(signed / small).astype(np.int32)),
        (Binary(INT, "and", s, t), signed & small), (unary("abs", s), np.abs(signed)), (ex.cast(s, DType.INT8), signed.astype(np.int8)),
        (ex.cast(s, BOOL), signed != 0), (ex.cast(Binary(BOOL, "lt", s, t), INT), (signed < small).astype(np.int32)),
        (ex.cast(Binary(BOOL, "lt", s, t), FLOAT), (signed < small).astype(np.float32)),
    ]  # fmt: skip
    data = {"s": signed, "t": small, "u": left, "v": right}
    for (item, wanted), result in zip(cases, run_expressions([item for item, _ in cases], data), strict=True):
        np.testing.assert_array_equal(result, wanted, err_msg=str(item))


def test_64_bit_integers_compute_as_in_numpy_and_doubles_are_moved() -> None:
    rng = np.random.default_rng(3)
    wide = rng.integers(-(2**63), 2**63, 200) >> rng.integers(0, 64, 200)
    other = rng.integers(-(2**63), 2**63, 200) >> rng.integers(0, 64, 200)
    wide[:4], other[:4] = [-(2**63), 2**63 - 1, 7, -7], [1, -1, -2, 2]
    other[other == 0] = 5
    doubles, narrow = rng.normal(0, 1e100, 200), rng.integers(-1000, 1000, 200).astype(np.int32)
    unsigned, rest, places = wide.astype(np.uint64), other.astype(np.uint64), np.arange(200, dtype=np.uint64) % 64
    w, o, d, n = load("w", i, DType.INT64), load("o", i, DType.INT64), load("d", i, DType.FLOAT64), load("n", i, INT)
    u, r, p = (load(name, i, DType.UINT64) for name in "urp")
    condition = Binary(BOOL, "lt", n, const(0))
    quotients = [int(abs(int(a)) // abs(int(b))) * (1 if (a < 0) == (b < 0) else -1) for a, b in zip(wide, other, strict=True)]
    rests = [int(a) - q * int(b) for a, b, q in zip(wide, other, quotients, strict=True)]
    with np.errstate(over="ignore"):
        cases = [
            (w + o, wide + other), (w - o, wide - other), (w * o, wide * other), (-w, -wide), (unary("abs", w), np.abs(wide)),
            (ex.minimum(w, o), np.minimum(wide, other)), (ex.maximum(u, r), np.maximum(unsigned, rest)),
            (Binary(BOOL, "lt", w, o), wide < other), (Binary(BOOL, "le", w, o), wide <= other),
            (Binary(BOOL, "lt", u, r), unsigned < rest),
            (Binary(BOOL, "eq", w, ex.cast(n, DType.INT64)), wide == narrow), (Binary(w.dtype, "and", w, o), wide & other),
            (Binary(w.dtype, "or", w, o), wide | other), (Binary(w.dtype, "xor", w, o), wide ^ other),
            (Binary(u.dtype, "shl", u, p), unsigned << places), (Binary(u.dtype, "shr", u, p), unsigned >> places),
            (Binary(w.dtype, "div", w, o), np.array(quotients)), (w % o, np.array(rests)), (Binary(u.dtype, "div", u, r), unsigned // rest),
            (w, wide), (d, doubles), (ex.cast(n, DType.INT64), narrow.astype(np.int64)), (ex.cast(w, INT), wide.astype(np.int32)),
            (select(condition, w, const(-5, DType.INT64)), np.where(narrow < 0, wide, -5)), (ex.cast(w, BOOL), wide != 0),
            (select(condition, d, const(2.5, DType.FLOAT64)), np.where(narrow < 0, doubles, 2.5)),
            (ex.cast(w, DType.INT8), wide.astype(np.int8)), (ex.cast(w, DType.UINT64), unsigned),
            (ex.cast(w, FLOAT), wide.astype(np.float32)),
        ]  # fmt: skip
    data = {"w": wide, "o": other, "d": doubles, "n": narrow, "u": unsigned, "r": rest, "p": places}
    for (item, wanted), result in zip(cases, run_expressions([item for item, _ in cases], data), strict=True):
        close = np.isclose(result, wanted, 3e-7, 0) if item.dtype is FLOAT else result == wanted
        assert close.all(), f"{item}: {result[~close]} instead of {wanted[~close]}"


def test_the_side_of_a_select_that_is_not_chosen_may_load_from_anywhere() -> None:
    a = np.arange(16, dtype=np.float32)
    inside = Binary(BOOL, "lt", i, const(3))
    (found,) = run_expressions([select(inside, load("a", i + 2, FLOAT), load("a", select(inside, const(1 << 28), i), FLOAT))], {"a": a})
    np.testing.assert_array_equal(found, np.where(a < 3, a + 2, a))


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (load("x", i, DType.FLOAT64) * const(2.0, DType.FLOAT64), "computes with float64"),
        (unary("sqrt", load("x", i, DType.FLOAT64)), "computes with float64"),
        (Cast(DType.INT64, load("x", i, FLOAT)), "converts float32 to int64"),
        (Cast(INT, load("x", i, DType.FLOAT64)), "converts float64 to int32"),
        (Binary(INT, "pow", i, i), "has pow of int32"),
        (ex.Size(INT, "batch", 4) * i, "has symbolic sizes"),
    ],
)
def test_what_has_no_form_says_why(item: Expr, reason: str) -> None:
    from edgec.program.regions import Place

    with pytest.raises(NoShaderForm, match=reason):
        render(item, Scope({"x": Place("arena", 0, 80)}, {"x": item.dtype}))


@pytest.mark.parametrize("op", ["exp", "log", "sqrt", "tanh", "erf", "sigmoid", "sin", "cos"])
def test_functions_whose_bits_are_written_down_have_no_form_where_they_count(op: str) -> None:
    item = unary(op, var("v", FLOAT))
    assert render(item, Scope({}, {})) == f"{op}_f(v)"
    with pytest.raises(NoShaderForm, match=f"the bits of a float {op}"):
        render(item, Scope({}, {}, exact=True))


def test_constants_are_written_so_that_they_are_read_back() -> None:
    rng = np.random.default_rng(4)
    values = rng.integers(0, 2**32, 5000, np.uint32).view(np.float32)
    for value in [*values[np.isfinite(values)], np.float32(0.1), np.float32(-0.0), np.finfo(np.float32).max]:
        text = literal(float(value), FLOAT)
        bits = int(text[11:-2], 16) if text.startswith("float_of") else int(np.float32(text[:-1]).view(np.uint32))
        assert bits == int(value.view(np.uint32)), text
    assert literal(math.inf, FLOAT) == "float_of(0x7f800000u)" and literal(-(2**31), INT) == "int(0x80000000u)"


def test_names_that_mean_something_in_a_shader_are_changed() -> None:
    assert [name_of(name) for name in ("i2", "total", "arena", "half", "sample", "gl_x", "a__b")] == [
        "i2", "total", "arena_", "half_", "sample_", "gl_x_", "a__b_",
    ]  # fmt: skip


def test_precedence_is_kept() -> None:
    a, b, c = (var(name) for name in "abc")
    scope = Scope({}, {}, ranges=dict.fromkeys("abc", (0, 1000)))
    assert render((a * 2 + b) % 6 * 4, scope) == "(a * 2 + b) % 6 * 4"
    assert render(a - (b - c), scope) == "a - (b - c)"
    assert render(Binary(INT, "and", a + b, c), scope) == "(a + b) & c"
    assert render(a * Const(INT, 3) // 2, scope) == "a * 3 / 2"
    assert render(a * Const(INT, 3) // b, Scope({}, {})) == "divide_int(mul_int(a, 3), b)"
