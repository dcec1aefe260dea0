"""Small tasks, and functions that run them, for tests of the farm; workers of a dask cluster import them too."""

from __future__ import annotations

import os
import time
from pathlib import Path

from edgec.boards.board.measure import Options
from edgec.boards.connect.trouble import BoardLost
from edgec.boards.deploy.lock import hold
from edgec.boards.deploy.parcel import Parcel
from edgec.boards.device import Device
from edgec.boards.farm.gates import Gates
from edgec.boards.farm.job import Task, Tell
from edgec.records.results import Job, PackageFacts, Record

PACKAGE = PackageFacts("a" * 64, "net", "host", "int8", "b" * 64, 1000, 64, 32)


def task(name: str, folder: Path, *packages: PackageFacts, connection: str = "emulated", prefix: tuple[str, ...] = ("env",)) -> Task:
    """A task for a board on this machine whose work folder is below `folder`."""
    device = Device(name, "host", connection, prefix=prefix, work=str(folder / name))
    parcels = tuple(Parcel(facts, {}, "build/net_exam", "x86_64", "linux", ("portable",), 1, 1, {}) for facts in packages or (PACKAGE,))
    return Task(device, parcels, Options(), Gates(), None, f"a test ({os.getpid()})")


def job(name: str, status: str = "passed", reason: str = "", package: str = PACKAGE.sha256, begin: float = 0.0, worker: str = "") -> Job:
    """A job that held its board from Unix time `begin` until now."""
    end = time.time() if begin else 0.0
    return Job(name, "host", package, status, reason, "2024-01-01T00:00:00+00:00", 1.0, worker, locked_from=begin, locked_to=end)


def passes(task: Task, tell: Tell) -> list[Record]:
    """Every package passes at once."""
    tell("passes")
    return [record for parcel in task.parcels for record in (parcel.facts, job(task.device.name, package=parcel.facts.sha256))]


def works(task: Task, tell: Tell) -> list[Record]:
    """Hold the board, really, for half a second in small steps; the work folder's file `runs` has a line for every start."""
    from edgec.boards.connect.connectors import connect

    connection = connect(task.device)
    with hold(connection, task.owner):
        begin = time.time()
        with (Path(task.device.work) / "runs").open("a") as file:
            file.write(f"{os.getpid()}\n")
        for _ in range(10):
            time.sleep(0.05)
            tell("works")
        return [PACKAGE, job(task.device.name, begin=begin, worker=str(os.getpid()))]


def hangs_once(task: Task, tell: Tell) -> list[Record]:
    """Hold the board until this process is killed or told to stop; the next process that comes does its work."""
    from edgec.boards.connect.connectors import connect

    mark = Path(task.device.work) / "first"
    if mark.exists():
        return works(task, tell)
    with hold(connect(task.device), task.owner):
        mark.write_text(str(os.getpid()))
        while True:
            time.sleep(0.05)
            tell("hangs")


def is_lost(task: Task, tell: Tell) -> list[Record]:
    raise BoardLost("the line broke", where=task.device.name, hint="plug it in")


def has_a_bug(task: Task, tell: Tell) -> list[Record]:
    if task.device.name == "buggy":
        raise ZeroDivisionError("division by zero")
    return passes(task, tell)
