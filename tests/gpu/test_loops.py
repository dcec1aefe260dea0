"""Loop calls as shaders on lavapipe: random movements of every element size, reductions, and the operators' own cases."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Iterator

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgec.emit.constants import layout_constants
from edgec.emit.gpu.dialect import Glsl, Metal
from edgec.emit.gpu.loops import spread
from edgec.emit.gpu.shader import Shader
from edgec.emit.gpu.shaders import shaders, shaders_or_reasons
from edgec.ir.types import DType
from edgec.kernels.gpu.limits import MOST_GROUPS
from edgec.lower.plan import plan
from edgec.oracle import islands
from edgec.program.expr import FLOAT, INT, Expr, cast, const, load, var
from edgec.program.program import For, Kind, LoopCall, Program, Store
from edgec.program.regions import io_offsets
from tests.emit.programs import buffer, execute, loop, port
from tests.gpu.cases import target_with_gpu
from tests.gpu.lavapipe import VARIANTS, Step, run_steps
from tests.gpu.programs import on_the_cpu, run_program
from tests.operators.case import Case, difference
from tests.operators.int8_cases import int8_case
from tests.operators.own_cases import own_cases
from tests.operators.suite import Compiled, compile_case, to_program
from tests.operators.test_operators import EXCUSES

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the onnx package, while it makes its cases
SIGNED, UNSIGNED = target_with_gpu("rpi5"), target_with_gpu("x86-64")
ONE_IN = 12  # of our own operator cases; tests/operators has all cases, on whole packages
TYPES = (DType.INT8, DType.UINT8, DType.BOOL, DType.INT16, DType.FLOAT32, DType.INT64, DType.FLOAT16)
BEFORE = 0x5A


# Movements


def random_movement(dice: random.Random, dtype: DType, number: int, program: Program) -> None:
    """A copy into a part of a buffer, with gaps before, between and behind what it stores, from elements in another order."""
    extents = [dice.choice((1, 2, 3, 4, 5, 8)) for _ in range(dice.randint(1, 4))]
    variables = [var(f"i{axis}") for axis in range(len(extents))]
    order = dice.sample(range(len(extents)), len(extents))
    step, index, source = 1, const(dice.choice((0, 0, 1, 3, 4))) + 0, const(0) + 0
    for axis in order:  # the store's digits, lowest first
        index = index + variables[axis] * step
        step *= extents[axis] + dice.choice((0, 0, 0, 1, 4 - extents[axis] % 4))
    inner = 1
    for variable, extent in zip(reversed(variables), reversed(extents), strict=True):
        source, inner = source + variable * inner, inner * extent
    x, y = f"x{number}", f"y{number}"
    values = np.arange(inner) * 37 % 251
    data = values % 2 if dtype is DType.BOOL else values - (0 if dtype is DType.UINT8 else 120)
    buffer(program, x, dtype, inner, Kind.CONSTANT, data.astype(dtype.numpy))
    port(program, y, dtype, (step + dice.randint(4, 9),), Kind.OUTPUT)
    value: Expr = load(x, source, dtype)
    if dtype in (DType.INT8, DType.UINT8):
        value = cast(cast(value, INT) + 3, dtype)
    body: tuple[For | Store, ...] = (Store(y, index, value),)
    for variable, extent in reversed(list(zip(variables, extents, strict=True))):
        start = dice.choice((None, None, const(1)))
        body = (For(variable, const(extent), body),) if start is None else (For(variable, const(extent - 1), body, start),)
    loop(program, f"move_{number}", body, (x,), (y,), parallel=dice.random() < 0.5)


@pytest.mark.parametrize("variant", VARIANTS)
def test_random_movements_store_every_element_and_nothing_else(variant: str) -> None:
    dice = random.Random(VARIANTS.index(variant))
    program = Program("moves", "host")
    port(program, "unused", FLOAT, (1,), Kind.INPUT)
    for number in range(28):
        random_movement(dice, TYPES[number % len(TYPES)], number, program)
    plan(program)
    expected = {
        item.name: np.frombuffer(bytes([BEFORE]) * item.max_bytes, item.dtype.numpy).copy() if item.data is None else item.data
        for item in program.buffers.values()
    }
    for call in program.calls:
        assert isinstance(call, LoopCall)
        execute(call.body, {}, expected)
    found = run_program(program, UNSIGNED, [np.zeros(1, np.float32)], variant)
    for item, array in zip(program.outputs, found, strict=True):
        assert array.tobytes() == expected[item.name].tobytes(), item.name


def test_packed_stores_write_whole_words_and_the_rest_byte_by_byte() -> None:
    def source(count: int, first: int) -> str:
        program = Program("packed", "host")
        port(program, "x", DType.INT8, (64,), Kind.INPUT)
        port(program, "y", DType.INT8, (64,), Kind.OUTPUT)
        i = var("i")
        loop(program, "copy", (For(i, const(count), (Store("y", i + first, load("x", i + first, DType.INT8)),)),), ("x",), ("y",))
        plan(program)
        layout_constants(program)
        (shader,) = shaders(program, SIGNED, Glsl(True))
        assert shader is not None and shader.uses_bytes
        return shader.source.split("void main")[1]

    assert "store_word(io" in source(32, 0) and "store_8" not in source(32, 0)
    assert "load_word(io" in source(32, 4), "four bytes of a word are one load"
    assert "store_word" in source(31, 4) and "store_8" in source(31, 4)
    assert "store_word" not in source(32, 1), "words that begin elsewhere have several owners"


def test_dispatches_larger_than_one_dimension_go_on_in_the_next() -> None:
    assert spread(1) == (1, 1, 1) and spread(MOST_GROUPS) == (MOST_GROUPS, 1, 1)
    for groups in (MOST_GROUPS + 1, 3 * MOST_GROUPS, 1_000_003):
        x, y, z = spread(groups)
        assert x <= MOST_GROUPS and z == 1 and 0 <= x * y - groups < y
    program = Program("large", "host")
    count = (MOST_GROUPS + 3) * 64 * 4
    port(program, "x", DType.INT8, (4,), Kind.INPUT)
    port(program, "y", DType.INT8, (count,), Kind.OUTPUT)
    i = var("i")
    loop(program, "fill", (For(i, const(count), (Store("y", i, load("x", i % 4, DType.INT8)),)),), ("x",), ("y",))
    plan(program)
    (y,) = run_program(program, SIGNED, [np.arange(4, dtype=np.int8)])
    np.testing.assert_array_equal(y.reshape(-1, 4), np.tile(np.arange(4, dtype=np.int8), (count // 4, 1)))


def test_a_chain_that_only_one_invocation_can_follow_stays_on_the_cpu_when_it_is_long() -> None:
    program = Program("chain", "host")
    port(program, "x", FLOAT, (1 << 17,), Kind.INPUT)
    port(program, "y", FLOAT, (1 << 17,), Kind.OUTPUT)
    i = var("i")
    body = (For(i, const((1 << 17) - 1), (Store("y", i + 1, load("y", i, FLOAT) + load("x", i, FLOAT)),)),)
    loop(program, "running_sum", body, ("x", "y"), ("y",), parallel=False)
    plan(program)
    assert on_the_cpu(program, SIGNED) == ["running_sum is one chain of 131071 steps"]


def test_in_place_calls_read_before_they_write() -> None:
    program = Program("in_place", "host")
    port(program, "x", DType.INT8, (100,), Kind.INPUT)
    port(program, "y", DType.INT8, (100,), Kind.OUTPUT)
    i = var("i")
    buffer(program, "a", DType.INT8, 100, Kind.ARENA)
    buffer(program, "b", DType.INT8, 100, Kind.ARENA)
    for source, target in (("x", "a"), ("a", "b"), ("b", "y")):
        value = cast(cast(load(source, i, DType.INT8), INT) + 1, DType.INT8)
        loop(program, f"to_{target}", (For(i, const(100), (Store(target, i, value),)),), (source,), (target,))
    plan(program)
    program.place("b", program.buffers["a"].address or 0)
    x = np.arange(100, dtype=np.int8)
    for variant in VARIANTS:
        np.testing.assert_array_equal(run_program(program, SIGNED, [x], variant)[0], x + 3)


# Reductions


def reduction(
    operator: str, shape: tuple[int, ...], axes: tuple[int, ...] | None = None, **attributes: int
) -> tuple[onnx.ModelProto, np.ndarray]:
    rng = np.random.default_rng(zlib.crc32(repr((operator, shape, axes)).encode()))
    constants = []
    if "Normalization" in operator:
        count = shape[1] if operator.startswith("Instance") else shape[-1]
        names = ("scale",) if operator.startswith("RMS") else ("scale", "bias")
        constants = [numpy_helper.from_array(rng.normal(size=count).astype(np.float32), name) for name in names]
    elif axes is not None:
        constants = [numpy_helper.from_array(np.array(axes, np.int64), "axes")]
    node = helper.make_node(operator, ["x", *(item.name for item in constants)], ["y"], **attributes)
    x, y = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape), helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "reduction", [x], [y], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model), rng.normal(1, 0.5, shape).astype(np.float32)


@pytest.mark.parametrize(
    ("operator", "shape", "axes", "attributes", "groups"),
    [
        ("Softmax", (1, 1000), None, {}, 1),
        ("Softmax", (3, 5, 77), None, {"axis": -1}, 15),
        ("Softmax", (3, 500, 7), None, {"axis": 1}, 21),
        ("LogSoftmax", (2, 300), None, {}, 2),
        ("LayerNormalization", (5, 301), None, {"axis": -1}, 5),
        ("RMSNormalization", (5, 301), None, {"axis": -1}, 5),
        ("InstanceNormalization", (2, 3, 9, 13), None, {}, 6),
        ("GlobalAveragePool", (1, 5, 11, 11), None, {}, 5),
        ("ReduceMean", (4, 6, 200), (2,), {}, 24),
        ("ReduceMax", (4, 6, 200), (1, 2), {}, 4),
        ("ReduceMin", (2, 300), (1,), {}, 2),
        ("ReduceProd", (3, 100), (1,), {}, 3),
        ("ReduceSum", (37, 300), (0,), {}, None),
        ("ReduceSum", (100, 30), None, {}, 1),
    ],
)  # fmt: skip
def test_rows_are_reduced_by_workgroups(operator: str, shape: tuple[int, ...], axes: tuple[int, ...] | None,
                                        attributes: dict[str, int], groups: int | None) -> None:  # fmt: skip
    model, x = reduction(operator, shape, axes, **attributes)
    program = to_program(model, SIGNED)
    layout_constants(program)
    first = shaders(program, SIGNED, Glsl(True))[0]
    assert first is not None and (first.shared_bytes > 0, first.grid[0]) == ((True, groups) if groups is not None else (False, 5))
    expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    variant = VARIANTS[len(shape) % len(VARIANTS)]
    np.testing.assert_allclose(run_program(program, SIGNED, [x], variant)[0], expected, 1e-4, 1e-6)


@pytest.mark.parametrize("axes", [(1, 2), (2,)])
def test_float_sums_of_a_quantized_program_keep_their_order(axes: tuple[int, ...]) -> None:
    """By ascending index, or in parts where the last axis alone is reduced."""
    model, _ = reduction("ReduceSum", (3, 1, 100), axes)
    program = to_program(model, SIGNED)
    buffer(program, "codes", DType.INT8, 64, Kind.ARENA)
    plan(program)
    rng = np.random.default_rng(1)
    x = (rng.normal(0, 1, (3, 1, 100)) * 10.0 ** rng.integers(-4, 4, (3, 1, 100))).astype(np.float32)
    total = islands.REDUCTIONS["ReduceSum"](x, axes)
    for variant in VARIANTS:
        assert run_program(program, SIGNED, [x], variant)[0].tobytes() == total.tobytes()


# The operators' cases


def chosen() -> Iterator[Case]:
    return (case for case in own_cases() if zlib.crc32(f"gpu {case.name}".encode()) % ONE_IN == 0)


def test_operators_give_what_they_should_in_every_variant() -> None:
    """Cases take turns with the variants and with signed and unsigned activations."""
    tried = 0
    for number, case in enumerate(chosen()):
        target, variant = (SIGNED, UNSIGNED)[number % 2], VARIANTS[number % 3]
        found = compile_case(case, target)
        if isinstance(found, Compiled) and not on_the_cpu(found.program, target) and case.name not in EXCUSES:
            problem = difference(case, run_program(found.program, target, found.inputs(), variant))
            assert not problem, f"{case.name}, {target.name}, {variant}: {problem}"
            tried += 1
    assert tried > 15


@pytest.mark.parametrize("variant", [*VARIANTS, "even"])
def test_quantized_operators_give_the_oracles_bytes(variant: str) -> None:
    for seed in range(10):
        case = int8_case(seed * 4 + [*VARIANTS, "even"].index(variant))
        target = (SIGNED, UNSIGNED)[seed % 2]
        found = compile_case(case, target)
        assert isinstance(found, Compiled) and on_the_cpu(found.program, target) == []
        assert difference(case, run_program(found.program, target, found.inputs(), variant)) == "", case.name


def test_both_languages_have_shaders_for_the_same_calls() -> None:
    for seed in range(6):
        found = compile_case(int8_case(seed), SIGNED)
        assert isinstance(found, Compiled)
        layout_constants(found.program)
        pair = [shaders_or_reasons(found.program, SIGNED, dialect) for dialect in (Glsl(True), Metal(True))]
        for glsl, metal in zip(*pair, strict=True):
            assert isinstance(glsl, Shader) and isinstance(metal, Shader)
            facts = [(item.name, item.grid, item.group, item.shared_bytes, item.loads) for item in (glsl, metal)]
            assert facts[0] == facts[1]
            bodies = glsl.source.split("void main() {")[1], re.sub(r"\n    threadgroup .*", "", metal.source.split("]]) {")[1])
            assert bodies[0] == bodies[1], "one body, two languages"


def test_a_dialect_of_the_other_signedness_is_refused() -> None:
    found = compile_case(int8_case(0), SIGNED)
    assert isinstance(found, Compiled)
    with pytest.raises(ValueError, match="otherwise than the target"):
        shaders(found.program, SIGNED, Glsl(False))


def test_the_schedules_barriers_are_enough_for_a_whole_program() -> None:
    """With these alone the outputs are right; what synchronization validation says of dispatches that use disjoint bytes is left out."""
    from edgec.schedule.gpu.order import order

    case = int8_case(0)
    found = compile_case(case, SIGNED)
    assert isinstance(found, Compiled)
    program = found.program
    weights = layout_constants(program)
    made = [item for item in shaders(program, SIGNED, Glsl(True)) if item is not None]
    waits = order(program, [""] * len(made)).barriers
    assert waits == set(range(1, len(made))), "each call reads what the one before it wrote"
    offsets = io_offsets(program)
    io = bytearray(offsets[""])
    for item, array in zip(program.inputs, found.inputs(), strict=True):
        io[offsets[item.buffer] : offsets[item.buffer] + array.nbytes] = array.tobytes()
    steps = [Step(item.source, item.grid, index in waits) for index, item in enumerate(made)]
    _, result = run_steps(steps, bytes(program.arena_bytes), weights, bytes(io))
    output = program.outputs[0]
    assert result[offsets[output.buffer] :].startswith(np.asarray(case.expected[0], output.dtype.numpy).tobytes())
