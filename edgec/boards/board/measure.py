"""Timing programs on a board, in rounds: each is a fresh process, and the programs take turns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, isfinite
from statistics import median
from typing import Any

from edgec.base.errors import UsageError, did_you_mean
from edgec.base.harmless import printable
from edgec.boards.board.answers import number, numbers
from edgec.boards.board.exam_program import ProgramHung, garbage, start
from edgec.boards.board.intervals import mean_interval, pooled_moments, weighted_percentiles
from edgec.boards.connect.connection import Connection
from edgec.boards.device import Device
from edgec.records.results import Latency

_TIMES = ("min_us", "mean_us", "p50_us", "std_us", "cold_us")
_MOST_RUNS = 10**9
GPU = ("auto", "on", "off")  # packages that have a half for one: where the board can; or the job fails; not at all


@dataclass(frozen=True)
class Options:
    """How to measure. seconds and runs: the least of each, over all rounds together. threads: each count is measured by itself; () for
    the powers of two up to the board's cores.

    cores: pinned to, instead of what the inventory says; () for none. repeats: how often a measurement that the board spoiled is done
    again, after `pause` seconds. samples: runs kept of each program and thread count. gpu: one of GPU.
    accept_noise: an unsteady measurement counts, too. each_core: every core is measured alone, and both ways to share among all.
    """

    seconds: float = 2.0
    runs: int = 100
    rounds: int = 5
    threads: tuple[int, ...] = (1,)
    cores: tuple[int, ...] | None = None
    isa: str | None = None
    profile: bool = False
    repeats: int = 2
    pause: float = 5.0
    samples: int = 4096
    gpu: str = "auto"
    accept_noise: bool = False
    each_core: bool = False

    def __post_init__(self) -> None:
        if not 2 <= self.rounds <= 1000:
            raise UsageError(f"{self.rounds} rounds", where="--rounds", hint="an interval needs from 2 to 1000 of them")
        if not (isfinite(self.seconds) and 0 < self.seconds <= 86400):
            raise UsageError(f"{self.seconds} seconds", where="--seconds", hint="give a number of seconds from 0 to 86400")
        if not 1 <= self.runs <= _MOST_RUNS:
            raise UsageError(f"{self.runs} runs", where="--runs", hint="give a number from 1 up")
        if self.gpu not in GPU:
            raise UsageError(f"{self.gpu!r} for the GPU", where="--gpu", hint=did_you_mean(self.gpu, GPU))
        if any(not 1 <= count <= 1024 for count in self.threads):
            raise UsageError("unusable number of threads", where="--threads", hint="give numbers from 1 to 1024, such as 1,2,4")
        if any(not 0 <= core <= 4095 for core in self.cores or ()):
            raise UsageError("unusable core", where="--cores", hint="give numbers of cores, such as 2,3")

    def arguments(self, threads: int, cores: Sequence[int], gpu: bool = False) -> list[str]:
        """Of the exam program, for one round."""
        words = ["--bench", f"{self.seconds / self.rounds:.6f}", "--runs", str(ceil(self.runs / self.rounds))]
        words += ["--samples", str(ceil(self.samples / self.rounds)), "--threads", str(threads)]
        words += ["--cores", ",".join(map(str, cores))] if cores else []
        return words + (["--isa", self.isa] if self.isa else []) + (["--gpu"] if gpu else [])


@dataclass(frozen=True)
class Round:
    """What one process of the exam program said, in microseconds and bytes. samples_us: runs taken evenly, in the order of time."""

    isa: str
    runs: int
    seconds: float
    min_us: float
    mean_us: float
    p50_us: float
    std_us: float
    cold_us: float
    rss_bytes: int
    samples_us: tuple[float, ...]
    frequencies_khz: tuple[int, ...]
    gpu: str = ""  # the device's name


def pinned(device: Device, options: Options) -> tuple[int, ...]:
    """The cores that a measurement is pinned to; () for none."""
    return device.cores if options.cores is None else options.cores


def sweep(cores: int) -> tuple[int, ...]:
    """Powers of two up to the number of cores, and that number."""
    return tuple(sorted({2**power for power in range(max(1, cores).bit_length())} | {max(1, cores)}))


def measure(
    connection: Connection,
    programs: Sequence[str],
    options: Options,
    *,
    gpus: Sequence[bool] = (),
    renew: Callable[[], None] | None = None,
) -> list[tuple[Latency, ...]]:
    """Latencies of each program, one for each number of threads. Rounds go A B, B A, A B, ..., so that a drift of the board spoils none.

    gpus: for each program whether it is measured on the GPU too, where what stays on the processor has the most threads. renew: called
    between rounds. DeviceError: a program that fails, does not end within limits.run, or answers with garbage.
    """
    cores = pinned(connection.device, options)
    found: list[list[Latency]] = [[] for _ in programs]
    ways = [(threads, False) for threads in options.threads] + ([(max(options.threads), True)] if any(gpus) else [])
    for threads, gpu in ways:
        rounds: list[list[Round]] = [[] for _ in programs]
        arguments = options.arguments(threads, cores, gpu)
        for turn in range(options.rounds):
            turns = [(index, program) for index, program in enumerate(programs) if not gpu or gpus[index]]
            for index, program in turns if turn % 2 == 0 else reversed(turns):
                rounds[index].append(run_round(connection, program, arguments, options))
                if renew is not None:
                    renew()
        for index, own in enumerate(rounds):
            found[index] += [pool(own, threads, cores)] if own else []
    return [tuple(own) for own in found]


def pool(rounds: Sequence[Round], threads: int, cores: tuple[int, ...]) -> Latency:
    """What all rounds say together."""
    count, mean, deviation = pooled_moments([(one.runs, one.mean_us, one.std_us) for one in rounds])
    p50, p90, p95, p99 = weighted_percentiles([(one.runs, one.samples_us) for one in rounds], (0.5, 0.9, 0.95, 0.99))
    medians = tuple(one.p50_us for one in rounds)
    low, high = mean_interval(medians)
    return Latency(
        threads=threads,
        cores=cores,
        isa=rounds[-1].isa,
        rounds=len(rounds),
        runs=count,
        seconds=sum(one.seconds for one in rounds),
        min_us=min(one.min_us for one in rounds),
        mean_us=mean,
        p50_us=p50,
        p90_us=p90,
        p95_us=p95,
        p99_us=p99,
        std_us=deviation,
        low_us=max(0.0, min(low, p50)),  # the pooled median is not the mean of the medians; both lie within
        high_us=max(high, p50),
        cold_us=median(one.cold_us for one in rounds),
        rss_bytes=max(one.rss_bytes for one in rounds),
        medians_us=medians,
        samples_us=tuple(value for one in rounds for value in one.samples_us),
        frequencies_khz=tuple(value for one in rounds for value in one.frequencies_khz),
        gpu=rounds[-1].gpu,
    )


def profile(connection: Connection, program: str, calls: int, options: Options) -> tuple[float, ...]:
    """The median time of every call of a run on one thread, in microseconds."""
    return profile_facts(connection, program, calls, options)[1]


def profile_in_rounds(
    connection: Connection, programs: Sequence[tuple[str, int]], options: Options, *, renew: Callable[[], None] | None = None
) -> list[list[tuple[float, ...]]]:
    """Of each program, given with the number of its calls, a profile from each round. Rounds take turns as those of measure() do, and share
    the seconds."""
    found: list[list[tuple[float, ...]]] = [[] for _ in programs]
    share = replace(options, seconds=options.seconds / options.rounds)
    for turn in range(options.rounds):
        turns = list(enumerate(programs))
        for index, (program, calls) in turns if turn % 2 == 0 else reversed(turns):
            found[index].append(profile(connection, program, calls, share))
            if renew is not None:
                renew()
    return found


def profile_facts(
    connection: Connection, program: str, calls: int, options: Options, *choices: str
) -> tuple[Mapping[str, Any], tuple[float, ...]]:
    """All that the exam program says of its calls, and their times. choices: more of its arguments."""
    words = [*choices, "--profile", f"{options.seconds:.6f}"]
    cores = pinned(connection.device, options)
    words += ["--cores", ",".join(map(str, cores))] if cores else []
    facts = start(connection, program, *words, *(["--isa", options.isa] if options.isa else []))
    times = numbers(facts, "calls_us", connection)
    if len(times) != calls:
        raise garbage(connection, f"times of {len(times)} calls, the package has {calls}", "")
    return facts, times


def run_round(connection: Connection, program: str, arguments: Sequence[str], options: Options) -> Round:
    """What one process of the program says."""
    try:
        facts = start(connection, program, *arguments)
    except ProgramHung as error:
        what = f"one round of {ceil(options.runs / options.rounds)} runs did not end within {connection.device.limits.run:g} s"
        hint = "ask for fewer --runs, for more --rounds, or raise limits.run of this board in the inventory"
        raise ProgramHung(what, where=connection.device.name, hint=hint) from error
    return read_round(facts, connection, gpu="--gpu" in arguments)


def read_round(facts: Mapping[str, Any], connection: Connection, *, gpu: bool = False) -> Round:
    """A round from the program's own JSON; ProgramFailed for what cannot be one. gpu: it must be one on a GPU."""
    times = {name: number(facts, name, connection) for name in _TIMES}
    counts = {name: number(facts, name, connection) for name in ("runs", "rss_bytes")}
    if any(value != int(value) for value in counts.values()) or not 1 <= counts["runs"] <= _MOST_RUNS:
        raise garbage(connection, "impossible counts", "")
    if not 0 < times["min_us"] <= min(times["p50_us"], times["mean_us"]):
        raise garbage(connection, "impossible times", "")
    samples = numbers(facts, "samples_us", connection)
    frequencies = tuple(int(value) for value in numbers(facts, "frequencies_khz", connection))
    if not 1 <= len(samples) <= counts["runs"] or min(samples) <= 0 or len(frequencies) not in (0, 2):
        raise garbage(connection, "samples or frequencies that cannot be", "")
    if not isinstance(facts.get("isa"), str):
        raise garbage(connection, "an isa that cannot be", "")
    device = facts.get("gpu", "")
    if not isinstance(device, str) or bool(device) != gpu:
        raise garbage(connection, "a GPU that was not asked for, or none", "")
    return Round(
        isa=printable(facts["isa"], 40),
        runs=int(counts["runs"]),
        seconds=number(facts, "seconds", connection),
        rss_bytes=int(counts["rss_bytes"]),
        samples_us=samples,
        frequencies_khz=frequencies,
        gpu=printable(device, 100),
        **times,
    )
