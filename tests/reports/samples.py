"""Records of benches as boards make them, in all states, for the tests of reports."""

from __future__ import annotations

import random
from dataclasses import replace

from edgec.records.results import (
    Accuracy,
    Attempt,
    BenchedLayer,
    Block,
    ExamResult,
    Gate,
    Job,
    Latency,
    LayerTime,
    PackageFacts,
    Record,
    State,
    Versus,
)

NAMES = ("conv1", "depthwise1", "pointwise1", "depthwise2", "pointwise2", "pool", "flatten", "dense", "softmax")


def package(name: str = "digits", precision: str = "int8", mark: str = "a", layers: int = 9) -> PackageFacts:
    calls = tuple(
        BenchedLayer(
            f"{NAMES[i % 9]}_{i}",
            (f"{NAMES[i % 9]}_{i}", f"relu_{i}"),
            "conv_int8",
            precision if i % 9 != 8 else "float32",
            40_000 * (i % 9 + 1),
            42.5 - i % 9,
        )
        for i in range(layers)
    )
    blocks = tuple(
        Block(f"t{i}_{NAMES[i % 9]}", (i % 2) * 12_288, 12_288 - 1024 * (i % 9), i, min(i + 1, layers - 1)) for i in range(layers)
    )
    return PackageFacts(mark * 64, name, "raspberry-pi-4", precision, "e" * 64, 1_800_000, 24_576, 61_000, calls, blocks)


def latency(middle: float = 900.0, threads: int = 1, seed: int = 1, samples: int = 1200) -> Latency:
    source = random.Random(f"{middle} {threads} {seed}")
    taken = tuple(
        round(middle * (1 + abs(source.gauss(0, 0.02)) + (0.4 * source.random() if source.random() < 0.02 else 0)), 3)
        for _ in range(samples)
    )
    order = sorted(taken)

    def at(share: float) -> float:
        return order[int(share * (samples - 1))]

    mean = sum(taken) / samples
    medians = tuple(round(at(0.5) * (1 + source.gauss(0, 0.004)), 3) for _ in range(5))
    return Latency(
        threads, (2, 3)[:threads], "dotprod", 5, samples, sum(taken) / 1e6, order[0], mean, at(0.5), at(0.9), at(0.95), at(0.99),
        (sum((t - mean) ** 2 for t in taken) / samples) ** 0.5, at(0.5) * 0.993, at(0.5) * 1.008, middle * 9, 2_340_000, medians,
        taken, (1_800_000, 1_795_000),
    )  # fmt: skip


BOARD = {
    "model": "Raspberry Pi 4 Model B Rev 1.4",
    "processor": "Cortex-A72",
    "cores": "4",
    "memory": "3.7 GiB",
    "system": "Linux 6.6.31 aarch64",
    "libc": "glibc 2.36",
}
COOL = State("performance", 1_800_000, 1_800_000, 48.2, (), 0.12)
WARM = State("performance", 1_800_000, 1_800_000, 61.7, (), 1.0)


def job(facts: PackageFacts, device: str = "pi4", **changes: object) -> Job:
    """A job that passed, with everything measured."""
    job = Job(
        device, "raspberry-pi-4", facts.sha256, "passed", "", "2026-11-20T09:30:00Z", 31.5, "bench-host", BOARD, COOL, WARM,
        ExamResult(True, 8, True, 0.0, "dotprod", ("1" * 64, "2" * 64)), (latency(), latency(520, 2), latency(310, 4)),
        tuple(LayerTime(i, 100.0 / (1 + i % 9)) for i in range(len(facts.layers))), Accuracy(500, 0.994, 0.972, 0.974, 33.1, 4.2),
        (Gate("max-latency", "20 ms", "0.31 ms", True), Gate("min-agreement", "0.95", "0.994", True)),
    )  # fmt: skip
    return replace(job, **changes)


def farm() -> list[Record]:
    """Two packages on boards of which some went wrong."""
    int8, fp32 = package(), package(precision="fp32", mark="b")
    gate = Gate("max-latency", "0.3 ms", "1.24 ms", False)
    undecided = replace(gate, value="undecided: 0.31 ms", undecided=True)
    throttled = replace(WARM, temperature_c=84.9, throttled=("under-voltage", "frequency capped"), frequency_khz=600_000)
    return [
        int8,
        fp32,
        job(int8),
        job(fp32, latencies=(latency(1900), latency(1100, 2)), exam=ExamResult(True, 8, False, 3.1e-7, "neon", ("3" * 64,)), gates=()),
        job(int8, "pi5", latencies=(latency(420), latency(230, 2)), board={**BOARD, "model": "Raspberry Pi 5", "processor": "Cortex-A76"},
            attempts=(Attempt("connection reset by peer", 3.2),)),
        job(int8, "zero2", status="failed", reason="max-latency: 1.24 ms is over 0.3 ms", latencies=(latency(1240),), gates=(gate,),
            profile=()),
        job(int8, "attic", status="unsteady", reason="throttled: under-voltage, frequency capped (measured twice)", after=throttled,
            profile=(), gates=(undecided,)),
        job(int8, "shelf", status="unreachable", reason="cannot be reached: no answer within 10 s", board=None, before=None, after=None, 
            exam=None, latencies=(), profile=(), accuracy=None, gates=(), attempts=(Attempt("no answer within 10 s", 10.0),)),
        Versus("pi4", "b" * 64, "a" * 64, 0.472, 0.465, 0.479, 5),
        Versus("pi5", "b" * 64, "a" * 64, 1.004, 0.985, 1.021, 5),
    ]  # fmt: skip
