"""Random expressions of every type, compiled into one package and compared with numpy, bit by bit."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from edgec.ir.types import DType
from edgec.lower.plan import plan
from edgec.program.expr import BOOL, FLOAT, INT, Binary, Expr, cast, clamp, const, load, logical, select, unary, var
from edgec.program.program import For, Kind, Program, Store
from edgec.targets import load_target
from edgec.toolchain import compile_package, run_exam
from tests.emit.packages import write_package
from tests.emit.programs import buffer, exam_of, loop, port

COUNT, ELEMENTS, DEPTH = 120, 37, 3
TYPES = (INT, FLOAT, DType.UINT8, DType.INT8, DType.INT16, DType.INT64, DType.FLOAT64, BOOL)
i = var("i")


def random_expression(dice: random.Random, dtype: DType, depth: int) -> Expr:
    """An expression whose integers stay far from overflow (8- and 16-bit ones wrap, and may)."""
    if depth == 0:
        return load(f"data_{dtype.value}", (i * dice.randint(1, 5) + dice.randint(0, 9)) % ELEMENTS, dtype)

    def operand(kind: DType = dtype) -> Expr:
        return random_expression(dice, kind, depth - 1)

    if dtype is BOOL:
        kind = dice.choice(TYPES[:-1])
        compared = Binary(BOOL, dice.choice(("lt", "le", "eq")), operand(kind), operand(kind))
        return dice.choice([compared, logical("and", operand(), operand()), logical("or", operand(), compared), unary("not", operand())])
    number = const(dice.randint(1, 5), dtype)
    arithmetic = [Binary(dtype, op, operand(), operand()) for op in ("add", "sub", "mul", "min", "max")]
    arithmetic += [unary("neg", operand()), unary("abs", operand()), select(operand(BOOL), operand(), operand()), operand() * number]
    if dtype is FLOAT:
        arithmetic += [operand() / 3.0, unary("rint", operand()), unary("floor", operand()), cast(operand(INT), FLOAT)]
        arithmetic += [unary("sqrt", unary("abs", operand())), unary("ceil", operand())]
    elif dtype is INT:
        arithmetic += [unary("abs", operand()) // 3, unary("abs", operand()) % 4, cast(operand(DType.INT8), INT)]
        arithmetic += [Binary(INT, op, operand(), operand()) for op in ("and", "or", "xor")]
        arithmetic += [Binary(INT, "shr", unary("abs", operand()), const(2)), Binary(INT, "shl", unary("abs", operand()), const(1))]
    elif dtype is DType.INT8:
        arithmetic += [cast(clamp(operand(FLOAT), -128.0, 127.0), dtype), cast(operand(INT), dtype)]
    return dice.choice(arithmetic)


def random_program() -> Program:
    dice, generator = random.Random(11), np.random.default_rng(11)
    program = Program("random", "host")
    port(program, "unused", FLOAT, (1,), Kind.INPUT)
    for dtype in TYPES:
        data = generator.integers(0 if dtype in (BOOL, DType.UINT8) else -5, 2 if dtype is BOOL else 6, ELEMENTS)
        values = data + generator.random(ELEMENTS) if dtype.is_float else data
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
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover=all"]
    done = run_exam(compile_package(folder, target, "gcc", "-O1", flags), target, ["--threads", "2"])
    assert done.returncode == 0, "\n".join(line for line in done.stdout.decode().splitlines() if "ok " not in line) + done.stderr.decode()
