"""The same jobs on a dask.distributed cluster, whose workers own boards: `dask worker tcp://HOST:8786 --resources "pi5=1"`.

A cluster runs whatever code its clients send, and clients believe what it answers: use one that you trust, with tls:// addresses and
the certificates of dask's own configuration where others can reach it. Packages travel inside a task; keys and known hosts are found
on the worker, at the paths that the inventory gives.
"""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from edgec.base.errors import DeviceError, Problem, UsageError
from edgec.boards.farm.cluster_worker import Answer, running, start_command, work
from edgec.boards.farm.farm import GRACE, Outcome, Run, lost, open_tasks
from edgec.boards.farm.job import Task, Tell
from edgec.boards.farm.journal import Journal, latest
from edgec.boards.farm.ownership import own
from edgec.records.results import Record

CONNECT = 10.0  # seconds until a scheduler must have answered
PATIENCE = 60.0  # seconds that a board may be without a worker before its jobs are given up
_POLL = 0.1  # seconds between two looks at what has ended
_LOOK = 1.0  # seconds between two looks at who is there


def run_on_cluster(
    address: str, tasks: Sequence[Task], run: Run, *, results: Path, resume: bool = False, retries: int = 1, tell: Tell | None = None,
    patience: float = PATIENCE,
) -> list[Record]:  # fmt: skip
    """What farm.run_farm does, on the workers of the scheduler at `address` (tcp://host:port or tls://host:port).

    A task goes to a worker that has the device's name among its resources, and a board has one task at a time, whoever asks the
    scheduler. When a worker dies, its tasks are run again on one that owns the board: the worker's successor, if it has a nanny.
    DeviceError: no scheduler answers, or boards have no worker (all of them are named, and nothing is run). A board whose last worker
    has been gone for `patience` seconds is lost. UsageError: `distributed` is not installed, or `address` is not an address.
    """
    with _client(address) as client, Journal(results, resume=resume) as journal:
        waiting = open_tasks(tasks, journal.records)
        _check_served(client, address, waiting)
        cluster = _Cluster(client, address, run, retries, tell, patience)
        bugs = []
        try:
            for outcome in cluster.outcomes(waiting):
                journal.add(outcome.records)
                bugs += [outcome.bug] if outcome.bug else []
        finally:
            cluster.close()
    if bugs:
        raise bugs[0]
    return latest(journal.records)


@contextmanager
def _client(address: str) -> Iterator[Any]:
    try:
        client = _dask().Client(address, timeout=CONNECT, set_as_default=False)
    except ValueError as error:
        raise UsageError(f"not the address of a scheduler: {error}", where=address, hint="give tcp://host:port") from error
    except (OSError, TimeoutError, TypeError) as error:  # TypeError: a tls:// address and no certificates
        hint = "start one with `dask scheduler`; for tls:// give certificates in dask's configuration"
        raise DeviceError(f"no scheduler answers: {error}", where=address, hint=hint) from error
    with client:
        yield client


def _dask() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise UsageError("--scheduler needs dask", hint="pip install 'edgec[farm]'") from error
    return distributed


def _owners(client: Any) -> frozenset[str]:
    """The names of all resources that workers have now."""
    try:
        info = client.scheduler_info(n_workers=-1)
    except TypeError:  # before 2025.4, which always told of all workers
        info = client.scheduler_info()
    return frozenset(name for worker in info["workers"].values() for name, count in worker.get("resources", {}).items() if count >= 1)


def _check_served(client: Any, address: str, tasks: Sequence[Task]) -> None:
    """DeviceError that names all boards which no worker owns: their tasks would wait for ever."""
    names = sorted({task.device.name for task in tasks} - _owners(client))
    if names:
        problems = [Problem("no worker owns it", where=name) for name in names]
        hint = f"where they are plugged in: {start_command(address, names)}"
        raise DeviceError("the scheduler has no worker for these boards", problems, where=address, hint=hint)


@dataclass
class _Pending:
    """A task on its way. gone: time.monotonic() when its board was first seen without a worker. restarts: how many workers died of it."""

    task: Task
    start: float
    gone: float | None = None
    restarts: int = 0


