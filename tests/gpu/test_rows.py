"""Rows that a workgroup reduces, joined first by threads that see each other's registers: however many these are, the sums are right."""

from __future__ import annotations

import numpy as np
import pytest

from edgec.emit.constants import layout_constants
from edgec.emit.gpu.dialect import Glsl, Metal
from edgec.emit.gpu.rows import GROUP
from edgec.emit.gpu.shader import Shader
from edgec.emit.gpu.shaders import shaders
from edgec.emit.gpu.variants import variants_of
from edgec.ir.types import DType
from edgec.lower.plan import plan
from edgec.program.expr import INT, binary, cast, const, load, var
from edgec.program.program import Assign, Declare, For, Kind, Program, Store
from edgec.program.regions import io_offsets
from tests.emit.programs import loop, port
from tests.gpu.lavapipe import compile_shader
from tests.gpu.msl.lint import complaints
from tests.gpu.msl.run import ORDERS, SIMDGROUPS, Wrong, run_metal
from tests.gpu.programs import run_program
from tests.gpu.test_loops import SIGNED, reduction
from tests.operators.suite import to_program

TEAMS = (1, 4, 24, 32, 128)  # threads of a simdgroup: 24 leave the last one partly filled, 128 the only one
JOINS = ("add", "mul", "max", "min")
ROWS, COLUMNS = 3, 150


Case = tuple[Program, np.ndarray, list[np.ndarray]]  # with what goes in, and the outputs


def joins() -> Case:
    """Every integer join of rows of bytes, by one call."""
    program, i, j = Program("joins", "host"), var("i"), var("j")
    port(program, "x", DType.INT8, (ROWS, COLUMNS), Kind.INPUT)
    for operation in JOINS:
        port(program, operation, DType.INT32, (ROWS,), Kind.OUTPUT)
    names = [var(f"total_{operation}") for operation in JOINS]
    item = cast(load("x", i * COLUMNS + j, DType.INT8), INT)
    first = [Declare(name, const(1 if operation == "mul" else 0), mutable=True) for name, operation in zip(names, JOINS, strict=True)]
    row = [Assign(name, binary(operation, name, item)) for name, operation in zip(names, JOINS, strict=True)]
    last = [Store(operation, i, name) for operation, name in zip(JOINS, names, strict=True)]
    loop(program, "join", (For(i, const(ROWS), (*first, For(j, const(COLUMNS), tuple(row)), *last)),), ("x",), JOINS)
    plan(program)
    x = np.random.default_rng(1).integers(-60, 61, (ROWS, COLUMNS)).astype(np.int8) | 1
    products = [int(np.multiply.reduce(values.astype(np.uint32), dtype=np.uint32)) for values in x.astype(np.int32)]
    results = [x.sum(axis=1, dtype=np.int32), np.array(products, np.uint32).view(np.int32), x.max(axis=1), x.min(axis=1)]
    return program, x, [values.astype(np.int32) for values in results]


def softmax() -> Case:
    model, x = reduction("Softmax", (2, 77))
    powers = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return to_program(model, SIGNED), x, [(powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)]


def shader_of(program: Program, dialect: Glsl | Metal) -> Shader:
    layout_constants(program)
    (found,) = shaders(program, SIGNED, dialect)
    assert found is not None and found.shared_bytes % (GROUP * 4) == 0 and found.shared_bytes > 0
    return found


def on_metal(text: str, shader: Shader, case: Case, order: int, team: int) -> list[np.ndarray]:
    program, x, want = case
    offsets = io_offsets(program)
    io = bytearray(b"\x5a" * offsets[""])
    at = offsets[program.inputs[0].buffer]
    io[at : at + x.nbytes] = x.tobytes()
    arena = b"\x5a" * max(program.arena_bytes, 4)
    _, result = run_metal(text, shader.name, shader.group, shader.grid, arena, layout_constants(program), bytes(io), order, team)
    places = [offsets[port.buffer] for port in program.outputs]
    return [np.frombuffer(result, like.dtype, like.size, at).reshape(like.shape) for at, like in zip(places, want, strict=True)]


def check(case: Case, got: list[np.ndarray]) -> None:
    for values, want in zip(got, case[2], strict=True):
        np.testing.assert_allclose(values, want, *((1e-6, 0) if want.dtype == np.float32 else (0, 0)))


def test_simdgroups_of_every_size_join_to_the_same_in_every_order() -> None:
    cases = [joins(), softmax()]
    found = [shader_of(program, Metal(True)) for program, *_ in cases]
    text = SIMDGROUPS + Metal(True).head + "\n".join(shader.source for shader in found)
    assert complaints(text) == [] and all("TEAM_POSITIONS" in shader.source for shader in found)
    for team in TEAMS:
        for order in ORDERS:
            for shader, case in zip(found, cases, strict=True):
                check(case, on_metal(text, shader, case, order, team))


def test_every_barrier_between_simdgroups_is_needed() -> None:
    case = softmax()
    shader = shader_of(case[0], Metal(True))
    parts = shader.source.split("barrier_group();")
    assert len(parts) == 7  # three of the maximum, three of the sum; behind the last one nothing happens
    mutants = [f"{'barrier_group();'.join(parts[:at])}{'barrier_group();'.join(['', *parts[at:]])[16:]}" for at in range(1, 6)]
    sources = [source.replace(f"void {shader.name}(", f"void mutant_{number}(") for number, source in enumerate(mutants)]
    text = SIMDGROUPS + Metal(True).head + "\n".join(sources).replace(shader.name, "mutant")
    for number in range(len(mutants)):
        mutant = Shader(0, f"mutant_{number}", "", shader.group, shader.grid)
        with pytest.raises(Wrong, match=r"race|before it is written"):
            on_metal(text, mutant, case, 0, 16)


@pytest.mark.parametrize("variant", ["base", "subgroups", "bytes_subgroups"])
def test_subgroups_of_a_device_give_the_same(variant: str) -> None:
    for case in (joins(), softmax()):
        assert shader_of(case[0], Glsl(True)).uses_subgroups
        check(case, run_program(case[0], SIGNED, [case[1]], variant))


GROUP_NON_UNIFORM, GROUP_NON_UNIFORM_ARITHMETIC, SHADER = 61, 63, 1


def capabilities(code: bytes) -> set[int]:
    """The operands of SPIR-V's OpCapability, which come first in a module."""
    words, found, at = np.frombuffer(code, np.uint32), set(), 5
    while words[at] == (2 << 16 | 17):
        found.add(int(words[at + 1]))
        at += 2
    return found


def test_only_the_variants_with_subgroups_need_them() -> None:
    shader = shader_of(softmax()[0], Glsl(True))
    assert [variant.name for variant in variants_of(shader)] == ["base", "subgroups"]
    bytes_too = [variant.name for variant in variants_of(shader_of(joins()[0], Glsl(True)))]
    assert set(bytes_too) <= {"base", "bytes", "subgroups", "bytes_subgroups"} and "subgroups" in bytes_too
    assert capabilities(compile_shader(shader.source, "base")) == {SHADER}
    assert capabilities(compile_shader(shader.source, "subgroups")) == {SHADER, GROUP_NON_UNIFORM, GROUP_NON_UNIFORM_ARITHMETIC}
