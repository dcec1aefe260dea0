"""Which of the calls that a GPU can do it does: all, none, or what a measurement of both sides says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from edgec.program.offload import GPU_TOLERANCE, Expected


@dataclass(frozen=True)
class Measured:
    """One board's times of every call on one thread, in microseconds.

    gpu_us: given to the GPU by itself, without the wait; None for a call that was not measured there. wait_us: giving the GPU a piece
    of work and waiting for it, whatever is in it.
    """

    board: str
    device: str  # the GPU's name
    cpu_us: tuple[float, ...]
    gpu_us: tuple[float | None, ...]
    wait_us: float


@dataclass(frozen=True)
class Choice:
    """gpu: whether calls go to the GPU at all; measured: the times that decide it for each.

    precision: of float packages' tensors there, float32 or float16. tolerance: what a float output may be off by on the GPU, the largest
    difference divided by the largest magnitude.
    """

    gpu: bool = True
    measured: Measured | None = None
    precision: str = "float32"
    tolerance: float = GPU_TOLERANCE

    def reasons(self, can: Sequence[bool]) -> tuple[tuple[bool, str], ...]:
        """For each call, which a GPU can do or not: whether it does, and why in words; "" where nothing was chosen."""
        if self.measured is None or not self.gpu:
            return tuple((self.gpu and able, "" if self.gpu or not able else "the build keeps everything on the CPU") for able in can)
        times = self.measured
        known = [able and us is not None for able, us in zip(can, times.gpu_us, strict=True)]
        places = choose_places(times.cpu_us, [us or 0.0 for us in times.gpu_us], times.wait_us, known)
        return tuple((place, _words(times, index) if able else "") for index, (place, able) in enumerate(zip(places, can, strict=True)))

    def expected(self, places: Sequence[bool]) -> Expected | None:
        """What was measured where, and what a run is expected to take by it."""
        if self.measured is None or not self.gpu:
            return None
        times = self.measured
        expected = run_us(times.cpu_us, [us or 0.0 for us in times.gpu_us], times.wait_us, places)
        return Expected(times.board, times.device, times.wait_us, sum(times.cpu_us), round(expected, 3))


EVERYTHING = Choice()


def choose_places(cpu_us: Sequence[float], gpu_us: Sequence[float], wait_us: float, can: Sequence[bool]) -> tuple[bool, ...]:
    """For each call whether it runs on the GPU, so that the run takes least; the CPU where both sides take as long.

    Calls on the GPU that follow one another are one piece of work, and each piece takes `wait_us` besides its calls. can: which calls the
    GPU can do at all.
    """
    on_cpu, on_gpu = 0.0, inf  # the least time up to here with the last call on that side
    came: list[tuple[bool, bool]] = []  # for each call, on the CPU and on the GPU: whether the call before it is on the GPU
    for cpu, gpu, able in zip(cpu_us, gpu_us, can, strict=True):
        came.append((on_gpu < on_cpu, on_gpu <= on_cpu + wait_us))
        begins, goes_on = on_cpu + wait_us, on_gpu
        on_cpu, on_gpu = min(on_cpu, on_gpu) + cpu, min(begins, goes_on) + gpu if able else inf
    place, places = on_gpu < on_cpu, []
    for before in reversed(came):
        places.append(place)
        place = before[place]
    return tuple(reversed(places))


def run_us(cpu_us: Sequence[float], gpu_us: Sequence[float], wait_us: float, places: Sequence[bool]) -> float:
    """What a run takes with calls at these places."""
    pieces = sum(place and not before for before, place in zip((False, *places), places, strict=False))
    return sum(gpu if place else cpu for cpu, gpu, place in zip(cpu_us, gpu_us, places, strict=True)) + pieces * wait_us


def _words(times: Measured, index: int) -> str:
    gpu = times.gpu_us[index]
    on_gpu = "GPU not measured" if gpu is None else f"GPU {gpu:.4g} us"
    return f"measured: CPU {times.cpu_us[index]:.4g} us, {on_gpu}, waiting {times.wait_us:.4g} us"
