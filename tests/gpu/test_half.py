"""Float packages whose tensors a GPU stores in 16 bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgec.emit.constants import layout_constants
from edgec.emit.gpu.dialect import Dialect, Glsl, Metal
from edgec.emit.gpu.half import Halves, plan_halves
from edgec.emit.gpu.memory import io_offsets
from edgec.emit.gpu.shader import Shader
from edgec.emit.gpu.shaders import shaders_or_reasons
from edgec.exam import half_tolerance
from edgec.export import to_onnx
from edgec.oracle import Evaluator
from edgec.program.program import Program
from edgec.targets import load_target
from tests.contract.examiner import WHOLE
from tests.contract.subjects import FAMILIES, Net, program_of, random_float_net, samples_of
from tests.gpu.msl.lint import complaints
from tests.gpu.msl.run import SIMDGROUPS, run_metal
from tests.gpu.programs import run_shaders, with_half_weights

TARGET = load_target("linux-arm64")
SHOWN = FAMILIES if WHOLE else ("mobilenet",)
Arrays = dict[str, np.ndarray]


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


def run_on_lavapipe(program: Program, inputs: Arrays, variant: str) -> Arrays:
    halves, _, found = with_halves(program, Glsl(TARGET.signed_activations))
    values = [inputs[port.name] for port in program.inputs]
    outputs: list[np.ndarray] = []
    outputs = run_shaders(program, found, values, variant, halves)
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
@pytest.mark.parametrize("variant", ["base", "half", "half_math"])
def test_vulkan_answers_as_well_as_halves_can(family: str, variant: str) -> None:
    """Where the device has no halves, as well as with float32."""
    net = random_float_net(family)
    inputs = samples_of(net.original)[0]
    for apart in differences(net, inputs, run_on_lavapipe(program_of(net, TARGET), inputs, variant)):
        print(family, variant, apart, half_tolerance(net.graph, inputs))
        assert apart < 1e-5 if variant == "base" else 1e-6 < apart < half_tolerance(net.graph, inputs)
