"""Float packages whose tensors a GPU stores in 16 bits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from edgec.base.errors import UsageError
from edgec.emit.constants import layout_constants
from edgec.emit.gpu.dialect import Dialect, Glsl, Metal
from edgec.emit.gpu.kernels_float import float_shader
from edgec.emit.gpu.shader import Shader
from edgec.emit.gpu.shaders import shaders_or_reasons
from edgec.exam.expected import GPU_HALVES, HALF_LEAST, USELESS, half_tolerance, write_exam
from edgec.export import to_onnx
from edgec.export.halves import rounded
from edgec.kernels import PoolAverageFloat
from edgec.oracle import Evaluator
from edgec.pipeline.prepare import prepare
from edgec.program.halves import LARGEST, STRETCH, Halves
from edgec.program.program import LoopCall, Program
from edgec.program.regions import io_offsets
from edgec.schedule.gpu.halves import plan_halves
from edgec.settings.config import configure
from tests.contract.examiner import WHOLE
from tests.contract.subjects import FAMILIES, Net, program_of, random_float_net, samples_of
from tests.gpu.cases import lay_out, target_with_gpu
from tests.gpu.lavapipe import Step, run_steps
from tests.gpu.msl.lint import complaints
from tests.gpu.msl.run import SIMDGROUPS, run_metal
from tests.gpu.programs import run_shaders, with_half_weights
from tests.gpu.test_kernels_float import conv, image
from tests.kernels import test_pools
from tests.kernels.driver import Case
from tests.kernels.test_float import expected, random_depthwise

TARGET = target_with_gpu("linux-arm64")
SHOWN = FAMILIES if WHOLE else ("resnet",)
ROUNDING = 2.0**-11
Arrays = dict[str, np.ndarray]


# Kernels


def with_tensors_of_halves(case: Case) -> Case:
    """The case with tensors that halves hold exactly."""
    names = [name for name in ("x", "weights", "residual") if getattr(case.arguments, name, None) is not None]
    return Case(replace(case.arguments, **{name: getattr(case.arguments, name).astype(np.float16).astype(np.float32) for name in names}))


def shader_of(case: Case, language: type[Glsl] | type[Metal] = Glsl) -> tuple[Shader, Halves]:
    layout = lay_out(case.arguments)
    halves = plan_halves(layout.program, [True])
    shader = float_shader(layout.program, 0, layout.call, language(False, halves=halves), halves)
    assert shader is not None
    return shader, halves


def answer(case: Case, variant: str) -> np.ndarray:
    """What the case's shader leaves in y; nothing else may change."""
    layout, (shader, halves) = lay_out(case.arguments), shader_of(case)
    arena = np.full((halves.arena_start + halves.arena_bytes) // 2, 7.0, np.float16)
    spots = {}
    for name in halves.tensors:
        start, values = halves.arena_start // 2 + (layout.program.buffers[name].address or 0) // 4, getattr(case.arguments, name)
        spots[name] = slice(start, start + values.size)
        arena[spots[name]] = values.reshape(-1)
    weights = with_half_weights(layout.weights, halves)
    after, _ = run_steps([Step(shader.source, shader.grid)], arena.tobytes(), weights, b"", variant)
    found = np.frombuffer(after, np.float16)
    y = found[spots["y"]].astype(np.float32).reshape(case.arguments.y.shape)
    assert np.array_equal(np.delete(found, spots["y"]), np.delete(arena, spots["y"]), equal_nan=True)
    return y


def errors(case: Case, variant: str) -> np.ndarray:
    """Of y beyond the rounding of what is stored, in parts of its terms' size."""
    want, error = expected(case)
    apart = abs(answer(case, variant) - want) - abs(want) * ROUNDING
    return np.nan_to_num(apart / (error * 1e6))


WIDE = conv(image(32, 32, 40, 64), 40, 64)  # a product whose workgroups have one slice
SQUARES = conv(image(24, 24, 24, 32, 3), 24, 32)  # Winograd's


@pytest.mark.parametrize("case", [WIDE, SQUARES, random_depthwise(3)], ids=["product", "winograd", "depthwise"])
def test_products_of_halves_are_summed_in_float32(case: Case) -> None:
    assert (errors(with_tensors_of_halves(case), "half") <= 5e-6).all()


def test_products_in_float16_are_as_good_as_is_promised() -> None:
    case = with_tensors_of_halves(WIDE)
    found = errors(case, "half_math")
    assert shader_of(case)[0].uses_half_math
    assert 1e-5 < found.max() <= STRETCH * ROUNDING


def test_pools_of_halves() -> None:
    case = with_tensors_of_halves(test_pools.random_pool(PoolAverageFloat, 3, False))
    np.testing.assert_allclose(answer(case, "half"), test_pools.expected(case.arguments), ROUNDING * 1.01, 1e-4)


@pytest.mark.parametrize("variant", ["half", "half_math"])
def test_numbers_beyond_the_range_of_halves_become_its_ends(variant: str) -> None:
    """And no sum in float16 overflows on the way to one that is in the range."""
    a = WIDE.arguments
    x = np.where(np.arange(a.x.size).reshape(a.x.shape) % 40 < 20, 2.0**15, -(2.0**15)).astype(np.float32)
    weights = np.ones_like(a.weights)
    for lane, sign in enumerate((1, -1)):
        weights[0, 0, :, :20, lane] = 2 * sign
        weights[0, 0, :, 20:, lane] = -2 * sign
    found = answer(Case(replace(a, x=x, weights=weights, bias=np.zeros_like(a.bias))), variant).reshape(-1, a.out_channels)
    assert (found[:, 0] == LARGEST).all() and (found[:, 1] == -LARGEST).all()
    assert (found[:, 2:] == 0).all()


def test_halves_are_half_the_loads() -> None:
    """But for the biases."""
    for case in (WIDE, SQUARES, random_depthwise(3)):
        layout = lay_out(case.arguments)
        plain = float_shader(layout.program, 0, layout.call, Glsl(False))
        assert plain is not None and plain.loads * 0.5 <= shader_of(case)[0].loads <= plain.loads * 0.7


# Plans


def test_what_the_processor_uses_stays_float32() -> None:
    program = program_of(random_float_net("resnet"), TARGET)
    layout_constants(program)
    every = plan_halves(program, [True] * len(program.calls))
    assert every.tensors and every.weights
    for at, call in enumerate(program.calls):
        some = plan_halves(program, [index != at for index in range(len(program.calls))])
        assert not some.tensors & {*call.call.reads, *call.call.writes}
        assert some.tensors == every.tensors - {*call.call.reads, *call.call.writes} or any(b.parent for b in program.buffers.values())
    assert plan_halves(program, [False] * len(program.calls)).weights == {}


def test_weights_lie_just_below_an_eighth() -> None:
    program = program_of(random_float_net("resnet"), TARGET)
    layout_constants(program)
    for name, stored in plan_halves(program, [True] * len(program.calls)).weights.items():
        data = program.buffers[name].data
        assert data is not None and 1 / 16 <= np.abs(data).max() * 2.0**stored.exponent < 1 / 8


@pytest.mark.parametrize("settings", [{"target": "linux-arm64"}, {"target": "linux-vulkan", "precision": "int8"}])
def test_a_build_without_floats_on_a_gpu_is_refused(settings: dict[str, str], tmp_path: Path) -> None:
    model = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"
    config = configure(**{"precision": "fp32", "gpu_precision": "float16", "compile": False, "out": tmp_path / "package", **settings})
    with pytest.raises(UsageError) as refused:
        prepare(model, config)
    assert "--gpu-precision" in str(refused.value)


# The reference


def test_the_reference_rounds_every_tensor() -> None:
    nodes = [helper.make_node("Mul", ["x", "x"], ["squares"]), helper.make_node("Neg", ["squares"], ["y"])]
    ports = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4]) for name in ("x", "y", "squares")]
    graph = helper.make_graph(nodes, "squares", ports[:1], ports[1:2], value_info=ports[2:])
    x = np.array([1.0009765625, 0.1, 300.0, np.nan], np.float32)
    model = rounded(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    (y,) = onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, {"x": x})
    near = x.astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(y, -np.clip(near * near, -LARGEST, LARGEST).astype(np.float16).astype(np.float32))


