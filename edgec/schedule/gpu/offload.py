"""offload(): which calls of a planned Program run on the GPU, in which order, and what is stored in 16 bits there."""

from __future__ import annotations

from collections.abc import Sequence

from edgec.program.halves import NO_HALVES
from edgec.program.offload import Offload
from edgec.program.program import Program
from edgec.schedule.gpu.choice import EVERYTHING, Choice
from edgec.schedule.gpu.halves import plan_halves
from edgec.schedule.gpu.order import order


def offload(program: Program, reasons: Sequence[str], choice: Choice = EVERYTHING) -> Offload:
    """reasons: for each call "" when a GPU can do it, else why not. Constants have addresses where `choice` asks for halves."""
    places = choice.reasons([not reason for reason in reasons])
    halves = plan_halves(program, [on_gpu for on_gpu, _ in places]) if choice.precision == "float16" else NO_HALVES
    on_cpu = tuple(reason or ("" if on_gpu else why) for reason, (on_gpu, why) in zip(reasons, places, strict=True))
    return Offload(
        on_cpu,
        tuple(why for _, why in places),
        order(program, on_cpu, halves),
        halves,
        choice.precision,
        choice.tolerance,
        choice.expected([not reason for reason in on_cpu]),
    )
