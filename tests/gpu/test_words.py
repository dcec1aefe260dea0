"""The words that shader bodies are made of, on lavapipe, against numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from edgec.emit.gpu.dialect import Glsl
from tests.gpu.lavapipe import VARIANTS, run_shader


def run(body: str, count: int, words: np.ndarray, variant: str = "base", signed: bool = True, weights: bytes = b"") -> np.ndarray:
    """`body` for items 0..count-1; `words` is the arena before. What the arena holds after."""
    dialect = Glsl(signed)
    source = f"{dialect.begin('test', (64, 1, 1))}\n    int i = global_x();\n    if (i < {count}) {{\n{body}\n    }}\n{dialect.end()}\n"
    arena, _ = run_shader(source, (64, 1, 1), (-(-count // 64), 1, 1), words.tobytes(), weights, b"", variant)
    return np.frombuffer(arena, words.dtype)


def scales(rng: np.random.Generator, count: int) -> np.ndarray:
    """Positive normal numbers of all magnitudes that matter, many of them powers of two, so that ties are frequent."""
    exponents = rng.integers(-40, 8, count)
    fractions = np.where(rng.integers(0, 3, count) == 0, 0, rng.integers(0, 2**23, count)) * 2.0**-23
    values = ((1 + fractions) * 2.0**exponents).astype(np.float32)
    values[:6] = [np.finfo(np.float32).tiny, np.finfo(np.float32).max, 1, 0.5, 2.0**-24, 2.0**-31]
    return values


def requantized(acc: np.ndarray, scale: np.ndarray, low: int, high: int, zero: int) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore"):
        product = acc.astype(np.float32) * scale
    return np.clip(np.rint(product), np.float32(low - zero), np.float32(high - zero)).astype(np.int32) + zero


@pytest.mark.parametrize("variant", ["base", "even", "bytes"])
def test_requantize_is_the_float_formula_on_all_magnitudes(variant: str) -> None:
    rng = np.random.default_rng(4)
    count = 1 << 20
    acc = (rng.integers(-(2**31), 2**31, count) >> rng.integers(0, 32, count)).astype(np.int32)
    acc[:8] = [0, 1, -1, -(2**31), 2**31 - 1, 2**24 + 1, 2**25 + 6, -(2**24) - 3]
    scale = scales(rng, count)
    words = np.concatenate([acc.view(np.uint32), scale.view(np.uint32)])
    body = f"        store_i32(arena, i, requantize(load_i32(arena, i), load_f32(arena, i + {count}), -1000000, 1000000, 17));"
    found = run(body, count, words, variant)[:count].view(np.int32)
    np.testing.assert_array_equal(found, requantized(acc, scale, -1000000, 1000000, 17))


def test_requantize_is_the_float_formula_around_every_tie() -> None:
    acc = np.repeat(np.arange(-3000, 3000, dtype=np.int32), 7)
    scale = np.tile(np.float32([0.5, 0.25, 1.5, 0.1, 1 / 3, 2.0**-9, 0.0078125]), 6000)
    body = f"        store_i32(arena, i, requantize(load_i32(arena, i), load_f32(arena, i + {acc.size}), -128, 127, -5));"
    found = run(body, acc.size, np.concatenate([acc.view(np.uint32), scale.view(np.uint32)]))[: acc.size].view(np.int32)
    np.testing.assert_array_equal(found, requantized(acc, scale, -128, 127, -5))


def normals(rng: np.random.Generator, count: int, near: int) -> np.ndarray:
    """Normal numbers of both signs whose exponents lie within `near` of 127, many with few bits in their mantissas."""
    mantissas = (rng.integers(0, 2**23, count) >> rng.integers(0, 23, count)) << rng.integers(0, 23, count) & 0x7FFFFF
    bits = rng.integers(0, 2, count) << 31 | rng.integers(127 - near, 128 + near, count) << 23 | mantissas
    return bits.astype(np.uint32).view(np.float32)


@pytest.mark.parametrize("near", [1, 12, 40, 126])
@pytest.mark.parametrize("variant", ["base", "even", "bytes"])
def test_sums_and_products_round_to_nearest_even(variant: str, near: int) -> None:
    rng = np.random.default_rng(near)
    count = 1 << 18
    a, b = normals(rng, count, near), normals(rng, count, near)
    a[:4], b[:4] = [1, -1, 3, 0], [-1, 1, 0, -0.0]
    words = np.concatenate([a.view(np.uint32), b.view(np.uint32)])
    body = f"""        float a = load_f32(arena, i), b = load_f32(arena, i + {count});
        store_f32(arena, i, add_even(a, b));
        store_f32(arena, i + {count}, multiply_even(a, b));"""
    found = run(body, count, words, variant).view(np.float32)
    with np.errstate(over="ignore", under="ignore"):
        sums, products = a + b, a * b
    for result, expected in ((found[:count], sums), (found[count:], products)):
        subnormal = (np.abs(expected) < np.finfo(np.float32).tiny) & (expected != 0)
        np.testing.assert_array_equal(result.view(np.uint32)[~subnormal], expected.view(np.uint32)[~subnormal])


@pytest.mark.parametrize("variant", ["base", "bytes"])
def test_integers_become_the_nearest_floats(variant: str) -> None:
    rng = np.random.default_rng(8)
    values = (rng.integers(-(2**31), 2**31, 1 << 16) >> rng.integers(0, 32, 1 << 16)).astype(np.int32)
    values[:7] = [0, -1, 2**24 + 1, 2**24 + 3, -(2**31), 2**31 - 1, 2**31 - 65]
    found = run("        store_f32(arena, i, float_even(load_i32(arena, i)));", values.size, values.view(np.uint32), variant)
    np.testing.assert_array_equal(found.view(np.float32), values.astype(np.float32))


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
def test_dot4_is_four_exact_products(variant: str, signed: bool) -> None:
    rng = np.random.default_rng(1)
    x, w = rng.integers(0, 256, (4096, 4), np.uint8), rng.integers(0, 256, (4096, 4), np.uint8)
    x[:2], w[:2] = [[128] * 4, [255] * 4], [[128] * 4, [127] * 4]
    words = np.concatenate([x.reshape(-1), w.reshape(-1)]).view(np.uint32)
    found = run("        store_i32(arena, i, dot4(load_word(arena, i), load_word(arena, i + 4096)));", 4096, words, variant, signed)[:4096]
    activations = x.view(np.int8) if signed else x
    np.testing.assert_array_equal(found.view(np.int32), (activations.astype(np.int32) * w.view(np.int8)).sum(1))


@pytest.mark.parametrize("variant", VARIANTS)
def test_bytes_and_halves_stored_side_by_side_by_many_invocations_all_arrive(variant: str) -> None:
    words = np.full(6000, 0xDEADBEEF, np.uint32)
    body = """        store_8(arena, i + 3, i * 7 - 100);
        store_16(arena, i + 5001, i * 77 - 70000);"""
    found = run(body, 4999, words, variant)
    expected = words.copy()
    expected.view(np.int8)[3:5002] = (np.arange(4999) * 7 - 100).astype(np.int8)
    expected.view(np.int16)[5001:10000] = (np.arange(4999) * 77 - 70000).astype(np.int16)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_load_reads_its_type(variant: str) -> None:
    rng = np.random.default_rng(2)
    weights = rng.integers(0, 2**32, 64, np.uint32)
    words = {"s8": np.int8, "u8": np.uint8, "x8": np.uint8, "s16": np.int16, "u16": np.uint16, "i32": np.int32, "u32": np.uint32}
    for word, kind in words.items():
        expected = weights.view(kind)
        body = f"        store_i32(arena, i, int(load_{word}(weights, i)));"
        found = run(body, expected.size, np.zeros(expected.size, np.uint32), variant, signed=False, weights=weights.tobytes())
        np.testing.assert_array_equal(found.view(np.int32), expected.astype(np.int64).astype(np.int32))


def test_halves_convert_as_ieee_says() -> None:
    bits = np.arange(65536, dtype=np.uint32)
    found = run("        store_f32(arena, i, half_to_float(load_u32(arena, i)));", bits.size, bits).view(np.float32)
    np.testing.assert_array_equal(found, bits.astype(np.uint16).view(np.float16).astype(np.float32))
    rng = np.random.default_rng(3)
    with np.errstate(invalid="ignore"):
        below = np.nextafter(found, 0)
    values = np.concatenate([found, below, rng.integers(0, 2**32, 100000, np.uint32).view(np.float32)])
    back = run("        store_u32(arena, i, float_to_half(load_f32(arena, i)));", values.size, values.view(np.uint32))
    with np.errstate(over="ignore", invalid="ignore"):
        expected = values.astype(np.float16)
    numbers = ~np.isnan(values)
    np.testing.assert_array_equal(back[numbers], expected.view(np.uint16)[numbers])
    assert np.isnan(back.astype(np.uint16).view(np.float16)[~numbers]).all()


def test_functions_are_near_numpys() -> None:
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.normal(0, 3, 4000), rng.normal(0, 1e-3, 1000), np.linspace(-88, 88, 1000), [0, -0.0, 1, -1]]).astype(np.float32)
    functions = {
        "exp_f": np.exp, "log_f": np.log, "sqrt_f": np.sqrt, "tanh_f": np.tanh, "sin_f": np.sin, "cos_f": np.cos,
        "sigmoid_f": lambda v: 1 / (1 + np.exp(-v)), "erf_f": np.vectorize(math.erf),
    }  # fmt: skip
    for name, function in functions.items():
        values = np.abs(x) if name in ("log_f", "sqrt_f") else x
        found = run(f"        store_f32(arena, i, {name}(load_f32(arena, i)));", x.size, values.view(np.uint32)).view(np.float32)
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(found, function(values.astype(np.float64)), 1e-5, 1e-7, err_msg=name)


def test_functions_of_functions_are_near_numpys() -> None:
    x = np.linspace(-10, 10, 1000).astype(np.float32)
    for name, function in (("tanh_f", np.tanh), ("erf_f", np.vectorize(math.erf))):
        body = f"        store_f32(arena, i, {name}(exp_f(load_f32(arena, i))));"
        found = run(body, x.size, x.view(np.uint32)).view(np.float32)
        np.testing.assert_allclose(found, function(np.exp(x.astype(np.float64))), 2e-5, 1e-7, err_msg=name)


def test_functions_of_special_numbers_are_those_of_c() -> None:
    inf, nan = np.float32("inf"), np.float32("nan")
    x = np.float32([nan, inf, -inf, -1, 0, -0.0, 200, -200])
    cases = {
        "exp_f": [nan, inf, 0, None, 1, 1, inf, 0], "log_f": [nan, inf, nan, nan, -inf, -inf, None, nan],
        "tanh_f": [nan, 1, -1, None, 0, -0.0, 1, -1], "erf_f": [nan, 1, -1, None, 0, -0.0, 1, -1],
        "sigmoid_f": [nan, 1, 0, None, 0.5, 0.5, 1, 0],
    }  # fmt: skip
    for name, expected in cases.items():
        found = run(f"        store_f32(arena, i, {name}(load_f32(arena, i)));", x.size, x.view(np.uint32)).view(np.float32)
        known = [index for index, value in enumerate(expected) if value is not None]
        wanted = np.float32([expected[index] for index in known])
        np.testing.assert_array_equal(found[known], wanted, err_msg=name)
        zeros = wanted == 0
        np.testing.assert_array_equal(np.signbit(found[known][zeros]), np.signbit(wanted[zeros]), err_msg=name)


def test_powers_follow_c99() -> None:
    special = np.float32(["nan", "inf", "-inf", 0, -0.0, 1, -1, 2, -2, 0.5, 3, -3, 2.5, -0.7])
    x, y = (grid.reshape(-1) for grid in np.meshgrid(special, special))
    words = np.concatenate([x, y]).astype(np.float32).view(np.uint32)
    body = f"        store_f32(arena, i, pow_f(load_f32(arena, i), load_f32(arena, i + {x.size})));"
    found = run(body, x.size, words).view(np.float32)[: x.size]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, x**y, 2e-5, 0)


@pytest.mark.parametrize("variant", VARIANTS)
def test_min_and_max_give_their_second_operand_where_one_is_nan(variant: str) -> None:
    inf, nan = float("inf"), float("nan")
    special = np.float32([nan, inf, -inf, 0, -0.0, 1, -1])
    a, b = (grid.reshape(-1).copy() for grid in np.meshgrid(special, special))
    for name, expected in (("min_f", np.where(a < b, a, b)), ("max_f", np.where(a > b, a, b))):
        body = f"        store_f32(arena, i, {name}(load_f32(arena, i), load_f32(arena, i + {a.size})));"
        found = run(body, a.size, np.concatenate([a, b]).view(np.uint32), variant)[: a.size]
        np.testing.assert_array_equal(found, expected.view(np.uint32), err_msg=name)
