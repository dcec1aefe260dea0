"""Packages as a build emits them, with everything on the GPU that can be there."""

from __future__ import annotations

from edgec.apps.app import App, tensors
from edgec.apps.forms import add_form
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


def whole(draft: Draft, program: Program, target: Target) -> Draft:
    """With what of its form a package cannot be examined without: where there is no system, that brings the exam's own board."""
    if target.os != "none":
        return draft
    return add_form(target.form, App(program.name, "", tensors(program.inputs), tensors(program.outputs), 0, 0, 0), draft)


def gpu_plan(program: Program, target: Target, choice: Choice = EVERYTHING) -> GpuPlan:
    chosen = offloaded(program, target, choice)
    assert chosen is not None
    return render_shaders(program, target, chosen)