class _Cluster:
    """One client's tasks on the cluster."""

    def __init__(self, client: Any, address: str, run: Run, retries: int, tell: Tell | None, patience: float) -> None:
        self._client, self._address, self._run, self._retries, self._patience = client, address, run, retries, patience
        self._topic = f"edgec-{uuid.uuid4().hex}"
        self._pending: dict[Any, _Pending] = {}
        self._saying = Lock()
        self._tell = tell or (lambda words: None)
        client.subscribe_topic(self._topic, self._hear)

    def outcomes(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """What became of each task, in the order in which they end."""
        for task in tasks:
            self._submit(_Pending(own(task), time.monotonic()))
        looked = time.monotonic()
        while self._pending:
            time.sleep(_POLL)
            for future in [future for future in self._pending if future.done()]:
                if outcome := self._take(future):
                    yield outcome
            if time.monotonic() - looked > _LOOK:
                looked = time.monotonic()
                yield from self._give_up()

    def close(self) -> None:
        """Take back what has not ended; workers notice at their next step and let go of their boards."""
        with suppress(Exception):  # the scheduler may be gone: there is nothing to take back then
            if self._pending:
                self._say("stopping: each board ends its step and is let go")
                self._client.cancel(list(self._pending), force=True)
                self._await_idle()
            self._client.unsubscribe_topic(self._topic)
        self._pending.clear()

    def _submit(self, pending: _Pending) -> None:
        name = pending.task.device.name
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)  # a package goes to its board once
            future = self._client.submit(
                work, pending.task, self._run, self._retries, self._topic,
                key=f"edgec-{name}-{uuid.uuid4().hex}", resources={name: 1}, pure=False,
            )  # fmt: skip
        self._pending[future] = pending

    def _take(self, future: Any) -> Outcome | None:
        """The outcome of a future that is done; None when its result went down with its worker and is being made again."""
        dask = _dask()
        try:
            found: Answer = future.result(timeout=_LOOK)
        except TimeoutError:
            return None
        except dask.KilledWorker as error:
            return self._restart(future, f"its workers died: {error}")
        except dask.CancelledError:
            return self._lose(future, "the scheduler lost the job, or ended")
        except Exception as error:  # what dask could not send, or a worker without edgec
            return self._lose(
                future, f"a worker could not run the job ({type(error).__name__}: {error}); is the same edgec installed there?"
            )
        del self._pending[future]
        return Outcome(found.records, RuntimeError(found.bug) if found.bug else None)

    def _restart(self, future: Any, reason: str) -> Outcome | None:
        pending = self._pending[future]
        if pending.restarts >= self._retries:
            return self._lose(future, reason)
        del self._pending[future]
        pending.restarts += 1
        self._submit(pending)
        return None

    def _lose(self, future: Any, reason: str) -> Outcome:
        pending = self._pending.pop(future)
        device = pending.task.device.name
        return Outcome(lost(pending.task, f"{device}: {reason} [{self._address}]", start=pending.start))

    def _give_up(self) -> Iterator[Outcome]:
        """Tasks whose boards have had no worker for too long."""
        gone, owners = self._client.status != "running", frozenset[str]()
        with suppress(Exception):  # a scheduler that does not answer now
            owners = _owners(self._client)
        now = time.monotonic()
        for future, pending in list(self._pending.items()):
            if pending.task.device.name in owners:
                pending.gone = None
                continue
            pending.gone = now if pending.gone is None else pending.gone
            if gone or now - pending.gone > self._patience:
                future.cancel()
                names = [pending.task.device.name]
                why = "the scheduler is gone" if gone else f"its last worker has been gone for {self._patience:g} s"
                yield self._lose(future, f"{why}; start one with {start_command(self._address, names)}")

    def _await_idle(self) -> None:
        """Until workers run none of what was taken back, GRACE seconds at most."""
        keys = {future.key for future in self._pending}
        end = time.monotonic() + GRACE
        while time.monotonic() < end and keys & {key for running in self._client.run(running).values() for key in running}:
            time.sleep(0.2)

    def _hear(self, event: tuple[float, Any]) -> None:
        words = event[1]
        if isinstance(words, str):
            self._say(words)

    def _say(self, words: str) -> None:
        with self._saying:
            self._tell(words)