# Whole networks


def with_halves(program: Program, plain: Dialect) -> tuple[Halves, Dialect, list[Shader]]:
    """What of a Program all of whose calls have shaders is stored as halves, and these shaders."""
    layout_constants(program)
    halves = plan_halves(program, [True] * len(program.calls))
    dialect = replace(plain, halves=halves)  # type: ignore[type-var]
    found = [item for item in shaders_or_reasons(program, TARGET, dialect, halves) if isinstance(item, Shader)]
    assert len(found) == len(program.calls)
    return halves, dialect, found


def run_on_metal(program: Program, inputs: Arrays, simdgroups: bool = False) -> Arrays:
    halves, dialect, found = with_halves(program, Metal(TARGET.signed_activations))
    if simdgroups:
        found = [shader.matrices or shader for shader in found]
    text = (SIMDGROUPS if simdgroups else "") + dialect.head + "\n".join(shader.source for shader in found)
    assert complaints(text) == []
    offsets = io_offsets(program)
    weights, arena, filled = (
        with_half_weights(layout_constants(program), halves),
        bytes(halves.arena_start + halves.arena_bytes),
        bytearray(),
    )
    for port in program.inputs:
        filled = filled.ljust(offsets[port.buffer], b"\0") + inputs[port.name].tobytes()
    io = bytes(filled.ljust(offsets[""], b"\0"))
    for shader in found:
        arena, io = run_metal(text, shader.name, shader.group, shader.grid, arena, weights, io)
    shapes = {port: [int(extent.value) for extent in port.shape] for port in program.outputs}
    return {
        port.name: np.frombuffer(io, np.float32, int(np.prod(shape)), offsets[port.buffer]).reshape(shape) for port, shape in shapes.items()
    }


