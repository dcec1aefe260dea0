"""Promises that a bench checks: limits in people's words, and what became of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from edgec.base.errors import UsageError, did_you_mean
from edgec.boards.board.intervals import separate_ratio
from edgec.records.results import MEASURED, Accuracy, Gate, Job, Latency, packages_of, read_results, steady_ones

_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0, "µs": 1.0, "ns": 1e-3}
_SIZES = {
    "": 1,
    "b": 1,
    "k": 10**3,
    "kb": 10**3,
    "kib": 2**10,
    "m": 10**6,
    "mb": 10**6,
    "mib": 2**20,
    "g": 10**9,
    "gb": 10**9,
    "gib": 2**30,
}
MARGIN = 3.0  # a board that throttles, or has others to serve, changes a time by less: to a third of the clock, as a rule, or of a core
PERCENTILES = ("p50", "p90", "p95", "p99", "mean", "min")


@dataclass(frozen=True)
class Baseline:
    """One earlier measurement: where it was taken, of what, and the medians of its rounds in microseconds."""

    device: str
    package: str  # its name
    threads: int
    medians_us: tuple[float, ...]
    on_gpu: bool = False

    def is_of(self, latency: Latency) -> bool:
        """Whether both ran in the same way."""
        return (latency.threads, bool(latency.gpu)) == (self.threads, self.on_gpu)


@dataclass(frozen=True)
class Gates:
    """What is promised; None where nothing is. Latencies are those of the fastest way that was measured: a thread count, or the GPU."""

    max_latency_us: float | None = None
    percentile: str = "p50"
    min_agreement: float | None = None
    min_top1: float | None = None
    max_rss_bytes: int | None = None
    faster_than: tuple[Baseline, ...] = ()
    baseline: str = ""  # the name of the file that faster_than was read from

    @property
    def accuracy(self) -> bool:
        """Whether anything is promised that needs a data set."""
        return self.min_agreement is not None or self.min_top1 is not None

    def judge(
        self, device: str, name: str, latencies: Sequence[Latency], accuracy: Accuracy | None, *, known: bool = True
    ) -> tuple[Gate, ...]:
        """Every promise about one package (called `name`) on one board. No latencies: those promises are left out. known: whether the
        latencies are; where they are not, promises about them are undecided unless they are kept, or broken, by far."""
        best = min(latencies, key=lambda one: one.p50_us, default=None)
        found = []
        if best is not None:
            if self.max_latency_us is not None:
                taken, limit = self._latency(best), float(self.max_latency_us)
                gate = _below(f"{self.percentile} latency", taken, limit, us_text, _way(best))
                low, high = max(best.min_us, taken * best.low_us / best.p50_us), taken * best.high_us / best.p50_us
                found.append(gate if known else _unless_far(gate, low / limit, high / limit))
            if self.max_rss_bytes is not None:
                most = max(one.rss_bytes for one in latencies if bool(one.gpu) == bool(best.gpu))
                found.append(_below("resident memory", most, self.max_rss_bytes, lambda size: f"{size / 2**20:.2f} MiB"))
            if self.baseline:
                found.append(self._faster(device, name, latencies, known))
        for title, least, part in (("agreement", self.min_agreement, "agreement"), ("top-1", self.min_top1, "top1")):
            if least is not None:
                value = None if accuracy is None else getattr(accuracy, part)
                words = "not known: there was no answer to judge" if value is None else f"{value:.2%}"
                found.append(Gate(title, f"at least {least:.2%}", words, value is not None and value >= least))
        return tuple(found)

    def _latency(self, latency: Latency) -> float:
        return float(getattr(latency, f"{self.percentile}_us"))

    def _faster(self, device: str, name: str, latencies: Sequence[Latency], sure: bool) -> Gate:
        """Faster means that the whole interval of the ratio lies below 1."""
        limit = f"faster than {self.baseline}"
        known = [one for one in self.faster_than if one.device == device]
        same = [one for one in known if one.package == name] or (known if len({one.package for one in known}) == 1 else [])
        pairs = [(one, latency) for one in same for latency in latencies if one.is_of(latency)]
        if not pairs:
            what = "this board" if not known else f"{name} on this board" if not same else "this number of threads"
            return Gate("speed", limit, f"not known: the file has no steady measurement of {what}", False)
        base, latency = min(pairs, key=lambda pair: pair[1].p50_us)
        ratio, low, high = separate_ratio(base.medians_us, latency.medians_us)
        was = sum(base.medians_us) / len(base.medians_us)
        value = (
            f"{us_text(latency.p50_us)} against {us_text(was)} ({_way(latency)}): {ratio:.3f} times, 95 % interval {low:.3f} to {high:.3f}"
        )
        gate = Gate("speed", limit, value, high < 1)
        return gate if sure else _unless_far(gate, low, high)


def make_gates(
    *, max_latency: str | float | None = None, percentile: str = "p50", min_agreement: str | float | None = None,
    min_top1: str | float | None = None, max_rss: str | int | None = None, faster_than: str | Path | None = None,
) -> Gates:  # fmt: skip
    """Gates from words: "20ms", "0.95" or "95%", "12 MiB", a results file. A bare number is microseconds, a share, bytes. UsageError."""
    if percentile not in PERCENTILES:
        raise UsageError(f"unknown percentile {percentile!r}", where="--percentile", hint=did_you_mean(percentile, PERCENTILES))
    return Gates(
        max_latency_us=None if max_latency is None else duration_us(max_latency),
        percentile=percentile,
        min_agreement=None if min_agreement is None else share(min_agreement, "--min-agreement"),
        min_top1=None if min_top1 is None else share(min_top1, "--min-top1"),
        max_rss_bytes=None if max_rss is None else size(max_rss),
        faster_than=() if faster_than is None else read_baselines(Path(faster_than)),
        baseline="" if faster_than is None else Path(faster_than).name,
    )


def duration_us(words: str | float) -> float:
    """Microseconds of "20ms", "1.5 s" or "800us"; a number is microseconds already."""
    number, unit = _number(words, "--max-latency", "write it as 20ms, 1.5s or 800us")
    if (not unit and isinstance(words, str)) or (unit and unit not in _UNITS) or number <= 0:
        raise UsageError(f"cannot use {words!r}", where="--max-latency", hint="write it as 20ms, 1.5s or 800us")
    return number * _UNITS[unit or "us"]


def share(words: str | float, flag: str) -> float:
    """A share from 0 to 1: 0.95, "0.95" or "95%"."""
    number, unit = _number(words, flag, "write it as 0.95 or 95%")
    value = number / 100 if unit == "%" else number
    if unit not in ("", "%") or not 0 <= value <= 1:
        raise UsageError(f"cannot use {words!r}", where=flag, hint="write it as 0.95 or 95%")
    return value


def size(words: str | int) -> int:
    """Bytes of "12 MiB", "500k" or a number."""
    number, unit = _number(words, "--max-rss", "write it as 12MiB")
    if unit not in _SIZES or number <= 0:
        raise UsageError(f"cannot use {words!r}", where="--max-rss", hint="write it as 12MiB")
    return round(number * _SIZES[unit])


def _number(words: str | float, flag: str, hint: str) -> tuple[float, str]:
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)(?:e([+-]?\d{1,3}))?\s*([a-zµ%]*)\s*", str(words).lower())
    number = float(f"{match[1]}e{match[2] or 0}") if match else math.inf
    if match is None or not math.isfinite(number):
        raise UsageError(f"cannot use {words!r}", where=flag, hint=hint)
    return number, match[3]


def read_baselines(path: Path) -> tuple[Baseline, ...]:
    """The newest steady measurement of every package, board and way to run it in a results file; UsageError when it has none."""
    records = read_results(path)
    names = {sha256: facts.name for sha256, facts in packages_of(records).items()}
    newest: dict[tuple[str, str, int, bool], Baseline] = {}
    jobs = sorted((record for record in records if isinstance(record, Job)), key=lambda job: job.started)
    for job in steady_ones([job for job in jobs if job.latencies and job.status in MEASURED], path):
        for latency in job.latencies:
            if len(latency.medians_us) > 1 and min(latency.medians_us) > 0:
                name = names.get(job.package, "")
                key = job.device, name, latency.threads, bool(latency.gpu)
                newest[key] = Baseline(job.device, name, latency.threads, latency.medians_us, bool(latency.gpu))
    if not newest:
        raise UsageError("no measurement in it to compare with", where=str(path), hint="give the results.jsonl of an earlier bench")
    return tuple(newest.values())


def us_text(us: float) -> str:
    """A time as people read it, in three or four digits."""
    for unit, scale in (("s", 1e6), ("ms", 1e3)):
        if us >= scale:
            return f"{us / scale:.4g} {unit}"
    return f"{us:.4g} us"


def _below(name: str, value: float, limit: float, text: Callable[[float], str], way: str = "") -> Gate:
    return Gate(name, f"at most {text(limit)}", f"{text(value)}{f' ({way})' if way else ''}", value <= limit)


def _unless_far(gate: Gate, low: float, high: float) -> Gate:
    """A promise judged by an unsteady measurement. low, high: of the interval, in limits."""
    if high * MARGIN < 1 or low > MARGIN:
        return gate
    return replace(gate, value=f"undecided: {gate.value}, and the measurement is unsteady", passed=False, undecided=True)


def _way(latency: Latency) -> str:
    return f"{latency.threads} thread{'s' if latency.threads > 1 else ''}{' and the GPU' if latency.gpu else ''}"
