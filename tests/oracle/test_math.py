"""runtimes/c/math.h equals its numpy mirror bit for bit on every processor, and both are accurate."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import numpy as np
import pytest

from edgec.oracle import mathlib
from tests.oracle.math_cases import BINARY, UNARY, arguments, available, compile_program, run_program

ARM32 = ["-march=armv7-a", "-mfpu=neon-vfpv4", "-mfloat-abi=hard", "-static"]
BUILDS = {
    "gcc -O0": (["gcc", "-O0"], []),
    "gcc -O3 fma": (["gcc", "-O3", "-mavx2", "-mfma"], []),
    "clang -O0": (["clang", "-O0"], []),
    "clang -O3 fma": (["clang", "-O3", "-mavx2", "-mfma"], []),
    "aarch64 -O3": (["aarch64-linux-gnu-gcc", "-O3", "-static"], ["qemu-aarch64"]),
    "armv7 -O2": (["arm-linux-gnueabihf-gcc", "-O2", *ARM32], ["qemu-arm"]),
    "riscv64 -O2": (["riscv64-linux-gnu-gcc", "-O2", "-static"], ["qemu-riscv64"]),
}


def same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Equal bits, any NaN equal to any other."""
    return (a.view(np.uint32) == b.view(np.uint32)) | (np.isnan(a) & np.isnan(b))


@pytest.mark.parametrize("build", BUILDS)
def test_c_equals_the_mirror(build: str, tmp_path: Path) -> None:
    compiler, emulator = BUILDS[build]
    for tool in (compiler, emulator):
        if tool and not available(tool):
            pytest.skip(f"{tool[0]} is not installed")
    x, y = arguments()
    got = run_program([*emulator, str(compile_program(compiler, tmp_path))], x, y)
    for name, mirror in {**UNARY, **BINARY}.items():
        expected = mirror(x) if name in UNARY else mirror(x, y)
        wrong = np.flatnonzero(~same(got[name], expected))
        assert wrong.size == 0, (name, wrong.size, [(x[i], y[i], got[name][i], expected[i]) for i in wrong[:5]])


def test_header_needs_no_library(tmp_path: Path) -> None:
    if not available(["gcc"]):
        pytest.skip("gcc is not installed")
    binary = compile_program(["gcc", "-O0", "-c"], tmp_path)
    names = subprocess.run(["nm", "-u", str(binary)], check=True, capture_output=True, text=True).stdout.split()
    assert set(names) - {"U", "fread", "fwrite", "stdin", "stdout", "memcpy", "_GLOBAL_OFFSET_TABLE_"} == set()


ERROR_BOUND = {  # function: (largest error in last places, smallest result that counts)
    "expf": (1.1, 2e-38), "logf": (1.0, 0), "tanhf": (2.0, 0), "erff": (2.0, 0), "sigmoidf": (2.6, 2e-38), 
    "sinf": (0.51, 0), "cosf": (0.51, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", ERROR_BOUND)
def test_accuracy(name: str) -> None:
    bound, smallest = ERROR_BOUND[name]
    reference = {
        "expf": np.exp, "logf": np.log, "tanhf": np.tanh, "erff": np.vectorize(math.erf), "sigmoidf": lambda v: 1 / (1 + np.exp(-v)),
        "sinf": np.sin, "cosf": np.cos,
    }[name]  # fmt: skip
    x, _ = arguments(seed=1, count=100_000)
    x = x[np.isfinite(x)]
    with np.errstate(all="ignore"):
        exact = reference(x.astype(np.float64))
    got = UNARY[name](x)
    counted = np.isfinite(exact) & (np.abs(exact) >= max(smallest, 2.0**-126)) & (np.abs(exact) < np.finfo(np.float32).max)
    error = np.abs(got[counted] - exact[counted]) / np.spacing(np.abs(exact[counted]).astype(np.float32)).astype(np.float64)
    assert error.max() <= bound, (x[counted][error.argmax()], error.max())


def test_accuracy_of_power() -> None:
    x, y = arguments(seed=2)
    keep = np.isfinite(x) & np.isfinite(y)
    x, y = x[keep], y[keep]
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
    got = mathlib.power(x, y)
    assert np.array_equal(np.isnan(got), np.isnan(exact))
    counted = np.isfinite(exact) & (np.abs(exact) >= 2.0**-126) & (np.abs(exact) < np.finfo(np.float32).max)
    error = np.abs(got[counted] - exact[counted]) / np.spacing(np.abs(exact[counted]).astype(np.float32)).astype(np.float64)
    assert error.max() <= 0.51


def test_special_values() -> None:
    specials = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32)
    expected = {
        "expf": [np.nan, np.inf, 0, 1, 1], "logf": [np.nan, np.inf, np.nan, -np.inf, -np.inf], "tanhf": [np.nan, 1, -1, 0.0, -0.0],
        "erff": [np.nan, 1, -1, 0.0, -0.0], "sigmoidf": [np.nan, 1, 0, 0.5, 0.5], "sinf": [np.nan, np.nan, np.nan, 0.0, -0.0],
        "cosf": [np.nan, np.nan, np.nan, 1, 1],
    }  # fmt: skip
    for name, values in expected.items():
        assert same(UNARY[name](specials), np.array(values, np.float32)).all(), name
