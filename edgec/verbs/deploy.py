"""Deploying a package to all chosen boards at once, each proven by its exam there."""

from __future__ import annotations

import getpass
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event, Lock
from typing import Any

from edgec.base.errors import DeviceError, EdgecError, GateError, Problem
from edgec.boards.board.exam_program import examine, verdict
from edgec.boards.board.gpu import examine_gpu, wrong_on_gpu
from edgec.boards.board.inventory import Inventory, choose, load_inventory
from edgec.boards.board.look import identify, unfit
from edgec.boards.connect.connection import Connection
from edgec.boards.connect.connectors import connect
from edgec.boards.deploy import versions
from edgec.boards.deploy.counter import check_number, highest_of
from edgec.boards.deploy.delivery import Deployment, outlook
from edgec.boards.deploy.delivery import deploy as deploy_to
from edgec.boards.deploy.lock import hold
from edgec.boards.deploy.parcel import Parcel, open_parcel
from edgec.boards.deploy.states import state_of
from edgec.boards.device import Device
from edgec.package import Package
from edgec.pipeline.models import Progress
from edgec.provenance.verify import verify_files
from edgec.records.results import ExamResult, GpuUse

_STEPS = 4  # connected, examined what it is, sent, passed the exam
_MOST_BOARDS = 64  # at once


@dataclass(frozen=True)
class Deployed:
    """What became of one board. status: deployed, rolled back or planned; refused, busy, unreachable or failed, with the reason.

    version: the one that is in use there, or would be. sent_bytes and sent_files travelled, kept_files were there.
    """

    device: str
    target: str
    package: str
    status: str
    version: str = ""
    sent_files: int = 0
    sent_bytes: int = 0
    kept_files: int = 0
    exam: ExamResult | None = None
    gpu: GpuUse | None = None  # of a package that has shaders
    seconds: float = 0.0
    reason: str = ""

    @property
    def facts(self) -> dict[str, Any]:
        return asdict(self)


def deploy(
    package: Package | str | Path,
    *,
    devices: Sequence[str] = (),
    tags: Sequence[str] = (),
    everything: bool = False,
    inventory: Inventory | str | Path | None = None,
    roll_back: bool = False,
    dry_run: bool = False,
    key: str | Path | None = None,
    allow_downgrade: bool = False,
    progress: Progress | None = None,
    finished: Callable[[Deployed], None] | None = None,
) -> list[Deployed]:
    """Deploy a package to boards of an inventory, or roll them back to their version before; in the inventory's order.

    A version becomes the one in use only after it passed its exam on the board. One board's trouble never stops the others;
    `finished` hears of each board as it ends, however that was. In the end everything that went wrong is raised together:
    GateError when an exam failed, else DeviceError. UsageError before any board is touched.

    key: a file with the public ed25519 key that must have signed the package; the very bytes that travel are verified, else GateError.
    allow_downgrade: also a version whose number is below the highest that a board has accepted.
    """
    directory = package.directory if isinstance(package, Package) else Path(package)
    parcel = open_parcel(directory)
    if key is not None:
        verify_files(parcel.files, Path(key), str(directory))
    known = inventory if isinstance(inventory, Inventory) else load_inventory(None if inventory is None else Path(inventory))
    chosen = choose(known, devices, tags, everything)
    action = _roll_back if roll_back else _deploy
    run = _Run(parcel, action, dry_run, allow_downgrade, progress, finished or (lambda deployed: None))
    results = run.everywhere(chosen)
    errors = [run.errors[device.name] for device in chosen if device.name in run.errors]
    if errors:
        raise _together(parcel, errors, len(chosen))
    return [results[device.name] for device in chosen]


def _together(parcel: Parcel, errors: Sequence[EdgecError], boards: int) -> EdgecError:
    """One error alone as it is; several under one head."""
    if len(errors) == 1:
        return errors[0]
    problems = [problem for error in errors for problem in (Problem(error.summary, error.where, error.hint), *error.problems)]
    kind = GateError if any(isinstance(error, GateError) for error in errors) else DeviceError
    return kind(f"{parcel.facts.name} is not deployed on {len(errors)} of {boards} boards", problems)


