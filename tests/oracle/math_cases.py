"""Compiles runtimes/c/math.h into a program that maps float pairs to results, for the comparison with edgec.oracle.mathlib."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np

from edgec.oracle import mathlib

HEADER = Path(__file__).resolve().parents[2] / "runtimes" / "c"
NEAR = np.float32(4194304)
UNARY = {
    "expf": mathlib.exp, "logf": mathlib.log, "tanhf": mathlib.tanh, "erff": mathlib.erf, "sigmoidf": mathlib.sigmoid,
    "sinf": mathlib.sin, "cosf": mathlib.cos, "sqrtf": mathlib.sqrt, "sqrtf_by_bits": mathlib.sqrt, "rintf": mathlib.rint,
    "floorf": mathlib.floor, "ceilf": mathlib.ceil, "nearby": lambda x: np.rint(np.fmin(np.fmax(x, -NEAR), NEAR)) + np.float32(0),
    "bounded": lambda x: np.rint(np.where(np.isnan(x), np.float32(0), np.clip(x, np.float32(-9.5), np.float32(255)))) + np.float32(0),
}  # fmt: skip
BINARY = {"powf": mathlib.power, "fminf": mathlib.fmin, "fmaxf": mathlib.fmax}

PROGRAM = """
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif
#include "math.h"
#include <stdio.h>
enum { BLOCK = 4096 };
static float edgec_nearby(float x) {
    float high = x < 4194304.0f ? x : 4194304.0f, low = x > -4194304.0f ? high : -4194304.0f;
    return (float)edgec_nearest(low);
}
static float edgec_bounded(float x) {
    const int32_t known = edgec_nearest_known(x, x, -9.5f, 255.0f);
    return (float)(x != x || known == edgec_nearest_within(x, -9.5f, 255.0f) ? known : 1000);
}
static float a[BLOCK], b[BLOCK], y[BLOCK];
#define UNARY(f) for (i = 0; i < n; i++) y[i] = edgec_##f(a[i]); fwrite(y, 4, n, stdout);
#define BINARY(f) for (i = 0; i < n; i++) y[i] = edgec_##f(a[i], b[i]); fwrite(y, 4, n, stdout);
int main(void) {
    size_t i, n;
    while ((n = fread(a, 4, BLOCK, stdin)) > 0 && fread(b, 4, n, stdin) == n) {
        FUNCTIONS
    }
    return 0;
}
"""
BLOCK = 4096


def compile_program(compiler: list[str], folder: Path) -> Path:
    """The program, linked statically without libm."""
    calls = [f"UNARY({name})" for name in UNARY] + [f"BINARY({name})" for name in BINARY]
    source, binary = folder / "math_program.c", folder / "math_program"
    source.write_text(PROGRAM.replace("FUNCTIONS", " ".join(calls)))
    command = [*compiler, "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{HEADER}", str(source), "-o", str(binary)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return binary


def run_program(command: list[str], x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """The results of each function for the pairs (x, y)."""
    padded = [np.resize(v, -(-v.size // BLOCK) * BLOCK).reshape(-1, BLOCK) for v in (x, y)]
    stdin = np.stack(padded, axis=1).tobytes()
    out = np.frombuffer(subprocess.run(command, input=stdin, check=True, capture_output=True).stdout, np.float32)
    names = [*UNARY, *BINARY]
    rows = out.reshape(-1, len(names), BLOCK)
    return {name: rows[:, i].ravel()[: x.size] for i, name in enumerate(names)}


def arguments(seed: int = 0, count: int = 60_000) -> tuple[np.ndarray, np.ndarray]:
    """Edge values against each other, then random bit patterns, then numbers of everyday size."""
    tiny, top = np.float32(2.0**-126), np.finfo(np.float32).max
    positive = [0, 1, 2, 3, 0.5, 1.5, 2.5, 0.6, 0.9, 4, 10, 87.33, 88, 88.72284, 89, 104, 255, 8388607.5, 4194303.5, 4194304.5, 8388608,
                16777216, 1e-45, 1e-40, tiny, 1e30, top, np.inf, np.nan, np.pi, np.pi / 2, np.pi / 4]  # fmt: skip
    edge = np.array([*positive, *(-v for v in positive)], np.float32)
    with np.errstate(over="ignore"):
        edge = np.concatenate([edge, np.nextafter(edge, np.float32(np.inf)), np.nextafter(edge, np.float32(-np.inf))])
    generator = np.random.default_rng(seed)
    bits = generator.integers(0, 2**32, (2, count // 2), dtype=np.uint64).astype(np.uint32).view(np.float32)
    usual = (generator.standard_normal((2, count // 2)) * generator.choice([0.1, 1, 10, 50], (2, count // 2))).astype(np.float32)
    pairs = np.stack(np.meshgrid(edge, edge)).reshape(2, -1).astype(np.float32)
    both = np.concatenate([pairs, bits, usual], axis=1)
    return np.ascontiguousarray(both[0]), np.ascontiguousarray(both[1])


def available(command: list[str]) -> bool:
    return shutil.which(command[0]) is not None
