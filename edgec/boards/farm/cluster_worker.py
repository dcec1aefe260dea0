"""What runs on a worker of a dask cluster: one task on one of its boards."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from edgec.boards.farm.farm import Run, attend, bug_reason, lost
from edgec.boards.farm.job import Task
from edgec.records.results import Record

_ENDING = ("closing", "closing_gracefully", "closed", "failed")


@dataclass(frozen=True)
class Answer:
    """What comes back from a worker. bug: the traceback of an error of edgec's own."""

    records: list[Record]
    bug: str = ""


def work(task: Task, run: Run, retries: int, topic: str) -> Answer:
    """Run a task, telling the scheduler's `topic` about it; it stops between two steps when nobody wants its answer any more."""
    from distributed import get_worker

    worker, start = get_worker(), time.monotonic()
    wanted = _wanted(worker, str(worker.get_current_task()))

    def tell(words: str) -> None:
        if not wanted():
            raise KeyboardInterrupt
        if words:
            worker.log_event(topic, f"{task.device.name}: {words}")

    try:
        return Answer(attend(task, run, retries=retries, tell=tell))
    except KeyboardInterrupt:
        return Answer([])
    except Exception as error:
        return Answer(lost(task, bug_reason(error), start=start), traceback.format_exc())


def running(dask_worker: Any) -> list[str]:
    """The keys of what a worker runs, wanted or not."""
    return [str(state.key) for state in dask_worker.state.tasks.values() if state.state in ("executing", "cancelled")]


def start_command(address: str, names: Sequence[str]) -> str:
    """The command that starts a worker which owns boards."""
    resources = " ".join(f"{name}=1" for name in names)
    return f'dask worker {address} --nthreads {len(names)} --resources "{resources}"'


def _wanted(worker: Any, key: str) -> Callable[[], bool]:
    def wanted() -> bool:
        state = worker.state.tasks.get(key)
        return worker.status.name not in _ENDING and state is not None and state.state != "cancelled"

    return wanted
