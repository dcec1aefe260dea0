"""Packages as a build emits them, with everything on the GPU that can be there."""

from __future__ import annotations

from edgec.emit.constants import layout_constants
from edgec.emit.gpu.host import GpuPlan, render_shaders
from edgec.emit.gpu.placement import place
from edgec.emit.package import Draft, emit_sources
from edgec.program.offload import Offload
from edgec.program.program import Program
from edgec.schedule.gpu.choice import EVERYTHING, Choice
from edgec.schedule.gpu.offload import offload
from edgec.targets import Target


def offloaded(program: Program, target: Target, choice: Choice = EVERYTHING) -> Offload | None:
    if not target.gpu:
        return None
    layout_constants(program)
    return offload(program, place(program, target), choice)


def drafted(program: Program, target: Target, weights: str = "incbin") -> Draft:
    return emit_sources(program, target, weights, offload=offloaded(program, target))


def gpu_plan(program: Program, target: Target, choice: Choice = EVERYTHING) -> GpuPlan:
    chosen = offloaded(program, target, choice)
    assert chosen is not None
    return render_shaders(program, target, chosen)
