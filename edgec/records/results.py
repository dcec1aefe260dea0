"""Records of what happened on boards: one JSON object a line, written as they come, read by reports, gates and resumed runs."""

from __future__ import annotations

import json
import math
import sys
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from edgec.base.errors import Problem, UsageError

SCHEMA_VERSION = 1
# failed: a wrong answer or a gate; unsteady: its speed is not known; of the board: refused (target, host key, disk), busy, unreachable
STATUSES = ("passed", "failed", "unsteady", "refused", "busy", "unreachable")
MEASURED = STATUSES[:3]  # those of a job that has times
_OLD_STATUSES = {"lost": "unreachable", "invalid": "unsteady"}  # what files of before call two of them


@dataclass(frozen=True)
class BenchedLayer:
    """One kernel call of a package, in the order of a run."""

    name: str  # the first node's, and of no other layer
    nodes: tuple[str, ...]  # ONNX nodes it computes
    kernel: str
    precision: str  # int8, float32, ...
    macs: int
    sqnr_db: float | None = None  # of its output against float, on the calibration samples


@dataclass(frozen=True)
class Block:
    """A buffer of the arena: its bytes, where it lies, and the first and last call during which it is needed."""

    name: str
    address: int
    bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class PackageFacts:
    """What a report needs to know of a package. `sha256` is of its manifest, and is how jobs refer to it."""

    sha256: str
    name: str
    target: str
    precision: str
    model_sha256: str
    macs: int
    arena_bytes: int
    weights_bytes: int
    layers: tuple[BenchedLayer, ...] = ()
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True)
class ExamResult:
    """difference: the largest |got - expected| / max |expected| of outputs that need not be exact; 0 where all are."""

    passed: bool
    vectors: int
    exact: bool
    difference: float
    isa: str
    hashes: tuple[str, ...]  # sha256 of each output of each vector


@dataclass(frozen=True)
class Latency:
    """One way to run a package, pooled over rounds (each a fresh process). Times in microseconds."""

    threads: int
    cores: tuple[int, ...]  # pinned to; () for none
    isa: str
    rounds: int
    runs: int
    seconds: float  # spent in measured runs
    min_us: float
    mean_us: float
    p50_us: float
    p90_us: float
    p95_us: float
    p99_us: float
    std_us: float
    low_us: float  # 95 % interval of p50, from the rounds' medians
    high_us: float
    cold_us: float  # from the start of main to the first answer, the median of the rounds
    rss_bytes: int  # the largest resident set
    medians_us: tuple[float, ...]  # of each round
    samples_us: tuple[float, ...]  # evenly taken runs, in the order of time
    frequencies_khz: tuple[int, ...] = ()  # under load, at the start and the end of each round; () where the board does not tell
    gpu: str = ""  # the device's name; "" for the processor alone


@dataclass(frozen=True)
class LayerTime:
    """Median time of a call (`BenchedLayer` of the same index) in one run on one thread, and that of each round where several packages took
    turns."""

    layer: int
    us: float
    rounds_us: tuple[float, ...] = ()


@dataclass(frozen=True)
class GpuUse:
    """What became of a package's GPU half on a board: a device, or the reason why none was used."""

    device: str
    reason: str = ""
    exam: ExamResult | None = None
    wait_us: float = 0.0  # giving it nothing and waiting for it; as measured with the profile
    profile: tuple[LayerTime, ...] = ()  # of the calls that go there, each given by itself, without that wait


@dataclass(frozen=True)
class EachCore:
    """A package on each of some cores alone, in the median of the rounds' medians; and on all of them, where each thread has one share of a
    step, and where threads take blocks of it as they are done."""

    cores: tuple[int, ...]
    alone_us: tuple[float, ...]  # of each of them
    shares_us: float
    blocks_us: float
    ratio: float  # of blocks_us / shares_us, with its 95 % interval from paired rounds
    low: float
    high: float
    rounds: int

    @property
    def apart(self) -> float:
        """How many times as long the slowest core takes as the fastest."""
        return max(self.alone_us) / min(self.alone_us)

    @property
    def blocks_win(self) -> bool:
        return self.high < 1


