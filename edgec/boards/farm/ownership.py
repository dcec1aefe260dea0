"""Who runs a task, written so that a later run can tell that this one is gone: a lock on a board outlives the process that took it."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from dataclasses import replace
from pathlib import Path

from edgec.boards.farm.job import Task

_JOB = re.compile(r"\bjob ([0-9a-f]{16})\b")
_RUNNER = re.compile(r"run by ([0-9a-f]{16}):([0-9]{1,10})$")
# this start of this machine, and this view of its processes (a container has its own)
_PLACE = (Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid"))


def own(task: Task) -> Task:
    """The task with an owner that no other has, so that its next try can tell a lock which its last try left behind."""
    return replace(task, owner=f"{task.owner}, job {secrets.token_hex(8)}")


def run_here(task: Task) -> Task:
    """The task with an owner that says which process runs it, where the system can tell one machine from another."""
    place = _place()
    return replace(task, owner=f"{task.owner}, run by {place}:{os.getpid()}") if place else task


def is_gone(owner: str, task: Task) -> bool:
    """Whether the owner of a lock is an earlier try of this very task, or a process of this machine that has ended.

    `task`: from run_here; nobody else may be running it.
    """
    job, other = _JOB.search(task.owner), _JOB.search(owner)
    if job and other and job[1] == other[1]:
        return True
    found = _RUNNER.search(owner)
    return found is not None and found[1] == _place() and _has_ended(int(found[2]))


def _place() -> str:
    try:
        boot, processes = _PLACE[0].read_text().strip(), os.readlink(_PLACE[1])
    except OSError:
        return ""
    return hashlib.sha256(f"{boot} {processes}".encode()).hexdigest()[:16]


def _has_ended(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        return False
    return False
