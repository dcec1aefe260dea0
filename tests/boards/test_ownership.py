"""A lock is freed early only when its owner is certainly gone."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from edgec.boards.connect.connectors import connect
from edgec.boards.deploy.lock import forfeit, hold
from edgec.boards.device import Device
from edgec.boards.farm.farm import run_farm
from edgec.boards.farm.ownership import is_gone, own, run_here
from edgec.records.results import Job
from tests.boards.deploying import mark
from tests.boards.tasks import task, works

LEAVES_ITS_LOCK = """
import os, sys
from pathlib import Path
from edgec.boards.connect.connectors import connect
from edgec.boards.deploy.lock import hold
from edgec.boards.farm.ownership import own, run_here
from tests.boards.tasks import task
left = run_here(own(task("pi4", Path(sys.argv[1]))))
lock = hold(connect(left.device), left.owner)
lock.__enter__()
os._exit(9)
"""


@pytest.fixture
def needs_proc() -> None:
    if not Path("/proc/self/ns/pid").exists():
        pytest.skip("needs Linux, whose machines tell when they were started")


def test_an_earlier_try_of_the_same_task_is_gone_and_others_are_not(tmp_path: Path) -> None:
    first = own(task("pi4", tmp_path))
    again, other = run_here(first), run_here(own(task("pi4", tmp_path)))
    assert is_gone(first.owner, again) and is_gone(again.owner, again)
    assert not is_gone(other.owner, again)
    assert not is_gone("alice@desk (edgec deploy, process 1)", again)


def test_a_process_of_this_machine_that_ended_is_gone(tmp_path: Path, needs_proc: None) -> None:
    mine = run_here(own(task("pi4", tmp_path)))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    here = mine.owner.rpartition(":")[0].rpartition("run by ")[2]
    assert not is_gone(f"bob, job {'0' * 16}, run by {here}:{ended.pid}", mine)  # until its parent has seen its end
    ended.wait()
    assert is_gone(f"bob, job {'0' * 16}, run by {here}:{ended.pid}", mine)
    assert not is_gone(f"bob, job {'0' * 16}, run by {here}:{os.getppid()}", mine)
    assert not is_gone(f"bob, job {'0' * 16}, run by {here}:1", mine)


def test_a_process_of_another_machine_or_container_is_never_known_to_be_gone(tmp_path: Path) -> None:
    mine = run_here(own(task("pi4", tmp_path)))
    assert not is_gone(f"bob, job {'0' * 16}, run by {'f' * 16}:999999", mine)


def test_the_owner_says_enough_when_it_was_cut(tmp_path: Path, needs_proc: None) -> None:
    """A lock keeps the last hundred characters."""
    line = connect(task("pi4", tmp_path).device)
    mine = run_here(own(task("pi4", tmp_path)))
    with hold(line, f"{'x' * 300}{mine.owner}"):
        assert forfeit(line, lambda owner: is_gone(owner, mine) and "run by" in owner)


def test_a_run_takes_over_from_one_that_was_killed_on_this_machine(tmp_path: Path, needs_proc: None) -> None:
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", LEAVES_ITS_LOCK, str(tmp_path)], cwd=root, check=False)
    assert mark(tmp_path / "pi4")
    said: list[str] = []
    (_, found) = run_farm([task("pi4", tmp_path)], works, results=tmp_path / "results.jsonl", tell=said.append)
    assert isinstance(found, Job) and found.status == "passed"
    assert "pi4: takes over from one that died" in said
    assert not mark(tmp_path / "pi4")


def test_a_live_lock_is_left_alone(tmp_path: Path) -> None:
    other = run_here(own(task("pi4", tmp_path)))
    with hold(connect(other.device), other.owner):
        (_, found) = run_farm([task("pi4", tmp_path)], works, results=tmp_path / "results.jsonl")
        assert isinstance(found, Job) and found.status == "busy"
        assert mark(tmp_path / "pi4")


def test_a_lock_that_changes_hands_meanwhile_is_left_alone(tmp_path: Path) -> None:
    device: Device = task("pi4", tmp_path).device
    taken = [hold(connect(device), "one who is gone")]
    taken[0].__enter__()
    hasty = connect(replace(device, limits=replace(device.limits, lock=1e-6)))

    def while_they_take_it(owner: str) -> bool:
        assert forfeit(hasty, lambda owner: True)
        taken.append(hold(connect(device), "another"))
        taken[1].__enter__()
        return True

    assert not forfeit(hasty, while_they_take_it)
    now = mark(tmp_path / "pi4")
    assert now is not None and now.owner == "another"
