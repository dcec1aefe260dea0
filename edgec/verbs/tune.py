"""tune() as a paragraph: build the ways to compute a model's layers, measure them on a board, and record which are the fastest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from edgec.base.errors import DeviceError, GateError, ModelError, UsageError, did_you_mean
from edgec.base.harmless import printable
from edgec.base.output import replace_file
from edgec.base.version import __version__
from edgec.boards.board.intervals import paired_ratio
from edgec.boards.board.inventory import choose, load_inventory
from edgec.boards.board.measure import Options
from edgec.boards.deploy.parcel import Parcel
from edgec.boards.device import Device
from edgec.exporters import path_of
from edgec.pipeline.compiler import untuned_program
from edgec.pipeline.evaluation import Data
from edgec.pipeline.models import Progress
from edgec.pipeline.prepare import Plan, check_file, prepare
from edgec.pipeline.tuned import compiler_of
from edgec.program.titles import titles
from edgec.records.results import Job
from edgec.records.tuning import TunedBoard, Tuning, read_tuning
from edgec.schedule.ways import Ways, ways
from edgec.settings.config import BuildConfig, configure
from edgec.verbs.bench import with_precision
from edgec.verbs.contenders import compared, decided, stronger_half, tries, winners
from edgec.verbs.lab import Clock, Lab

RECORD = Path("tuned.json")


@dataclass(frozen=True)
class FasterLayer:
    """Calls of one signature, the first with this name, that a variant computes faster than the cost model's: the ratio of their times
    with its 95 % interval."""

    name: str
    calls: int
    base: str
    variant: str
    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class Gain:
    """The tuned package against the cost model's in one way to run them: the ratio of their times with its 95 % interval."""

    threads: int
    us: float
    base_us: float
    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class Tuned:
    """What tuning found. tried, left: builds that were measured, and those that no time was left for. layers: calls with a choice.

    kept: whether builds take the `faster` variants from now on; not where there are none, or the whole package got slower.
    """

    record: Path
    device: str
    target: str  # the board's
    precision: str
    vocabulary: str
    layers: int
    tried: int
    left: int
    faster: tuple[FasterLayer, ...] = ()
    gains: tuple[Gain, ...] = ()
    kept: bool = False
    notes: tuple[str, ...] = ()


def tune(
    model: str | Path, *, device: str | None = None, inventory: str | Path | None = None, out: str | Path | None = None,
    most_seconds: float = 600.0, seconds: float = 2.0, runs: int = 100, rounds: int = 5, threads: Sequence[int] | None = None,
    cores: Sequence[int] | None = None, isa: str | None = None, repeats: int = 2, pause: float = 5.0, accept_noise: bool = False,
    precision: str | None = None, calib: Data | None = None, config: BuildConfig | None = None,
    retries: int = 1, allow_downgrade: bool = False, progress: Progress | None = None, tell: Callable[[str], None] | None = None,
    **settings: Any,
) -> Tuned:  # fmt: skip
    """Measure on a board which variants of kernels compute a model's layers fastest, and record it for builds.

    out: the record, which is gone on with where it is there; None for the one that the settings name, else tuned.json. most_seconds: no
    try is begun that would, by the longest step before it, end later. Layers are measured on one thread, the whole package with those of
    `threads`, which is bench()'s as all the rest. UsageError and others for what is wrong before the board is touched; GateError and
    DeviceError where the cost model's package fails on it, or it is lost: the record has what was compared until then.
    """
    devices = choose(load_inventory(Path(inventory) if inventory is not None else None), [device] if device else [])
    pinned = None if cores is None else tuple(cores)
    options = Options(seconds, runs, rounds, tuple(threads or ()), pinned, isa, False, repeats, pause, gpu="off", accept_noise=accept_noise)
    configured = config or configure(calib=str(calib) if isinstance(calib, Path) else calib, precision=precision, **settings)
    path = path_of(model, configured)
    check_file(path)
    _check(configured, most_seconds)
    record = Path(out) if out is not None else configured.tuned or RECORD
    _read(record)
    fitting, note = with_precision(path, replace(configured, target=devices[0].target, tuned=None, compile=True), precision is not None)
    clock = Clock(most_seconds)
    with TemporaryDirectory() as folder:
        plan = prepare(path, replace(fitting, out=Path(folder) / "plan"))
        _check_isa(isa, plan)
        lab = Lab(plan, devices[0], options, Path(folder), retries, allow_downgrade, progress, tell)
        try:
            found = _tune(lab, record, clock)
        except DeviceError:
            if record.exists():
                lab.say(f"what was compared so far is in {record}: the same command goes on from there")
            raise
    return replace(found, notes=(*filter(None, [note]), *found.notes))


def _check(config: BuildConfig, most_seconds: float) -> None:
    if not (isfinite(most_seconds) and most_seconds > 0):
        raise UsageError(f"{most_seconds} seconds", where="--most-seconds", hint="give a number of seconds above 0")
    if config.also_shape:
        raise UsageError("layers of several sets of shapes cannot be tuned", where="--also-shape", hint="tune with one set of shapes")


