"""Packages that are measured side by side on one board, for those who need their times and nothing less."""

from __future__ import annotations

from pathlib import Path

from edgec.base.errors import DeviceError, GateError
from edgec.boards.farm.farm import run_farm
from edgec.boards.farm.job import Task, Tell, run_task
from edgec.records.results import Job


def compete(task: Task, results: Path, *, retries: int, tell: Tell | None) -> list[Job]:
    """The job of each package of the task, in its order. results: a new file, where the records go.

    GateError: a package's answers are wrong there. DeviceError: the board told us nothing, or nothing that counts.
    """
    records = run_farm([task], run_task, results=results, retries=retries, tell=tell)
    found = {record.package: record for record in records if isinstance(record, Job)}
    jobs = [found[parcel.facts.sha256] for parcel in task.parcels]
    for job in jobs:
        _check(job, task.options.accept_noise)
    return jobs


def _check(job: Job, accept_noise: bool) -> None:
    if job.status == "failed":
        raise GateError(job.reason)
    if job.status not in ("passed", "unsteady"):
        raise DeviceError(job.reason)
    noise = job.noise or job.profile_noise
    if noise and not accept_noise:
        hint = "try again when nothing else runs on that board, or with --accept-noise"
        raise DeviceError(f"its times are not known well: {noise}", where=job.device, hint=hint)
