"""One job: packages on one board, from the first connection to the verdict."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from statistics import median
from typing import Protocol

from edgec.base.errors import DeviceError, EdgecError, GateError
from edgec.base.harmless import printable
from edgec.boards.board.each_core import measure_each_core
from edgec.boards.board.exam_program import ProgramFailed, ProgramHung, examine, verdict
from edgec.boards.board.gpu import examine_gpu, profile_gpu, wrong_on_gpu
from edgec.boards.board.intervals import paired_ratio
from edgec.boards.board.look import describe, gather, read_state, unfit
from edgec.boards.board.measure import Options, measure, pinned, profile_in_rounds, sweep
from edgec.boards.board.validity import noisy, spoiled
from edgec.boards.connect.connection import Connection, Exchange
from edgec.boards.connect.connectors import connect, program_words
from edgec.boards.connect.trouble import BoardLost, BoardTimeout
from edgec.boards.deploy.delivery import deploy
from edgec.boards.deploy.lock import BoardBusy, Lock, hold
from edgec.boards.deploy.parcel import Parcel
from edgec.boards.deploy.states import state_of
from edgec.boards.device import Device
from edgec.boards.farm.gates import Gates
from edgec.records.results import Accuracy, Attempt, EachCore, ExamResult, Gate, GpuUse, Job, Latency, LayerTime, Record, State, Versus

Tell = Callable[[str], None]  # told, in words, what is being done; "" for no news; it may raise to end the job


class Judge(Protocol):
    """Streams samples to a package that runs in `--run` mode on a board, and compares its answers with those of the float model."""

    def __call__(self, package: str, exchange: Exchange) -> Accuracy:
        """package: PackageFacts.sha256."""


@dataclass(frozen=True)
class Task:
    """Everything a job needs, so that it can be sent to another host (by pickling, where dask does it).

    parcels: the first is the base that the others are compared with. owner: who holds the board's lock meanwhile, in words.
    """

    device: Device
    parcels: tuple[Parcel, ...]
    options: Options
    gates: Gates
    judge: Judge | None
    owner: str
    allow_downgrade: bool = False


@dataclass
class _Draft:
    """What is known so far of one package on the board. status: "" while nothing stands in the way."""

    parcel: Parcel
    status: str = ""
    reason: str = ""
    program: str = ""
    exam: ExamResult | None = None
    latencies: tuple[Latency, ...] = ()
    profile: tuple[LayerTime, ...] = ()
    accuracy: Accuracy | None = None
    gpu: GpuUse | None = None
    noise: str = ""  # why its speed is not known
    profile_noise: str = ""  # nor that of its layers
    each_core: EachCore | None = None

    @property
    def on_gpu(self) -> bool:
        return self.gpu is not None and bool(self.gpu.device)

    def stop(self, status: str, reason: str) -> None:
        """The first thing that went wrong is the one that counts."""
        if not self.status:
            self.status, self.reason = status, printable(reason)


@dataclass
class _Visit:
    """What all packages share: the board, and when it was ours (Unix time). idle: how it was before we gave it anything to do."""

    device: Device
    cores: int = 0
    idle: State | None = None
    board: dict[str, str] | None = None
    before: State | None = None
    after: State | None = None
    attempts: list[Attempt] = field(default_factory=list)
    locked_from: float = 0.0
    locked_to: float = 0.0


def run_task(task: Task, tell: Tell | None = None) -> list[Record]:
    """PackageFacts and a Job for each package, and a Versus for each after the first. Trouble with the board, a package or its answers
    becomes the status and reason of a Job, with all that was measured until then; nothing but a bug is raised."""
    started, clock = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    visit, drafts = _Visit(task.device), [_Draft(parcel) for parcel in task.parcels]
    with _failing(visit, drafts):
        _visit(task, visit, drafts, tell or (lambda words: None))
    seconds = time.monotonic() - clock
    jobs = [_verdict(task, visit, draft, started, seconds) for draft in drafts]
    return [*(draft.parcel.facts for draft in drafts), *jobs, *_versus(task.device, drafts, task.options.accept_noise)]


def _visit(task: Task, visit: _Visit, drafts: Sequence[_Draft], tell: Tell) -> None:
    tell("connecting")
    with closing(connect(task.device)) as connection:
        facts = gather(connection)
        visit.board, visit.cores = dict(describe(facts)), facts.cores or 0
        options = (
            task.options
            if task.options.threads
            else replace(task.options, threads=sweep(len(pinned(task.device, task.options)) or facts.cores or 1))
        )
        for draft in drafts:
            parcel = draft.parcel
            if problems := unfit(facts, task.device, parcel.arch, parcel.os, parcel.vocabularies):
                draft.stop("refused", f"{task.device.name}: {'; '.join(map(str, problems))}")
        if not _open(drafts):
            return
        with hold(connection, task.owner, tell) as lock:
            visit.locked_from, visit.idle = time.time(), read_state(connection)
            try:
                _work(connection, lock, task, options, visit, drafts, tell)
            finally:
                visit.locked_to = time.time()


def _work(
    connection: Connection, lock: Lock, task: Task, options: Options, visit: _Visit, drafts: Sequence[_Draft], tell: Tell
) -> None:  # fmt: skip
    """While the board is ours. The first package is deployed last: of several with one name it is then the one in use."""
    allow = task.allow_downgrade
    ours = [parcel.version for parcel in task.parcels]  # they stay on the board together, even when all have one name
    for draft in reversed(_open(drafts)):
        with _failing(visit, [draft]):
            tell(f"deploying {draft.parcel.facts.name}")
            judge = partial(_examine, connection, options, draft, tell)
            draft.program = deploy(lock, draft.parcel, tell, judge=judge, keep=ours, allow_downgrade=allow, counts=False).program
            lock.renew()
    if not _open(drafts):
        return
    _measure(connection, lock, options, visit, _open(drafts), tell)
    for draft in [draft for draft in drafts if draft.latencies and not draft.status]:
        with _failing(visit, [draft]):
            if task.judge is not None:
                tell(f"judging the answers of {draft.parcel.facts.name}")
                draft.accuracy = _judge(connection, lock, options, task.judge, draft)
            lock.renew()
    if options.each_core:
        _each_core(connection, lock, options, visit, _open(drafts), tell)
    if options.profile and _open(drafts):
        _profile(connection, lock, options, visit, _open(drafts), tell)


def _each_core(connection: Connection, lock: Lock, options: Options, visit: _Visit, drafts: Sequence[_Draft], tell: Tell) -> None:
    """Of a board with several cores."""
    cores = pinned(connection.device, options) or tuple(range(visit.cores))
    for draft in drafts if len(cores) > 1 else ():
        with _failing(visit, [draft]), lock.kept():
            tell(f"measuring {draft.parcel.facts.name} core by core")
            draft.each_core = measure_each_core(connection, draft.program, options, cores, renew=_renewing(lock, tell))


def _profile(connection: Connection, lock: Lock, options: Options, visit: _Visit, drafts: Sequence[_Draft], tell: Tell) -> None:
    """Every call of all packages on the processor, interleaved, and those that can be on the GPU there."""
    programs = [(draft.program, len(draft.parcel.facts.layers)) for draft in drafts]

    def once() -> list[Latency]:
        with lock.kept():
            found = profile_in_rounds(connection, programs, options, renew=_renewing(lock, tell))
        for draft, rounds in zip(drafts, found, strict=True):
            times = [tuple(of_call) for of_call in zip(*rounds, strict=True)]
            draft.profile = tuple(LayerTime(call, median(of_call), of_call) for call, of_call in enumerate(times))
        return []

    *_, noise = _unless_spoiled(connection, lock, options, visit, tell, "profiling", once)
    for draft in drafts:
        draft.profile_noise = noise
        if draft.gpu is not None and draft.gpu.device:
            with _failing(visit, [draft]), lock.kept():
                wait, on_gpu = profile_gpu(connection, draft.program, len(draft.profile), draft.parcel.gpu_calls, options)
                draft.gpu = replace(draft.gpu, wait_us=wait, profile=on_gpu)
        lock.renew()


def _examine(connection: Connection, options: Options, draft: _Draft, tell: Tell, program: str) -> None:
    """On one thread, on as many as will be measured, and on the GPU. GateError when an answer is wrong."""
    tell(f"examining {draft.parcel.facts.name}")
    board = connection.device.name
    for threads in sorted({1, max(options.threads)}):
        listing = draft.parcel.checked_listing if threads == 1 else ""
        draft.exam = examine(connection, program, isa=options.isa, threads=threads, listing=listing)
        if not draft.exam.passed:
            hint = "build the package again; if it stays so, try another vocabulary with --isa"
            raise GateError(f"{verdict(draft.exam)}, on {threads} threads", where=board, hint=hint)
    if not draft.parcel.gpu_calls or options.gpu == "off":
        return
    tell(f"examining {draft.parcel.facts.name} on the GPU")
    draft.gpu = examine_gpu(connection, program, isa=options.isa, threads=max(options.threads))
    if error := wrong_on_gpu(draft.gpu, board):
        raise error
    if options.gpu == "on" and not draft.gpu.device:
        raise ProgramFailed(f"the GPU cannot be used: {draft.gpu.reason}", where=board, hint="install its driver there, or give --gpu auto")


def _measure(connection: Connection, lock: Lock, options: Options, visit: _Visit, drafts: Sequence[_Draft], tell: Tell) -> None:
    """Latencies of all packages, interleaved."""

    def once() -> list[Latency]:
        with lock.kept():
            programs, gpus = [draft.program for draft in drafts], [draft.on_gpu for draft in drafts]
            found = measure(connection, programs, options, gpus=gpus, renew=_renewing(lock, tell))
        for draft, latencies in zip(drafts, found, strict=True):
            draft.latencies = latencies
        return [latency for latencies in found for latency in latencies]

    visit.before, visit.after, noise = _unless_spoiled(connection, lock, options, visit, tell, "measuring", once)
    for draft in drafts:
        draft.noise = noise or noisy(visit.idle or visit.before, visit.cores, draft.latencies)


def _unless_spoiled(
    connection: Connection, lock: Lock, options: Options, visit: _Visit, tell: Tell, doing: str, once: Callable[[], list[Latency]]
) -> tuple[State, State, str]:
    """How the board was before and after something was measured; again while it spoils that, as often as the options allow: then why."""
    for attempt in range(options.repeats + 1):
        clock = time.monotonic()
        tell(doing if attempt == 0 else f"{doing} again, since {visit.attempts[-1].reason}")
        before = read_state(connection)
        found = once()
        after = read_state(connection)
        reason = spoiled(before, after, found)
        if not reason:
            return before, after, ""
        visit.attempts.append(Attempt(printable(reason), time.monotonic() - clock))
        if attempt < options.repeats:
            _pause(options.pause, tell)
            lock.renew()
    advice = "cool it, mend its power supply, or fix its clock (governor performance)"
    return before, after, f"{reason}, {options.repeats + 1} times; {advice}"


def _renewing(lock: Lock, tell: Tell) -> Callable[[], None]:
    """What is called between rounds."""

    def renew() -> None:
        tell("")
        lock.renew()

    return renew


def _pause(seconds: float, tell: Tell) -> None:
    """Let the board cool down; a `tell` that raises ends the wait."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, 0.2))
        tell("")


