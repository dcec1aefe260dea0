"""Runs whole Programs on lavapipe, all calls in one command buffer, under the views and barriers of the schedule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgec.emit.constants import layout_constants
from edgec.emit.gpu.dialect import Glsl
from edgec.emit.gpu.placement import place
from edgec.emit.gpu.shader import Shader
from edgec.emit.gpu.shaders import shaders
from edgec.program.expr import bound
from edgec.program.halves import LARGEST, NO_HALVES, Halves
from edgec.program.program import Program
from edgec.program.regions import io_offsets, places
from edgec.program.views import views_of
from edgec.schedule.gpu.order import order
from edgec.targets import Target
from tests.gpu.lavapipe import Step, run_steps

ARENA_BEFORE = 0x5A  # what a caller's memory may hold


def on_the_cpu(program: Program, target: Target) -> list[str]:
    """Why the calls that are the CPU's are."""
    layout_constants(program)
    return [f"{call.call.name} {reason}" for call, reason in zip(program.calls, place(program, target), strict=True) if reason]


def run_program(program: Program, target: Target, inputs: Sequence[np.ndarray], variant: str = "base") -> list[np.ndarray]:
    """The outputs of a planned Program all of whose calls have shaders."""
    layout_constants(program)
    found = shaders(program, target, Glsl(target.signed_activations))
    assert all(found), on_the_cpu(program, target)
    return run_shaders(program, [shader for shader in found if shader is not None], inputs, variant)


def run_shaders(
    program: Program, found: Sequence[Shader], inputs: Sequence[np.ndarray], variant: str = "base", halves: Halves = NO_HALVES
) -> list[np.ndarray]:
    """The outputs of a planned Program whose calls have these shaders, made for these halves."""
    weights = with_half_weights(layout_constants(program), halves)
    offsets = io_offsets(program)
    io = bytearray([0x5A]) * offsets[""]
    for port, array in zip(program.inputs, inputs, strict=True):
        data = np.ascontiguousarray(array, port.dtype.numpy).tobytes()
        io[offsets[port.buffer] : offsets[port.buffer] + len(data)] = data
    where, barriers = places(program, halves), order(program, [""] * len(found), halves).barriers
    steps = []
    for shader in found:
        views = views_of(program, shader.call, where, halves)[variant.startswith("half")].bindings
        steps.append(Step(shader.source, shader.grid, shader.call in barriers, tuple((view.offset, view.bytes or 4) for view in views)))
    arena = bytes([ARENA_BEFORE]) * max(program.arena_bytes, 4, halves.arena_start + halves.arena_bytes)
    _, result = run_steps(steps, arena, weights, bytes(io), variant)
    outputs = []
    for port in program.outputs:
        shape = [bound(extent) for extent in port.shape]
        outputs.append(np.frombuffer(result, port.dtype.numpy, int(np.prod(shape, dtype=int)), offsets[port.buffer]).reshape(shape))
    return outputs


def with_half_weights(weights: bytes | memoryview, halves: Halves) -> bytes:
    """The weights as a host gives them to the GPU."""
    blob, stored = np.frombuffer(weights, np.float32), np.zeros(halves.weights_bytes // 2, np.float16)
    for item in halves.weights.values():
        at = item.address // 4
        stored[at : at + item.count] = np.clip(blob[at : at + item.count] * 2.0**item.exponent, -LARGEST, LARGEST)
    return bytes(weights).ljust(halves.weights_start, b"\0") + stored.tobytes()
