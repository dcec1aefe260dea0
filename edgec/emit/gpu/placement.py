"""Which calls of a Program run on the GPU, and why the others do not."""

from __future__ import annotations

from edgec.emit.gpu.dialect import Glsl
from edgec.emit.gpu.shaders import shaders_or_reasons
from edgec.program.program import Program
from edgec.targets import Target


def place(program: Program, target: Target) -> tuple[str, ...]:
    """For each call of a planned Program "" when it runs on the GPU, else why it stays on the CPU ("computes with float64").

    The answer is the same for every dialect: a call has a shader in all of them or in none.
    """
    found = shaders_or_reasons(program, target, Glsl(target.signed_activations))
    return tuple(item if isinstance(item, str) else "" for item in found)