def _check_isa(isa: str | None, plan: Plan) -> None:
    if isa is not None and isa not in plan.target.vocabularies:
        hint = did_you_mean(isa, plan.target.vocabularies)
        raise UsageError(f"no vocabulary {isa!r} for {plan.target.name}", where="--isa", hint=hint)


def _tune(lab: Lab, record: Path, clock: Clock) -> Tuned:
    """Look at the cost model's package, try the other ways, and judge what wins."""
    base, program, target = lab.built("base"), untuned_program(lab.plan, lab.progress), lab.plan.target
    (job,) = lab.raced(base, layers=True)
    clock.note_step(0.0)
    names, vocabulary = titles(program), job.latencies[0].isa
    if vocabulary not in target.vocabularies or names != tuple(layer.name for layer in base.facts.layers):
        raise DeviceError("it ran something else than what was built", where=lab.device.name, hint="tune again")
    board = _read(record).like(TunedBoard(_processor(job, lab.device), vocabulary, target.vocabularies, compiler_of(lab.plan), __version__))
    layers, notes = ways(program, target, vocabulary), list[str]()
    waiting, done = tries(layers, board), 0
    for number, choices in enumerate(waiting, 1):
        if not clock.has_room(2):  # the last step is the whole package's
            break
        lab.say(f"try {number} of {len(waiting)}, {clock.spent:.0f} of at most {clock.most:g} s")
        begun = clock.spent
        try:
            was, now = lab.raced(base, lab.built(f"try-{number}", choices), layers=True)
            board = compared(layers, board, choices, was.profile, now.profile)
            _save(record, board, decided=False)
        except (GateError, ModelError) as error:  # wrong answers, or more memory than there is
            notes.append(f"try {number} does not count: {error.summary}")
        clock.note_step(begun)
        done += 1
    calls = sum(len(way.calls) for way in layers)
    about = (record, lab.device.name, lab.device.target, lab.plan.config.precision, vocabulary)
    found = Tuned(*about, calls, done, len(waiting) - done, notes=tuple(notes))
    return _judged(lab, layers, board, base, names, found, clock)


def _judged(lab: Lab, layers: Sequence[Ways], board: TunedBoard, base: Parcel, names: Sequence[str], found: Tuned, clock: Clock) -> Tuned:
    """What wins, as a whole against the cost model's package: kept where that is no loss; else the half of it that saves most is judged,
    and so on."""
    choices = winners(layers, board)
    while choices:
        lab.say(f"comparing the whole package, with {len(choices)} of its layers changed")
        begun, found = clock.spent, replace(found, faster=_faster(layers, board, choices, names))
        try:
            was, now = lab.raced(base, lab.built(f"tuned-{len(choices)}", choices), layers=False)
            found = replace(found, gains=_gains(was, now))
            found = replace(found, kept=_no_loss(found.gains))
        except (GateError, ModelError) as error:
            found = replace(found, notes=(*found.notes, f"{len(choices)} layers stay as they were: {error.summary}"))
        clock.note_step(begun)
        if found.kept:
            break
        choices = stronger_half(layers, board, choices) if clock.has_room(1) else {}
    if any(way.signature in board.layers for way in layers):
        _save(found.record, decided(layers, board, choices), decided=True)
    return found


def _gains(was: Job, now: Job) -> tuple[Gain, ...]:
    """One for each number of threads."""
    pairs = zip(was.latencies, now.latencies, strict=True)
    return tuple(Gain(one.threads, two.p50_us, one.p50_us, *paired_ratio(one.medians_us, two.medians_us)) for one, two in pairs)


def _no_loss(gains: Sequence[Gain]) -> bool:
    """Not slower in the way that is the fastest, by the middle of its interval, and in no way surely slower."""
    return min(gains, key=lambda gain: gain.base_us).ratio <= 1 and all(gain.low <= 1 for gain in gains)


def _faster(layers: Sequence[Ways], board: TunedBoard, choices: Mapping[str, str], names: Sequence[str]) -> tuple[FasterLayer, ...]:
    found = []
    for way in layers:
        if way.signature in choices:
            variant = choices[way.signature]
            one = board.layers[way.signature].tried[variant]
            found.append(FasterLayer(names[way.calls[0]], len(way.calls), way.base, variant, one.ratio, one.low, one.high))
    return tuple(found)


def _processor(job: Job, device: Device) -> str:
    """What tells boards apart whose layers take other times, in a line."""
    facts = job.board or {}
    words = next((facts[name] for name in ("processor", "model", "machine") if facts.get(name)), device.target)
    return " ".join(printable(words, 200).split())


def _read(record: Path) -> Tuning:
    return read_tuning(record)[0] if record.exists() else Tuning()


def _save(record: Path, board: TunedBoard, *, decided: bool) -> None:
    """Others may have tuned into the same record meanwhile."""
    replace_file(record, _read(record).plus(board, decided=decided).text)