@dataclass(frozen=True)
class Accuracy:
    """Answers of the board against the float model on the same samples, and against labels where there are some."""

    samples: int
    agreement: float | None  # of arg-max
    top1: float | None
    reference_top1: float | None
    sqnr_db: float | None
    seconds: float


@dataclass(frozen=True)
class State:
    """What can spoil a measurement, as read from the board at one moment; None or empty where it does not tell."""

    governor: str = ""
    frequency_khz: int | None = None
    most_frequency_khz: int | None = None
    temperature_c: float | None = None
    throttled: tuple[str, ...] = ()  # reasons that hold now or came up since the last look, e.g. "under-voltage"
    load: float | None = None  # runnable tasks beside us, now or over one minute, whichever is less


@dataclass(frozen=True)
class Gate:
    """A promise and what became of it, both in words. undecided: neither kept nor broken, since what was measured is not known well."""

    name: str
    limit: str
    value: str
    passed: bool
    undecided: bool = False


@dataclass(frozen=True)
class Attempt:
    """A try that did not end well, and why it was repeated."""

    reason: str
    seconds: float


@dataclass(frozen=True)
class Job:
    """One package on one board, from the first connection to the verdict."""

    device: str
    target: str  # the board's
    package: str  # PackageFacts.sha256
    status: str
    reason: str  # why it did not pass, in words; "" when it did
    started: str  # UTC, ISO 8601
    seconds: float
    worker: str = ""  # who ran it
    board: Mapping[str, str] | None = None  # facts that describe the board: model, processor, cores, memory, system
    before: State | None = None
    after: State | None = None
    exam: ExamResult | None = None
    latencies: tuple[Latency, ...] = ()
    profile: tuple[LayerTime, ...] = ()
    accuracy: Accuracy | None = None
    gates: tuple[Gate, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    locked_from: float = 0.0  # Unix time during which the board was ours, as the worker's clock saw it
    locked_to: float = 0.0
    gpu: GpuUse | None = None  # of a package that has a half for one
    noise: str = ""  # why its speed is not known well, in words; "" when it is
    noise_accepted: bool = False  # whoever asked takes its speed for known all the same
    profile_noise: str = ""  # why the times of its layers are not known well
    each_core: EachCore | None = None  # where it was asked for

    @property
    def steady(self) -> bool:
        """Whether its times count: promises are judged by them, and others compare with them."""
        return self.status != "unsteady" and (self.noise_accepted or not self.noise)

    @property
    def fastest(self) -> Latency | None:
        """The number of threads, or the GPU, that took least of those measured."""
        return min(self.latencies, key=lambda latency: latency.p50_us, default=None)

    @property
    def handed_over(self) -> tuple[Latency, Latency] | None:
        """One thread and, of the numbers of threads that surely take longer, the worst: handing work over costs more than it saves."""
        processor = {one.threads: one for one in self.latencies if not one.gpu}
        alone = processor.get(1)
        slower = [one for one in processor.values() if alone is not None and one.low_us > alone.high_us]
        return (alone, max(slower, key=lambda one: one.p50_us)) if alone is not None and slower and self.steady else None

    @property
    def undecided(self) -> bool:
        return any(gate.undecided for gate in self.gates)

    @property
    def kept(self) -> bool:
        """Whether all is as it was promised. A speed that nobody asked about may be unsteady."""
        return self.status in ("passed", "unsteady") and not self.undecided


@dataclass(frozen=True)
class Versus:
    """Two packages interleaved on one board: p50 of `package` / p50 of `base`, with its 95 % interval from paired rounds."""

    device: str
    base: str
    package: str
    ratio: float
    low: float
    high: float
    rounds: int


Record = PackageFacts | Job | Versus
KINDS: dict[str, type[Record]] = {"package": PackageFacts, "job": Job, "versus": Versus}
_NAMES = {kind: name for name, kind in KINDS.items()}


def to_line(record: Record) -> str:
    """One line of a results file, without its end."""
    return json.dumps({"schema_version": SCHEMA_VERSION, "kind": _NAMES[type(record)], **asdict(record)}, allow_nan=False)


def from_line(line: str) -> Record:
    """ValueError, in words, for what is not a record: a results file may have been written by anybody."""
    facts = json.loads(line)
    kind = KINDS.get(str(facts.pop("kind", ""))) if isinstance(facts, dict) else None
    if kind is None or facts.pop("schema_version", None) != SCHEMA_VERSION:
        raise ValueError(f"not a record of schema version {SCHEMA_VERSION}")
    record: Record = _decode(kind, facts, "")
    return _known(record) if isinstance(record, Job) else record


def _known(job: Job) -> Job:
    """A job with a status of today."""
    if job.status == "invalid":
        job = replace(job, noise=job.noise or job.reason)
    job = replace(job, status=_OLD_STATUSES.get(job.status, job.status))
    if job.status not in STATUSES:
        raise ValueError(f"unknown status {job.status!r}")
    return job


def read_results(path: Path) -> list[Record]:
    """Every record of a file. A last line that was cut off is left out; UsageError lists all other lines that are no records."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError as error:
        raise UsageError(f"cannot read: {error.strerror}", where=str(path), hint="give a results file that edgec bench wrote") from error
    records, problems = [], []
    for number, line in enumerate(lines, 1):
        try:
            records += [from_line(line)] if line.strip() else []
        except (ValueError, RecursionError) as error:
            if number < len(lines):
                problems.append(Problem(str(error), f"{path}:{number}"))
    if problems:
        raise UsageError("not a results file", problems[:20], where=str(path), hint="give a results file that edgec bench wrote")
    return records


def packages_of(records: Iterable[Record]) -> dict[str, PackageFacts]:
    return {record.sha256: record for record in records if isinstance(record, PackageFacts)}


def steady_ones(jobs: Sequence[Job], path: Path) -> list[Job]:
    """Those of some jobs of a file whose times count; UsageError where there are jobs, and none was measured on a steady board."""
    found = [job for job in jobs if job.steady]
    if jobs and not found:
        hint = "bench again when nothing else runs on that board, or with --accept-noise"
        raise UsageError(f"its times are not known well: {jobs[-1].noise or jobs[-1].reason}", where=str(path), hint=hint)
    return found


def _decode(kind: Any, value: Any, where: str) -> Any:
    """`value` as `kind`: a dataclass, tuple[X, ...], Mapping[str, str], X | None, str, int, float or bool."""
    options = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    if value is None and type(None) in options:
        return None
    (wanted,) = (option for option in options if option is not type(None))
    if is_dataclass(wanted):
        return _decode_fields(wanted, value, where)
    if typing.get_origin(wanted) is tuple and isinstance(value, list):
        return tuple(_decode(typing.get_args(wanted)[0], item, f"{where}[{index}]") for index, item in enumerate(value))
    if typing.get_origin(wanted) not in (None, tuple) and isinstance(value, dict):
        return {str(key): str(item) for key, item in value.items()}
    if wanted is float and type(value) is int:
        value = float(value) if abs(value) <= sys.float_info.max else math.inf
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{where.lstrip('.')} must be a finite number")
    if type(value) is not wanted:
        raise ValueError(f"{where.lstrip('.')} must be {getattr(wanted, '__name__', wanted)}, is {type(value).__name__}")
    return value


def _decode_fields(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"{where.lstrip('.') or 'a record'} must be an object")
    hints = typing.get_type_hints(kind)
    known = {field.name for field in fields(kind)}
    if unknown := set(value) - known:
        raise ValueError(f"unknown key {sorted(unknown)[0]!r} in {where.lstrip('.') or kind.__name__}")
    try:
        return kind(**{name: _decode(hints[name], item, f"{where}.{name}") for name, item in value.items()})
    except TypeError as error:
        raise ValueError(str(error)) from error