def _judge(connection: Connection, lock: Lock, options: Options, judge: Judge, draft: _Draft) -> Accuracy:
    """In the fastest way."""
    best = min(draft.latencies, key=lambda latency: latency.p50_us)
    words = ["--run", "--threads", str(best.threads), *(["--isa", options.isa] if options.isa else []), *(["--gpu"] if best.gpu else [])]
    with closing(connection.converse(program_words(connection.device, draft.program, *words))) as exchange:
        return judge(draft.parcel.facts.sha256, _Renewing(exchange, lock, connection.device.limits.lock / 10))


class _Renewing:
    """An exchange during which the lock stays fresh."""

    def __init__(self, exchange: Exchange, lock: Lock, seconds: float) -> None:
        self._exchange, self._lock, self._seconds = exchange, lock, seconds
        self._due = time.monotonic() + seconds

    def exchange(self, data: bytes, answer_bytes: int) -> bytes:
        if time.monotonic() >= self._due:
            self._lock.renew()
            self._due = time.monotonic() + self._seconds
        try:
            return self._exchange.exchange(data, answer_bytes)
        except BoardLost:
            raise
        except BoardTimeout as error:
            raise ProgramHung(error.summary, error.problems, where=error.where, hint=error.hint) from error
        except DeviceError as error:  # the line stands: it is the program that ended, or answered too much
            raise ProgramFailed(error.summary, error.problems, where=error.where, hint=error.hint) from error

    def close(self) -> None:
        self._exchange.close()


