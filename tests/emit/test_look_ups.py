"""Loops whose tables the kernels read: the same bytes as one look-up after the other, in every vocabulary, in place and in blocks."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from edgec.emit import ExamData, emit_sources
from edgec.ir.types import DType
from edgec.lower.plan import plan
from edgec.program import expr as ex
from edgec.program.expr import FLOAT, INT, Expr, Load, const, load, var
from edgec.program.program import For, Kind, Program, Statement, Store
from edgec.targets import Target, load_target, runs_here
from edgec.toolchain import compile_package, run_exam
from tests.emit.packages import write_package
from tests.emit.programs import buffer, evaluate, loop, port

ROWS, COLUMNS = 37, 24
COUNT = ROWS * COLUMNS
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
# target, compiler, flags
BUILDS = [
    ("host", "gcc", "-O3"), ("host", "clang", "-O2"), ("portable", "gcc", "-O1"), ("portable", "clang", "-O3"),
    ("linux-arm64", "aarch64-linux-gnu-gcc", "-O2"), ("rpi-32bit", "arm-linux-gnueabihf-gcc", "-O2"),
    ("rpi-32bit", "clang --target=arm-linux-gnueabihf", "-O3"),
]  # fmt: skip

i, j = var("i"), var("j")
at = i * COLUMNS + j


def rows(inner: int, *body: Statement) -> tuple[Statement, ...]:
    return (For(i, const(ROWS), (For(j, const(inner), body),)),)


def program_of(target: Target) -> Program:
    """A plain look-up, one in place, one between arithmetic (two tables), one into wider rows, one of
    parts of rows, and two that must stay as they are."""
    generator = np.random.default_rng(3)
    kind = DType.INT8 if target.signed_activations else DType.UINT8
    program = Program("tables", target.name)
    for name in ("one", "two"):
        buffer(program, name, kind, 256, Kind.CONSTANT, generator.integers(0, 256, 256).astype(np.uint8).view(kind.numpy))

    def entry(table: str, code: Expr) -> Load:
        return load(table, ex.cast(code, INT) + (128 if kind is DType.INT8 else 0), kind)

    port(program, "x", kind, (ROWS, COLUMNS), Kind.INPUT)
    code = load("x", at, kind)
    flat = load("x", i, kind)
    for name, dtype, width in (
        ("plain", kind, 24),
        ("real", DType.FLOAT32, 24),
        ("wide", kind, 40),
        ("guarded", kind, 24),
        ("again", kind, 24),
    ):
        port(program, name, dtype, (ROWS, width), Kind.OUTPUT)
    buffer(program, "mixed", kind, COUNT, Kind.ARENA)
    buffer(program, "found", kind, COUNT, Kind.ARENA)
    whole = const(COUNT)
    loop(program, "plain", (For(i, whole, (Store("plain", i, entry("one", flat)),)),), ("x", "one"), ("plain",))
    loop(program, "mix", (For(i, whole, (Store("mixed", i, ex.Binary(kind, "xor", flat, const(85, kind))),)),), ("x",), ("mixed",))
    loop(program, "in_place", (For(i, whole, (Store("found", i, entry("two", load("mixed", i, kind))),)),), ("mixed", "two"), ("found",))
    mean = (ex.cast(entry("one", code), FLOAT) + ex.cast(entry("two", code), FLOAT)) * 0.5
    loop(program, "real", rows(COLUMNS, Store("real", at, mean)), ("x", "one", "two"), ("real",))
    loop(program, "left", rows(COLUMNS, Store("wide", i * 40 + j, entry("one", code))), ("x", "one"), ("wide",))
    loop(program, "right", rows(16, Store("wide", i * 40 + j + 24, entry("two", code))), ("x", "two"), ("wide",))
    inside = ex.select(ex.Binary(DType.BOOL, "lt", const(0), j), entry("one", load("x", at - 1, kind)), const(7, kind))
    loop(program, "guarded", rows(COLUMNS, Store("guarded", at, inside)), ("x", "one"), ("guarded",))
    loop(program, "again", (For(i, whole, (Store("again", i, load("found", whole - 1 - i, kind)),)),), ("found",), ("again",))
    plan(program)
    return program


def exam_of(program: Program) -> ExamData:
    kind = program.inputs[0].dtype.numpy
    inputs = [{"x": np.random.default_rng(seed).integers(0, 256, (ROWS, COLUMNS)).astype(np.uint8).view(kind)} for seed in range(2)]
    return ExamData(inputs, [evaluate(program, given) for given in inputs], {item.name: True for item in program.outputs})


@pytest.mark.parametrize(
    ("name", "compiler", "optimize"),
    [pytest.param(*build, marks=[pytest.mark.thorough] * ("clang" in build[1])) for build in BUILDS],
)
def test_tables_give_the_same_bytes(tmp_path: Path, needs, name: str, compiler: str, optimize: str) -> None:
    target = load_target(name)
    needs(compiler.split()[0], *([] if runs_here(target) else [target.compilers[0], target.emulator[0]]))
    program = program_of(target)
    folder = write_package(tmp_path, program, target, exam_of(program), weights="c")
    built = compile_package(folder, target, compiler, optimize, STRICT)
    ran = []
    for isa in target.vocabularies:
        done = run_exam(built, target, ["--json", "--isa", isa, "--threads", "3"])
        if b"does not have" in done.stdout + done.stderr:
            continue
        assert done.returncode == 0, done.stdout + done.stderr
        ran.append(isa)
    assert target.vocabularies[0] in ran


@pytest.mark.parametrize("name", ["x86-64", "linux-arm64"])
def test_only_look_ups_on_neighbours_become_calls(name: str) -> None:
    target = load_target(name)
    text = emit_sources(program_of(target), target).files["src/tables.c"].decode()
    calls = {}
    for function in text.split("\n/* "):
        head = re.search(r"void step_(\w+)\(", function)
        if head and "(void)scratch" in function:
            calls[head[1]] = function.count("run->kernels->look_up(")
    assert calls == {"plain": 1, "mix": 0, "in_place": 1, "real": 2, "left": 1, "right": 1, "guarded": 0, "again": 0}
