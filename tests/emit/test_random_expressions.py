"""Random expressions of every type, compiled into one package and compared with numpy, bit by bit."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np

from edgec.ir.types import DType
from edgec.lower.plan import plan
from edgec.program.expr import BOOL, FLOAT, INT, Binary, Expr, cast, clamp, clip, const, load, logical, select, unary, var
from edgec.program.program import For, Kind, Program, Store
from edgec.targets import load_target
from edgec.toolchain import compile_package, run_exam
from tests.emit.packages import write_package
from tests.emit.programs import buffer, exam_of, loop, port

COUNT, ELEMENTS, DEPTH = 156, 37, 3
WHOLE = (DType.UINT8, DType.INT8, DType.UINT16, DType.INT16, DType.UINT32, DType.UINT64, DType.INT64)
TYPES = (INT, FLOAT, *WHOLE, DType.FLOAT64, BOOL)
i = var("i")


def extremes(dtype: DType) -> np.ndarray:
    """The ends of an integer type, the numbers around zero, and some between."""
    limits = np.iinfo(dtype.numpy)
    between = np.random.default_rng(7).integers(limits.min, limits.max, 20, dtype.numpy)
    least, most = int(limits.min), int(limits.max)
    ends = [least, least + 1, most, most - 1, most // 2, most // 2 + 1, 0, 1, 2, 3, *(n for n in (-1, -2, -7) if least < 0)]
    return np.concatenate([np.array(ends, dtype.numpy), between])


def random_expression(dice: random.Random, dtype: DType, depth: int) -> Expr:
    """An expression whose integers overflow, and are divided by zero, as numpy has it."""
    if depth == 0:
        return load(f"data_{dtype.value}", (i * dice.randint(1, 5) + dice.randint(0, 9)) % ELEMENTS, dtype)

    def operand(kind: DType = dtype) -> Expr:
        return random_expression(dice, kind, depth - 1)

    def of(*operators: str) -> list[Callable[[], Expr]]:
        return [lambda op=op: Binary(dtype, op, operand(), operand()) for op in operators]  # type: ignore[misc]

    if dtype is BOOL:
        kind = dice.choice(TYPES[:-1])
        return dice.choice([
            lambda: Binary(BOOL, dice.choice(("lt", "le", "eq")), operand(kind), operand(kind)),
            lambda: logical("and", operand(), operand()), lambda: logical("or", operand(), operand()), lambda: unary("not", operand()),
        ])()  # fmt: skip
    number = const(dice.randint(1, 5), dtype)
    choices = [
        *of("add", "sub", "mul", "min", "max"), lambda: unary("neg", operand()), lambda: unary("abs", operand()),
        lambda: select(operand(BOOL), operand(), operand()), lambda: operand() * number,
    ]  # fmt: skip
    if dtype is FLOAT:
        choices += [lambda: operand() / 3.0, lambda: cast(operand(INT), FLOAT), lambda: clip(operand(), -2.0, 5.0)]
        choices += [lambda: unary("sqrt", unary("abs", operand())), *of("minimum", "maximum")]
        choices += [lambda op=op: unary(op, operand()) for op in ("rint", "floor", "ceil")]  # type: ignore[misc]
    elif not dtype.is_float:
        choices += [
            *of("div", "mod", "and", "or", "xor"),
            lambda: operand() % number,
            lambda: cast(operand(dice.choice((INT, FLOAT))), dtype),
        ]
        choices += [lambda: cast(operand(dice.choice(WHOLE)), dtype)]
    if dtype is INT:
        choices += [
            lambda: Binary(INT, "shr", Binary(INT, "and", operand(), const(2**31 - 1)), const(2)),
            lambda: Binary(INT, "shl", operand(), const(1)),
        ]
    elif dtype is DType.INT8:
        choices += [lambda: cast(clamp(operand(FLOAT), -128.0, 127.0), dtype)]
    return dice.choice(choices)()


def random_program() -> Program:
    dice, generator = random.Random(11), np.random.default_rng(11)
    program = Program("random", "host")
    port(program, "unused", FLOAT, (1,), Kind.INPUT)
    for dtype in TYPES:
        data = generator.integers(-5, 6, ELEMENTS)
        values = (
            data + generator.random(ELEMENTS) if dtype.is_float else data > 0 if dtype is BOOL else np.resize(extremes(dtype), ELEMENTS)
        )
        buffer(program, f"data_{dtype.value}", dtype, ELEMENTS, Kind.CONSTANT, values.astype(dtype.numpy))
    for index in range(COUNT):
        dtype = TYPES[index % len(TYPES)]
        port(program, f"y{index}", dtype, (ELEMENTS,), Kind.OUTPUT)
        body = For(i, const(ELEMENTS), (Store(f"y{index}", i, random_expression(dice, dtype, DEPTH)),))
        loop(program, f"random_{index}", (body,), (), (f"y{index}",))
    plan(program)
    return program


def test_random_expressions_give_numpys_bits(tmp_path: Path, needs) -> None:
    needs("gcc")
    target = load_target("portable")
    program = random_program()
    folder = write_package(tmp_path, program, target, exam_of(program, vectors=1))
    flags = [
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-Wno-type-limits",
        "-fsanitize=undefined,float-cast-overflow",
        "-fno-sanitize-recover=all",
    ]
    done = run_exam(compile_package(folder, target, "gcc", "-O1", flags), target, ["--threads", "2"])
    assert done.returncode == 0, "\n".join(line for line in done.stdout.decode().splitlines() if "ok " not in line) + done.stderr.decode()