@contextmanager
def _failing(visit: _Visit, drafts: Sequence[_Draft]) -> Iterator[None]:
    """Trouble stops these packages. A line that broke, or a board that is not ours any more, goes on to the caller: it stops all."""
    try:
        yield
    except EdgecError as error:
        words = error.render() if visit.device.name in error.render() else f"{visit.device.name}: {error.render()}"
        for draft in drafts:
            draft.stop(state_of(error), words)
        if isinstance(error, (BoardLost, BoardBusy)) and visit.locked_from and not visit.locked_to:
            raise


def _verdict(task: Task, visit: _Visit, draft: _Draft, started: str, seconds: float) -> Job:
    """A promise about speed may be undecided where the speed is not known, and none is judged where the answers were wrong."""
    known = not draft.noise or task.options.accept_noise
    gates: tuple[Gate, ...] = ()
    if draft.exam is not None and draft.exam.passed and not draft.status:
        gates = task.gates.judge(task.device.name, draft.parcel.facts.name, draft.latencies, draft.accuracy, known=known)
        if not known:
            draft.stop("unsteady", f"{task.device.name}: {draft.noise}")
    broken = [gate for gate in gates if not gate.passed and not gate.undecided]
    if broken:
        words = "; ".join(f"{gate.name} is {gate.value}, promised {gate.limit}" for gate in broken)
        draft.status, draft.reason = "failed", printable(f"{task.device.name}: {words}" + (f"; {draft.reason}" if draft.reason else ""))
    return Job(
        device=task.device.name,
        target=task.device.target,
        package=draft.parcel.facts.sha256,
        status=draft.status or "passed",
        reason=draft.reason,
        started=started,
        seconds=seconds,
        worker=f"{socket.gethostname()}:{os.getpid()}",
        board=visit.board,
        before=visit.before,
        after=visit.after,
        exam=draft.exam,
        latencies=draft.latencies,
        profile=draft.profile,
        accuracy=draft.accuracy,
        gates=gates,
        attempts=tuple(visit.attempts),
        locked_from=visit.locked_from,
        locked_to=visit.locked_to,
        gpu=draft.gpu,
        noise=printable(draft.noise),
        noise_accepted=bool(draft.noise) and task.options.accept_noise,
        profile_noise=printable(draft.profile_noise),
        each_core=draft.each_core,
    )


def _versus(device: Device, drafts: Sequence[_Draft], accept_noise: bool) -> list[Versus]:
    """Each package against the first, in the way that suits the first best of those that both were measured in."""
    sound = {index: draft for index, draft in enumerate(drafts) if draft.latencies and (not draft.noise or accept_noise)}
    if 0 not in sound:
        return []
    base, found = sound.pop(0), []
    for draft in sound.values():
        ways = {_way(latency): latency for latency in draft.latencies}
        one = min((latency for latency in base.latencies if _way(latency) in ways), key=lambda latency: latency.p50_us)
        other = ways[_way(one)]
        ratio, low, high = paired_ratio(one.medians_us, other.medians_us)
        found.append(Versus(device.name, base.parcel.facts.sha256, draft.parcel.facts.sha256, ratio, low, high, one.rounds))
    return found


def _way(latency: Latency) -> tuple[int, bool]:
    return latency.threads, bool(latency.gpu)


def _open(drafts: Sequence[_Draft]) -> list[_Draft]:
    return [draft for draft in drafts if not draft.status]
