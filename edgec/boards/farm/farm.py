"""All boards at once: one job a board, results on disk as they come; a board that is lost loses nobody else's results."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread

from edgec.base.errors import DeviceError
from edgec.boards.connect.connectors import connect
from edgec.boards.deploy.lock import forfeit
from edgec.boards.deploy.states import state_of
from edgec.boards.farm.job import Task, Tell
from edgec.boards.farm.journal import Journal, done, identity, latest
from edgec.boards.farm.ownership import is_gone, own, run_here
from edgec.records.results import Attempt, Job, Record

Run = Callable[[Task, Tell], list[Record]]
PAUSE = 2.0  # seconds before a lost board is tried again; twice that before the next time
GRACE = 30.0  # seconds that boards have to let go when the user interrupts


@dataclass(frozen=True)
class Outcome:
    """What a task left behind: its records, and the error when edgec itself was wrong."""

    records: list[Record]
    bug: BaseException | None = None


def run_farm(
    tasks: Sequence[Task], run: Run, *, results: Path, resume: bool = False, retries: int = 1, tell: Tell | None = None
) -> list[Record]:
    """Run every task, all boards at once, tasks of one board in turn; what `results` holds then, the last record of each job only.

    Boards that are this machine itself (`local`) wait, one after the other, until those that are emulated on it are done: they would
    disturb each other. resume: tasks that have their verdicts in `results` are not run. retries: how often a lost board is tried again;
    the reasons are kept in Job.attempts. `run` is given a `tell` of its own, which it calls between its steps: when the user interrupts,
    that raises KeyboardInterrupt there, so that what it holds on the board is let go. UsageError: see Journal. An error in `run` that is
    not a DeviceError is a bug of ours: it is recorded like a lost board, and raised when all other tasks have ended.
    """
    with Journal(results, resume=resume) as journal:
        waiting = [own(task) for task in open_tasks(tasks, journal.records)]
        floor = _Floor(run, retries, tell)
        threads = _start(floor, waiting)
        bugs = []
        try:
            for _ in waiting:
                outcome = floor.next_outcome()
                journal.add(outcome.records)
                bugs += [outcome.bug] if outcome.bug else []
        except BaseException:
            floor.close(threads)
            journal.add([record for outcome in floor.rest() for record in outcome.records])
            raise
    if bugs:
        raise bugs[0]
    return latest(journal.records)


def open_tasks(tasks: Sequence[Task], records: Sequence[Record]) -> list[Task]:
    """The tasks that have packages without a verdict. Packages that are compared are measured together, so a task is run whole."""
    verdicts = done(records)
    return [task for task in tasks if any((task.device.name, parcel.facts.sha256) not in verdicts for parcel in task.parcels)]


def attend(task: Task, run: Run, *, retries: int, tell: Tell) -> list[Record]:
    """Run one task, and again while its board is lost. Of each job the last verdict counts, with the reasons of the tries before it.
    Nobody else may run it meanwhile: a lock that a try of it, or a process of this machine, left on the board when it died is removed."""
    task = run_here(task)
    kept: dict[tuple[str, ...], Record] = {}
    reasons: dict[str, tuple[Attempt, ...]] = {}
    for number in range(retries + 1):
        if number:
            _pause(PAUSE * 2 ** (number - 1), tell)
        records = _try(task, run, tell)
        for record in records:
            before = kept.get(identity(record))
            if isinstance(record, Job) and record.status == "unreachable" and isinstance(before, Job) and before.status != "unreachable":
                continue
            if isinstance(record, Job):
                record = replace(record, attempts=(*reasons.get(record.package, ()), *record.attempts))
            kept[identity(record)] = record
        lost = [record for record in records if isinstance(record, Job) and record.status == "unreachable"]
        if not lost:
            break
        for job in lost:
            reasons[job.package] = (*reasons.get(job.package, ()), Attempt(job.reason, job.seconds))
        follows = f"; try {number + 2} of {retries + 1} follows" if number < retries else ""
        tell(f"unreachable: {lost[0].reason.splitlines()[0]}{follows}")
    return list(kept.values())


def lost(task: Task, reason: str, *, start: float, status: str = "unreachable") -> list[Record]:
    """Records that say why a task, begun at time.monotonic() `start`, told us nothing."""
    seconds = time.monotonic() - start
    started = datetime.fromtimestamp(time.time() - seconds, UTC).isoformat(timespec="seconds")
    facts = [parcel.facts for parcel in task.parcels]
    device = task.device
    jobs = [Job(device.name, device.target, package.sha256, status, reason, started, seconds) for package in facts]
    return [*facts, *jobs]


def bug_reason(error: BaseException) -> str:
    return f"a bug of edgec's own: {type(error).__name__}: {error}"


def _try(task: Task, run: Run, tell: Tell) -> list[Record]:
    for _ in range(2):
        start = time.monotonic()
        try:
            records = run(task, tell)
        except DeviceError as error:
            records = lost(task, str(error), start=start, status=state_of(error))
        if not (any(isinstance(record, Job) and record.status == "busy" for record in records) and _forfeit(task)):
            break
        tell("takes over from one that died")
    return records


def _forfeit(task: Task) -> bool:
    with suppress(DeviceError), closing(connect(task.device)) as connection:
        return forfeit(connection, lambda owner: is_gone(owner, task))
    return False


def _pause(seconds: float, tell: Tell) -> None:
    """Wait, but not when everything stops: an interrupted `tell` raises."""
    end = time.monotonic() + seconds
    tell(f"waits {seconds:g} s")
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, 0.2))
        tell("")


class _Floor:
    """What the boards' threads share."""

    def __init__(self, run: Run, retries: int, tell: Tell | None) -> None:
        self._run, self._retries, self._tell = run, retries, tell
        self._stopped, self._saying = Event(), Lock()
        self._outcomes: SimpleQueue[Outcome | BaseException] = SimpleQueue()

    def work(self, tasks: Sequence[Task], after: Sequence[Thread] = ()) -> None:
        """One thread's part: its tasks in turn, when the threads before it have ended."""
        for thread in after:
            thread.join()
        for task in tasks:
            start = time.monotonic()
            try:
                self._outcomes.put(Outcome(attend(task, self._run, retries=self._retries, tell=self._teller(task.device.name))))
            except KeyboardInterrupt:
                return
            except Exception as error:
                self._outcomes.put(Outcome(lost(task, bug_reason(error), start=start), error))

    def next_outcome(self) -> Outcome:
        """Of a task; or what our caller's own `tell` raised, which ends the run as an interruption does."""
        while True:
            try:
                found = self._outcomes.get(timeout=1)  # no longer: where a wait cannot be interrupted, Ctrl-C is heard between two
            except Empty:
                continue
            if isinstance(found, BaseException):
                raise found
            return found

    def rest(self) -> list[Outcome]:
        """Outcomes that came while nobody waited for them."""
        found = []
        while not self._outcomes.empty():
            found.append(self._outcomes.get())
        return [outcome for outcome in found if isinstance(outcome, Outcome)]

    def close(self, threads: Sequence[Thread]) -> None:
        """Tell the boards to stop and wait until they have; a second interruption, or GRACE, ends the wait."""
        self._stopped.set()
        with suppress(OSError):  # nobody may listen any more
            self._say("stopping: each board ends its step and is let go; interrupt again to leave at once")
        end = time.monotonic() + GRACE
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _teller(self, name: str) -> Tell:
        def tell(words: str) -> None:
            if self._stopped.is_set():
                raise KeyboardInterrupt
            try:
                if words:
                    self._say(f"{name}: {words}")
            except BaseException as error:  # our caller's trouble and no board's: an outcome of its own, whatever becomes of the task
                self._outcomes.put(error)
                raise KeyboardInterrupt from error

        return tell

    def _say(self, words: str) -> None:
        with self._saying:
            if self._tell:
                self._tell(words)


def _start(floor: _Floor, tasks: Sequence[Task]) -> list[Thread]:
    """A thread a board, and one for all that is this machine, which waits for what is emulated here. Entries of the inventory that
    share a work folder are one board, which is locked by one of them at a time: they take turns."""
    lanes: dict[tuple[object, ...], list[Task]] = {}
    for task in tasks:
        device = task.device
        if device.connection != "local":
            lanes.setdefault((device.connection, device.address, device.port, device.user, device.work), []).append(task)
    threads = [Thread(target=floor.work, args=(lane,), name=lane[0].device.name, daemon=True) for lane in lanes.values()]
    emulated = [thread for thread, lane in zip(threads, lanes.values(), strict=True) if lane[0].device.connection == "emulated"]
    if here := [task for task in tasks if task.device.connection == "local"]:
        threads.append(Thread(target=floor.work, args=(here, emulated), name="local", daemon=True))
    for thread in threads:
        thread.start()
    return threads
