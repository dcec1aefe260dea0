"""The int8 kernels as shaders on lavapipe, against numpy: docs/int8.md clause 4 and 8 in int64 and float32."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest

from edgec.emit.constants import layout_constants
from edgec.emit.gpu import operands
from edgec.emit.gpu.dialect import Dialect, Glsl, Metal
from edgec.emit.gpu.kernels_int8 import int8_shader
from edgec.emit.gpu.shader import Shader
from edgec.ir.types import DType
from edgec.kernels import PoolAverageInt8, PoolMaxInt8
from edgec.program.expr import const
from edgec.program.functions import FUNCTIONS
from edgec.program.program import Buffer, Call, Kind, Pointer, Program, TemplateCall
from edgec.schedule.core import shaded
from edgec.schedule.gpu import shading
from edgec.schedule.gpu.tiles import TILES, choose_tile, with_depths
from edgec.targets import Target
from tests.gpu.lavapipe import VARIANTS, run_shader
from tests.gpu.msl.lint import complaints
from tests.gpu.msl.run import ORDERS, run_metal
from tests.kernels.int8_cases import any_case, conv_case, depthwise_case, float_case, function_case
from tests.kernels.test_pools import expected as pooled
from tests.kernels.test_pools import random_pool

X86 = Target("x86-64", "", "x86_64", "linux", ("portable",), False, gpu="vulkan")
ARM = Target("linux-arm64", "", "aarch64", "linux", ("portable", "neon"), True, gpu="vulkan")
TARGETS = [X86, ARM]
CONSTANTS = ("weights", "bias", "scale")


@dataclass(frozen=True)
class Planned:
    """A call with a Program around it, and its arena: x, residual and y, each after `shift` bytes of something else."""

    program: Program
    arena: np.ndarray  # uint8
    weights: bytes
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
            place = slice(start, start + flat.nbytes) if field.name == "y" else place
    call = Call("test", (), (), ("x",), ("y",), 1)
    program.calls.append(shaded(TemplateCall(call, replace(arguments, **pointers))))
    return Planned(program, np.frombuffer(bytes(arena), np.uint8), layout_constants(program), place)


def check(case: Planned, expected: np.ndarray, signed: bool, variant: str) -> None:
    shader = case.shader(Glsl(signed))
    arena, _ = run_shader(shader.source, shader.group, shader.grid, case.arena.tobytes(), case.weights, bytes(4), variant)
    assert_left(case, expected, arena)


def assert_left(case: Planned, expected: np.ndarray, arena: bytes) -> None:
    """`arena` is as before but for y."""
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


@pytest.mark.parametrize("target", TARGETS, ids=["unsigned", "signed"])
@pytest.mark.parametrize("number", range(len(CONVOLUTIONS)))
def test_convolutions_end_in_float_exactly(number: int, target: Target) -> None:
    groups, ci, co, simple, _, _ = CONVOLUTIONS[number]
    random = np.random.default_rng([8, number, target.signed_activations])
    arguments, expected = float_case(random, target, groups, ci, co, simple)
    check(planned(random, arguments), expected, target.signed_activations, ("base", "even")[number % 2])


@pytest.mark.parametrize("target", TARGETS, ids=["unsigned", "signed"])
@pytest.mark.parametrize("op", FUNCTIONS)
def test_functions_of_sums_give_the_bytes_of_the_contract(op: str, target: Target) -> None:
    for number, shape in enumerate([(1, 24, 20), (2, 6, 10), (1, 40, 130)]):
        random = np.random.default_rng([13, number, target.signed_activations])
        arguments, expected = function_case(random, target, op, *shape, simple=number == 2)
        check(planned(random, arguments, number), expected, target.signed_activations, VARIANTS[number % 3])
        arguments, expected = depthwise_case(random, target, (3, 20, 64)[number], op)
        check(planned(random, arguments, number), expected, target.signed_activations, VARIANTS[number % 3])


@pytest.mark.parametrize("number", range(len(TILES)))
def test_every_tile_gives_the_same_bytes_whatever_the_size(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    depths = [tile for tile in with_depths() if replace(tile, depth=0) == TILES[number]]
    monkeypatch.setattr(shading, "choose_tile", lambda *_: depths[number % len(depths)])
    random = np.random.default_rng([7, number])
    target, shape = TARGETS[number % 2], [(1, 20, 70), (2, 9, 19), (1, 260, 36)][number % 3]
    arguments, expected = conv_case(random, target, *shape, number % 4 == 0, number % 4 == 1)
    check(planned(random, arguments), expected, target.signed_activations, VARIANTS[number % 3])


def test_more_workgroups_than_one_dimension_has_store_each_output_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operands, "MOST_GROUPS", 2)
    random = np.random.default_rng(12)
    surplus = 0
    for arguments, expected in (conv_case(random, X86, 3, 8, 7, True, True), depthwise_case(random, X86, 70)):
        case = planned(random, arguments)
        shader = case.shader(Glsl(False))
        assert shader.grid[1] > 1
        surplus += "store nothing" in shader.source
        check(case, expected, False, "base")
    assert surplus == 1


DEPTHWISE = [(1, 0), (3, 0), (16, 0), (20, 1), (37, 0), (64, 2), (100, 0), (8, 0)]


@pytest.mark.parametrize("target", TARGETS, ids=["unsigned", "signed"])
@pytest.mark.parametrize("number", range(len(DEPTHWISE)))
def test_depthwise_convolutions_give_the_bytes_of_the_contract(number: int, target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    channels, shift = DEPTHWISE[number]
    random = np.random.default_rng([1, number, target.signed_activations])
    monkeypatch.setattr(shading, "ENOUGH", 1 if number % 2 else 1 << 30)  # strips of pixels, or single ones
    monkeypatch.setattr(shading, "MOST_COLUMNS", (16, 16, 16, 16, 2)[number % 5])
    arguments, expected = depthwise_case(random, target, channels)
    check(planned(random, arguments, shift), expected, target.signed_activations, VARIANTS[number % 3])


@pytest.mark.parametrize("target", TARGETS, ids=["unsigned", "signed"])
@pytest.mark.parametrize("shape", [(1, 5, 3), (2, 3, 4), (1, 16, 8)])
def test_convolutions_with_any_weights_give_the_bytes_of_the_contract(shape: tuple[int, int, int], target: Target) -> None:
    random = np.random.default_rng([2, *shape, target.signed_activations])
    arguments, expected = any_case(random, target, *shape)
    check(planned(random, arguments), expected, target.signed_activations, VARIANTS[shape[1] % 3])


@pytest.mark.parametrize("target", TARGETS, ids=["unsigned", "signed"])
@pytest.mark.parametrize("kind", [PoolMaxInt8, PoolAverageInt8])
def test_pools_give_the_bytes_of_the_contract(kind: type, target: Target) -> None:
    for seed in range(4):
        case = random_pool(kind, 600 + seed, target.signed_activations)
        random = np.random.default_rng(seed)
        check(planned(random, case.arguments, seed % 4), pooled(case.arguments), target.signed_activations, VARIANTS[seed % 3])


def test_the_invocations_of_a_shader_load_what_it_says_and_no_more() -> None:
    """Counted in the shader itself. Matrix products have no padding: there the idle parts of the last tiles alone read less."""
    random, other = (np.random.default_rng(seed) for seed in (5, 6))
    for shape in ((1, 64, 64), (2, 12, 40), (1, 64, 1000)):
        whole = conv_case(random, X86, *shape, True, True)[0]
        shaped = function_case(other, X86, "LeakyRelu", *shape, True, whole.window)[0]
        for generator, arguments in ((random, whole), (other, shaped)):
            case = planned(generator, arguments)
            shader = case.shader(Glsl(False))
            assert shader.loads * 0.8 <= counted_loads(case, shader) <= shader.loads
    pool = random_pool(PoolAverageInt8, 602, False).arguments
    depthwise = (depthwise_case(random, X86, 64, op)[0] for op in ("", "HardSwish"))
    for arguments in (*depthwise, any_case(random, X86, 1, 6, 5)[0], pool):
        case = planned(random, arguments)
        shader = case.shader(Glsl(False))
        assert 0 < counted_loads(case, shader) <= shader.loads


def counted_loads(case: Planned, shader: Shader) -> int:
    """Reads of memory, counted by the shader in the first word of io."""
    counting = re.sub(r"((?:int|uint|float) load_\w+_(?:arena|weights)\((?:const )?int i\) \{)", r"\1 atomicAdd(io[0], 1u);", shader.source)
    assert counting.count("atomicAdd(io[0]") >= 16
    _, io = run_shader(counting, shader.group, shader.grid, case.arena.tobytes(), case.weights, bytes(4), "base")
    return int(np.frombuffer(io, np.uint32)[0])


def test_a_large_product_reads_one_word_for_128_products() -> None:
    """And a single pixel, which must read each of its weights, is shared among many invocations."""
    large = choose_tile(56 * 56, 256, 64)
    assert large.loads(64) / (large.pixels * large.lanes * 64 * 4) <= 1 / 128
    single = choose_tile(1, 1000, 320)
    assert single.pixels == 1 and single.slices > 1


def metal_cases(random: np.random.Generator) -> list[tuple[Any, np.ndarray, Target, int]]:
    """Each kernel, aligned and not."""
    pools = [random_pool(kind, seed, True).arguments for kind, seed in ((PoolMaxInt8, 601), (PoolAverageInt8, 602), (PoolAverageInt8, 603))]
    return [
        (*conv_case(random, X86, 1, 24, 36, False, True), X86, 0), (*conv_case(random, ARM, 2, 5, 7, True, True), ARM, 3),
        (*depthwise_case(random, ARM, 20), ARM, 0), (*depthwise_case(random, X86, 7), X86, 1), (*any_case(random, ARM, 1, 3, 3), ARM, 0),
        (*float_case(random, X86, 1, 24, 36, False), X86, 0), (*float_case(random, ARM, 2, 5, 7, True), ARM, 0),
        (*function_case(random, ARM, "HardSwish", 1, 8, 12, True), ARM, 0), (*depthwise_case(random, X86, 9, "LeakyRelu"), X86, 0),
        *((arguments, pooled(arguments), ARM, 0) for arguments in pools),
    ]  # fmt: skip


@pytest.mark.parametrize("number", range(12))
def test_metal_gives_the_same_bytes_within_the_bounds_of_every_region(number: int) -> None:
    """The shim refuses every access outside of a region, every race and every missed barrier."""
    random = np.random.default_rng([9, number])
    arguments, expected, target, shift = metal_cases(random)[number]
    case = planned(random, arguments, shift)
    dialect = Metal(target.signed_activations)
    shader = case.shader(dialect)
    source = dialect.head + "\n" + shader.source
    assert complaints(source) == []
    arena, _ = run_metal(source, shader.name, shader.group, shader.grid, case.arena.tobytes(), case.weights, bytes(4), ORDERS[number % 3])
    assert_left(case, expected, arena)
