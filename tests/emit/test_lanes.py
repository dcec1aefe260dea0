"""Totals in parts: the same bits from every compiler and vocabulary, in the order that the test spells out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgec.emit import ExamData
from edgec.lower.plan import plan
from edgec.program.expr import FLOAT, binary, const, load, real, unary, var
from edgec.program.lanes import LANES, STARTS
from edgec.program.program import Assign, Declare, For, Kind, Program, Store
from edgec.targets import load_target, runs_here
from edgec.toolchain import compile_package, run_exam
from tests.contract.examiner import WHOLE
from tests.emit.packages import write_package
from tests.emit.programs import loop, port

ROWS = 3
COUNTS = (2, 15, 16, 17, 48, 61)
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# Without EDGEC_TEST_ALL foreign processors' code is not of the highest level, and clang's is not made.
HIGH = "-O3" if WHOLE else "-O1"
BUILDS = [
    ("x86-64", "gcc", "-O0", STRICT), pytest.param("x86-64", "gcc", "-O3", STRICT, marks=pytest.mark.thorough),
    pytest.param("x86-64", "clang", "-O2", STRICT, marks=pytest.mark.thorough),
    ("portable", "gcc", "-O0", SANITIZE), ("linux-arm64", "aarch64-linux-gnu-gcc", HIGH, STRICT),
    ("rpi-32bit", "arm-linux-gnueabihf-gcc", HIGH, STRICT),
]  # fmt: skip
JOIN = {
    "add": np.add, "mul": np.multiply, "max": lambda a, b: a if a > b else b, "min": lambda a, b: a if a < b else b,
    "maximum": lambda a, b: a if a > b or a != a else b, "minimum": lambda a, b: a if a < b or a != a else b,
}  # fmt: skip

i, k = var("i"), var("k")


def name_of(op: str, count: int) -> str:
    return f"{op}{count}"


def program_of(target: str) -> Program:
    """For every operation and length: a total of x / 2, which is written as well."""
    program = Program("lanes", target)
    for count in COUNTS:
        port(program, f"x{count}", FLOAT, (ROWS, count), Kind.INPUT)
    for op, start in STARTS.items():
        for count in COUNTS:
            name, half, total = name_of(op, count), f"half_{name_of(op, count)}", var("total", FLOAT)
            port(program, name, FLOAT, (ROWS,), Kind.OUTPUT)
            port(program, half, FLOAT, (ROWS, count), Kind.OUTPUT)
            value = var("value", FLOAT)
            step = (
                Declare(value, load(f"x{count}", i * count + k, FLOAT) * 0.5),
                Store(half, i * count + k, value), Assign(total, binary(op, total, value)),
            )  # fmt: skip
            body = (Declare(total, real(start), mutable=True), For(k, const(count), step, lanes=True), Store(name, i, unary("neg", total)))
            loop(program, name, (For(i, const(ROWS), body),), (f"x{count}",), (name, half))
    plan(program)
    return program


def total_of(row: np.ndarray, op: str) -> np.float32:
    join, start = JOIN[op], np.float32(STARTS[op])
    parts = [start] * LANES
    for place, x in enumerate(row):
        parts[place % LANES] = join(parts[place % LANES], x)
    for half in (8, 4, 2, 1):
        parts = [join(parts[part], parts[part + half]) for part in range(half)]
    return np.float32(join(start, parts[0]))


def exam_of(program: Program) -> ExamData:
    """Numbers of many magnitudes; in the last row zeros of both signs."""
    generator = np.random.default_rng(1)
    x = {
        f"x{count}": (generator.standard_normal((ROWS, count)) * np.exp(generator.normal(0, 3, (ROWS, count)))).astype(np.float32)
        for count in COUNTS
    }
    for rows in x.values():
        rows[-1] = np.where(rows[-1] > 0, 0.0, -0.0)
    answers: dict[str, np.ndarray] = {}
    with np.errstate(all="ignore"):
        for op in STARTS:
            for count in COUNTS:
                half = x[f"x{count}"] * np.float32(0.5)
                answers[f"half_{name_of(op, count)}"] = half
                answers[name_of(op, count)] = np.array([-total_of(row, op) for row in half], np.float32)
    return ExamData([x], [answers], {item.name: True for item in program.outputs})


@pytest.mark.parametrize(("name", "compiler", "optimize", "flags"), BUILDS, ids=lambda value: value if isinstance(value, str) else "")
def test_parts_join_in_one_order(tmp_path: Path, needs, name: str, compiler: str, optimize: str, flags: tuple[str, ...]) -> None:
    target = load_target(name)
    needs(compiler, *([] if runs_here(target) else [target.emulator[0]]))
    program = program_of(name)
    folder = write_package(tmp_path, program, target, exam_of(program), weights="c")
    built = compile_package(folder, target, compiler, optimize, flags)
    ran = []
    for isa in target.vocabularies:
        done = run_exam(built, target, ["--json", "--isa", isa, "--threads", "2"])
        if b"does not have" in done.stdout + done.stderr:
            continue
        assert done.returncode == 0, done.stdout + done.stderr
        ran.append(isa)
    assert target.vocabularies[0] in ran
