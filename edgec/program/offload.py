"""What of a Program runs on the GPU, once that is chosen."""

from __future__ import annotations

from dataclasses import dataclass

from edgec.program.halves import NO_HALVES, Halves

GPU_TOLERANCE = 1e-3  # of float32: sums are in other orders than on the CPU, functions and divisions less exact


@dataclass(frozen=True)
class Order:
    """segments: (first call, call after the last) of each run of calls on the GPU; barriers: calls before which the GPU must wait
    for all earlier ones of their segment."""

    segments: tuple[tuple[int, int], ...]
    barriers: frozenset[int]


@dataclass(frozen=True)
class Expected:
    """The bench by which calls were placed: a run's microseconds on the CPU alone, and what is expected of one with the GPU."""

    board: str
    device: str  # the GPU's name
    wait_us: float
    cpu_us: float
    expected_us: float


@dataclass(frozen=True)
class Offload:
    """on_cpu: for each call "" when it runs on the GPU, else why it does not; chosen: why it was chosen so, "" without a choice.

    precision: of float packages' tensors there, float32 or float16, and which those are. tolerance: what a float output may be off by on
    the GPU, the largest difference divided by the largest magnitude.
    """

    on_cpu: tuple[str, ...]
    chosen: tuple[str, ...]
    order: Order
    halves: Halves = NO_HALVES
    precision: str = "float32"
    tolerance: float = GPU_TOLERANCE
    expected: Expected | None = None
