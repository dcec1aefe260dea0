"""Planes of floats that become halves side by side: the same bits as one number after the other, and only where a loop does just that."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from edgec.emit.half_planes import HalfPlanes, half_planes
from edgec.emit.kernels import runtime_text
from edgec.ir.types import DType
from edgec.kernels.halves import LARGEST
from edgec.program.expr import FLOAT, INT, Expr, Size, binary, const, load, var
from edgec.program.program import For, Statement, Store
from edgec.targets import command_of
from tests.kernels.driver import QEMU_ARM64
from tests.kernels.int8_harness import need

PROGRAM = """
enum { PIXELS = 61, SPARE = 7, UNTOUCHED = 0xabcd };
int main(void) {
    float x[4 * PIXELS];
    uint16_t y[4 * PIXELS + SPARE];
    uint32_t bits = 12345u;
    int32_t turn, planes, begin, end, i, j, wrong = 0;
    for (turn = 0; turn < 500; turn++) {
        for (i = 0; i < 4 * PIXELS; i++) { /* of all kinds, and every other one about the range of halves */
            bits = bits * 1664525u + 1013904223u;
            x[i] = edgec_float(i % 2 ? bits : (bits & 0x80ffffffu) | ((bits >> 25) % 50u + 98u) << 23);
        }
        for (planes = 1; planes <= 4; planes++) {
            for (begin = 0; begin < PIXELS; begin += 1 + turn % 23) {
                end = begin + (int32_t)(bits >> 8) % (PIXELS + 1 - begin);
                for (i = 0; i < 4 * PIXELS + SPARE; i++) y[i] = UNTOUCHED;
                edgec_halves(x, PIXELS, planes, y, begin, end);
                for (i = 0; i < PIXELS; i++) {
                    for (j = 0; j < planes; j++) {
                        const float inside = edgec_min_f(65504.0f, edgec_max_f(-65504.0f, x[j * PIXELS + i]));
                        wrong += y[i * planes + j] != (i >= begin && i < end ? edgec_float_to_half(inside) : (uint16_t)UNTOUCHED);
                    }
                }
                for (i = PIXELS * planes; i < 4 * PIXELS + SPARE; i++) wrong += y[i] != UNTOUCHED;
            }
        }
    }
    return wrong != 0;
}
"""
ARM64 = "aarch64-linux-gnu-gcc"
i, j = var("i"), var("j")


@pytest.mark.parametrize(
    "compiler",
    [
        ("gcc", "-O2"),
        (ARM64, "-O3", "-static"),
        pytest.param(("aarch64-linux-gnu-g++", "-x", "c++", "-O1", "-static"), marks=pytest.mark.thorough),
    ],
    ids="-".join,
)
def test_the_same_bits_as_one_by_one(compiler: tuple[str, ...], tmp_path: Path) -> None:
    need(compiler[0])
    text = "\n".join((*map(runtime_text, ("prologue.h", "scalar.h", "math.h")), PROGRAM))
    (tmp_path / "planes.c").write_text(text, encoding="utf-8")
    strict = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-function")
    subprocess.run([*compiler, *strict, "-o", "planes", "planes.c", "-lm"], cwd=tmp_path, check=True)
    emulator = QEMU_ARM64 if "aarch64" in compiler[0] else ()
    subprocess.run(command_of(emulator, str(tmp_path / "planes")), check=True)


def clipped(value: Expr) -> Expr:
    return binary("min", const(LARGEST), binary("max", const(-LARGEST), value))


def planes(count: int, at: Expr, value: Expr) -> For:
    """A loop over 50 pixels of so many planes."""
    body: tuple[Statement, ...] = (Store("y", at, value),)
    return For(i, const(50), body if count == 1 else (For(j, const(count), body),))


@pytest.mark.parametrize("count", [2, 3, 4])
def test_pixels_of_several_planes(count: int) -> None:
    read = load("x", j * 70 + i + 9, FLOAT)
    found = half_planes(planes(count, i * count + j + 4, clipped(read)), {"y": "half"})
    assert found is not None
    assert (found.x, found.plane, found.planes, found.y) == ("x", 70, count, "y")


def test_one_plane() -> None:
    found = half_planes(planes(1, i, clipped(load("x", i, FLOAT))), {"y": "half"})
    assert found == HalfPlanes("x", const(0), 0, 1, "y", const(0))


def test_other_loops_stay() -> None:
    read, to = load("x", j * 70 + i, FLOAT), i * 3 + j
    halves = {"y": "half"}
    assert half_planes(planes(3, to, clipped(read)), halves) is not None
    assert half_planes(planes(3, to, clipped(read)), {"y": "bfloat"}) is None
    assert half_planes(planes(3, to, clipped(read)), {}) is None
    assert half_planes(planes(3, to, clipped(read)), {"x": "half", "y": "half"}) is None
    assert half_planes(planes(3, to, read), halves) is None
    assert half_planes(planes(3, to, clipped(read * 2.0)), halves) is None
    assert half_planes(planes(3, to, binary("min", const(6.0), binary("max", const(-LARGEST), read))), halves) is None
    assert half_planes(planes(3, i * 4 + j, clipped(read)), halves) is None
    assert half_planes(planes(3, to, clipped(load("x", j * 70 + i * 2, FLOAT))), halves) is None
    assert half_planes(planes(5, i * 5 + j, clipped(read)), halves) is None
    assert half_planes(planes(3, to, clipped(load("x", j * Size(INT, "n", 99) + i, FLOAT))), halves) is None
    assert half_planes(planes(3, to, clipped(load("x", j * 70 + i, DType.FLOAT16))), halves) is None