def run_on_lavapipe(program: Program, inputs: Arrays, variant: str, fault: tuple[str, str] = ("", "")) -> Arrays:
    """fault: a text in the first convolution's shader, and what stands there instead."""
    halves, _, found = with_halves(program, Glsl(TARGET.signed_activations))
    first = next(at for at, shader in enumerate(found) if not isinstance(program.calls[shader.call], LoopCall))
    if fault[0]:
        assert fault[0] in found[first].source
        found[first] = replace(found[first], source=found[first].source.replace(*fault))
    outputs = run_shaders(program, found, [inputs[port.name] for port in program.inputs], variant, halves)
    return {port.name: output for port, output in zip(program.outputs, outputs, strict=True)}


def differences(net: Net, inputs: Arrays, got: Arrays) -> list[float]:
    want = Evaluator(to_onnx(net.graph)).run(inputs)
    return [float(np.abs(got[name] - values).max() / np.abs(values).max()) for name, values in want.items()]


@pytest.mark.parametrize("family", SHOWN)
def test_metal_answers_as_well_as_halves_can(family: str) -> None:
    net = random_float_net(family)
    inputs = samples_of(net.original)[0]
    for apart in differences(net, inputs, run_on_metal(program_of(net, TARGET), inputs)):
        assert 1e-6 < apart < half_tolerance(net.graph, inputs)


@pytest.mark.parametrize("family", SHOWN)
@pytest.mark.parametrize("variant", ["base", "half", "half_math"] if WHOLE else ["half_math"])
def test_vulkan_answers_as_well_as_halves_can(family: str, variant: str) -> None:
    """Where the device has no halves, as well as with float32."""
    net = random_float_net(family)
    inputs = samples_of(net.original)[0]
    for apart in differences(net, inputs, run_on_lavapipe(program_of(net, TARGET), inputs, variant)):
        assert apart < 1e-5 if variant == "base" else 1e-6 < apart < half_tolerance(net.graph, inputs)


def test_a_wrong_answer_is_beyond_the_tolerance() -> None:
    net = random_float_net("resnet")
    inputs = samples_of(net.original)[0]
    got = run_on_lavapipe(program_of(net, TARGET), inputs, "half_math", ("((sum) * (scale))", "((sum) * (scale) * 1.1f)"))
    assert max(differences(net, inputs, got)) > half_tolerance(net.graph, inputs)


def test_a_network_that_loses_itself_in_halves_is_refused() -> None:
    """Its sums are differences of large numbers."""
    net = random_float_net("resnet")
    inputs = samples_of(net.original)[0]
    program = program_of(net, TARGET)
    sharp = write_exam(net.original, net.graph, program, None, 0, halves=GPU_HALVES)
    assert all(HALF_LEAST <= tolerance < USELESS for tolerance in sharp.on_gpu)
    lost = net.graph.copy()  # other tests have this net too
    for name in [name for name, array in lost.constants.items() if array.dtype == np.float32 and array.ndim == 1]:
        lost.constants[name] = lost.constants[name] + np.float32(1e5)
    assert half_tolerance(lost, inputs) > USELESS
    with pytest.raises(UsageError, match="float16 keeps too little"):
        write_exam(lost, lost, program, None, 0, halves=GPU_HALVES)
