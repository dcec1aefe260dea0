"""The int8 kernels as shaders on lavapipe, against numpy: docs/int8.md clause 4 and 8 in int64 and float32."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest

from edgec.emit.constants import layout_constants
from edgec.emit.gpu.dialect import Dialect, Glsl, Metal
from edgec.emit.gpu.kernels_int8 import int8_shader
from edgec.emit.gpu.shader import Shader
from edgec.ir.types import DType
from edgec.program.expr import const
from edgec.program.program import Buffer, Call, Kind, Pointer, Program, TemplateCall
from edgec.targets import Target
from tests.gpu.lavapipe import VARIANTS, run_shader
from tests.kernels.int8_cases import conv_case

X86 = Target("x86-64", "", "x86_64", "linux", ("portable",), False, 4)
ARM = Target("linux-arm64", "", "aarch64", "linux", ("portable",), True, 8)
TARGETS = [X86, ARM]
CONSTANTS = ("weights", "bias", "scale")


@dataclass(frozen=True)
class Planned:
    """A call with a Program around it, and its arena: x, residual and y, each after `shift` bytes of something else."""

    program: Program
    arena: np.ndarray  # uint8
    y: slice

    @property
    def call(self) -> TemplateCall:
        call = self.program.calls[0]
        assert isinstance(call, TemplateCall)
        return call

    def shader(self, dialect: Dialect) -> Shader:
        shader = int8_shader(self.program, 0, self.call, dialect)
        assert shader is not None
        return shader


def planned(random: np.random.Generator, arguments: Any, shift: int = 0) -> Planned:
    """`arguments` are a case of int8_cases: its pointers are arrays."""
    program = Program("test", "test")
    arena, pointers, place = bytearray(), {}, slice(0)
    for field in fields(arguments):
        data = getattr(arguments, field.name)
        if not isinstance(data, np.ndarray):
            continue
        kind = Kind.CONSTANT if field.name in CONSTANTS else Kind.ARENA
        offset = 0 if kind is Kind.CONSTANT else shift
        flat = np.ascontiguousarray(data).reshape(-1)
        address = None if kind is Kind.CONSTANT else len(arena)
        program.buffers[field.name] = Buffer(
            field.name, DType(flat.dtype.name), const(flat.size + offset), kind, flat if kind is Kind.CONSTANT else None, address=address
        )
        pointers[field.name] = Pointer(field.name, const(offset))
        if kind is Kind.ARENA:
            start = len(arena) + offset
            whole = random.bytes(offset) + flat.tobytes()
            arena += whole + random.bytes(-len(whole) % 64)
            place = slice(start, start + flat.size) if field.name == "y" else place
    call = Call("test", (), (), ("x",), ("y",), 1)
    program.calls.append(TemplateCall(call, replace(arguments, **pointers), const(1), 0))
    return Planned(program, np.frombuffer(bytes(arena), np.uint8), place)


def check(case: Planned, expected: np.ndarray, signed: bool, variant: str) -> None:
    weights = layout_constants(case.program)
    shader = case.shader(Glsl(signed))
    arena, _ = run_shader(shader.source, shader.group, shader.grid, case.arena.tobytes(), weights, bytes(4), variant)
    wanted = case.arena.copy()
    wanted[case.y] = expected.view(np.uint8)
    np.testing.assert_array_equal(np.frombuffer(arena, np.uint8), wanted)


# groups, input channels and output channels of a group, 1x1, residual, misplaced by bytes
CONVOLUTIONS = [
    (1, 3, 8, False, False, 0), (1, 16, 32, False, False, 0), (1, 64, 64, True, True, 0), (1, 5, 7, False, True, 0),
    (2, 6, 10, False, True, 0), (3, 8, 4, False, False, 0), (1, 24, 20, False, True, 1), (1, 40, 130, True, False, 0),
    (2, 4, 18, True, True, 3), (1, 1, 1, False, False, 2), (1, 200, 16, True, True, 0), (7, 2, 3, False, False, 0),
]  # fmt: skip


@pytest.mark.parametrize("target", TARGETS, ids=["unsigned", "signed"])
@pytest.mark.parametrize("number", range(len(CONVOLUTIONS)))
def test_convolutions_give_the_bytes_of_the_contract(number: int, target: Target) -> None:
    groups, ci, co, simple, residual, shift = CONVOLUTIONS[number]
    random = np.random.default_rng([number, target.signed_activations])
    arguments, expected = conv_case(random, target, groups, ci, co, simple, residual)
    check(planned(random, arguments, shift), expected, target.signed_activations, VARIANTS[number % 3])