class _Run:
    """One call of deploy(): a thread a board, and what came of them."""

    def __init__(
        self,
        parcel: Parcel,
        action: _Action,
        dry_run: bool,
        allow_downgrade: bool,
        progress: Progress | None,
        finished: Callable[[Deployed], None],
    ) -> None:
        self.parcel, self.dry_run, self.allow_downgrade = parcel, dry_run, allow_downgrade
        self.errors: dict[str, EdgecError] = {}
        self._action, self._progress, self._finished = action, progress, finished
        self._turn, self._stopped = Lock(), Event()

    def everywhere(self, devices: Sequence[Device]) -> dict[str, Deployed]:
        results = {}
        with ThreadPoolExecutor(min(len(devices), _MOST_BOARDS)) as workers:
            try:
                for future in as_completed([workers.submit(self._on, device) for device in devices]):
                    result = future.result()
                    results[result.device] = result
                    self._finished(result)
            except BaseException:
                self._stopped.set()  # each board ends at its next step, and gives its lock back
                raise
        return results

    def step(self, device: Device, number: int) -> None:
        """DeviceError when the whole run was interrupted."""
        if self._stopped.is_set():
            raise DeviceError("interrupted", where=device.name, hint="deploy again: what has arrived is kept")
        self._show(device, number)

    def _show(self, device: Device, number: int) -> None:
        if self._progress is not None:
            with self._turn:
                self._progress(device.name, number, _STEPS)

    def _on(self, device: Device) -> Deployed:
        started = time.monotonic()
        facts: dict[str, Any] = {}
        status = "failed"
        try:
            self.step(device, 0)
            with closing(connect(device)) as connection:
                self.step(device, 1)
                facts = dict(self._action(self, device, connection))
                status = facts.pop("status")
        except (DeviceError, GateError) as error:
            self.errors[device.name] = error
            status = state_of(error)
            facts = {"reason": error.render()}
        self._show(device, _STEPS)
        return Deployed(device.name, device.target, self.parcel.facts.name, status, seconds=time.monotonic() - started, **facts)


class Refused(DeviceError):
    """The package is not for that board."""


_Action = Callable[[_Run, Device, Connection], Mapping[str, Any]]


def _deploy(run: _Run, device: Device, connection: Connection) -> Mapping[str, Any]:
    """Refuse the wrong target; then, under the board's lock: send, give the exam, switch."""
    parcel = run.parcel
    if problems := unfit(identify(connection), device, parcel.arch, parcel.os, parcel.vocabularies):
        raise Refused(f"refused: {problems[0].what}", problems[1:], where=device.name, hint=problems[0].hint)
    if run.dry_run:
        if not run.allow_downgrade:
            check_number(connection, parcel, highest_of(connection, parcel.facts.name))
        return {"status": "planned", **_sent(outlook(connection, run.parcel))}
    exams: list[dict[str, Any]] = []

    def judge(program: str) -> None:
        run.step(device, 3)
        exams.append(_examined(connection, program, parcel))

    with hold(connection, _owner()) as lock:
        run.step(device, 2)
        done = deploy_to(lock, parcel, lambda words: run.step(device, 2), judge=judge, allow_downgrade=run.allow_downgrade)
    return {"status": "deployed", **exams[-1], **_sent(done)}


def _roll_back(run: _Run, device: Device, connection: Connection) -> Mapping[str, Any]:
    """Under the board's lock: prove the version before, and switch to it."""
    name = run.parcel.facts.name
    if run.dry_run:
        return {"status": "planned", "version": versions.previous_of(connection, name)}
    with hold(connection, _owner()) as lock:
        run.step(device, 3)
        version, exam = versions.roll_back(lock, name)
    return {"status": "rolled back", "version": version, "exam": exam}


def _examined(connection: Connection, program: str, parcel: Parcel) -> dict[str, Any]:
    """Passed exams, on the GPU too where the parcel has shaders and the board can start it; GateError for one that failed."""
    exam = examine(connection, program, listing=parcel.checked_listing)
    if not exam.passed:
        raise GateError(verdict(exam), where=connection.device.name, hint="build the package again; if it stays so, try another target")
    if not parcel.gpu_calls:
        return {"exam": exam}
    use = examine_gpu(connection, program)
    if error := wrong_on_gpu(use, connection.device.name):
        raise error
    return {"exam": exam, "gpu": use}


def _sent(done: Deployment) -> dict[str, Any]:
    return {"version": done.version, "sent_files": done.sent_files, "sent_bytes": done.sent_bytes, "kept_files": done.kept_files}


def _owner() -> str:
    """Who holds a board's lock meanwhile, in words."""
    try:
        user = getpass.getuser()
    except (ImportError, KeyError, OSError):
        user = "somebody"
    return f"{user}@{socket.gethostname()} (edgec deploy, process {os.getpid()})"
