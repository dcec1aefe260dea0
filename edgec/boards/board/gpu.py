"""The GPU half of a package on a board: whether it starts there, and what its calls take."""

from __future__ import annotations

from collections.abc import Collection

from edgec.base.errors import GateError
from edgec.base.harmless import last_lines, printable
from edgec.boards.board.answers import number
from edgec.boards.board.exam_program import examine, verdict
from edgec.boards.board.measure import Options, profile_facts
from edgec.boards.connect.connection import Connection
from edgec.boards.connect.connectors import program_words
from edgec.boards.connect.trouble import BoardTimeout
from edgec.records.results import GpuUse, LayerTime


def find_gpu(connection: Connection, program: str) -> tuple[str, str]:
    """(the device's name, "") where the exam program starts the GPU, else ("", why not, in words). A broken line is raised."""
    limit = connection.device.limits.run
    try:
        answer = connection.execute(program_words(connection.device, program, "--gpu", "--gpu-name"), seconds=limit)
    except BoardTimeout:
        return "", f"it does not start within {limit:g} s"
    name = printable(answer.output.strip(), 100).replace("\n", " ")
    if answer.status == 0 and name:
        return name, ""
    said = "; ".join(line.split("_exam: ", 1)[-1] for line in last_lines(answer.errors, 3))
    return "", said or f"the exam program ended with status {answer.status}"


def examine_gpu(connection: Connection, program: str, *, isa: str | None = None, threads: int = 1) -> GpuUse:
    """Whether the board can start the GPU, and what the exam says of it then. Wrong answers are a result that did not pass."""
    device, reason = find_gpu(connection, program)
    return GpuUse(device, reason, examine(connection, program, isa=isa, threads=threads, gpu=True) if device else None)


def wrong_on_gpu(use: GpuUse, board: str) -> GateError | None:
    """The error for wrong answers of a GPU; None where there are none."""
    if use.exam is None or use.exam.passed:
        return None
    return GateError(f"{verdict(use.exam)}, on the GPU {use.device}", where=board, hint="update the GPU's driver, or build with --gpu off")


def profile_gpu(
    connection: Connection, program: str, calls: int, on_gpu: Collection[int], options: Options
) -> tuple[float, tuple[LayerTime, ...]]:
    """Microseconds of giving the GPU nothing and waiting for it, and the median of every call on it, given by itself, without that."""
    facts, times = profile_facts(connection, program, calls, options, "--gpu")
    wait = number(facts, "wait_us", connection)
    return wait, tuple(LayerTime(index, max(0.0, times[index] - wait)) for index in sorted(on_gpu) if index < calls)
