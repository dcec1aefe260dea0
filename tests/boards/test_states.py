"""Whose fault it was: a board that lets nobody in, has no room or is cut off never makes a package a failed one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import edgec
from edgec.base.errors import DeviceError
from edgec.boards.board.inventory import Inventory
from edgec.boards.board.measure import Options
from edgec.boards.deploy.parcel import open_parcel
from edgec.boards.farm.gates import Gates
from edgec.boards.farm.job import Task, run_task
from edgec.records.results import Job
from edgec.verbs.bench import Bench
from edgec.verbs.deploy import Deployed
from tests.boards.boards import Board

Spoil = Callable[[Board], Callable[[str], None] | None]  # what it returns hears of each step of a bench


def a_new_host_key(board: Board) -> None:
    board.new_host_key()


def a_full_disk(board: Board) -> None:
    board.mount(board.work, "size=100k")


def a_read_only_disk(board: Board) -> None:
    board.mount(board.work, "ro")


def a_board_that_is_off(board: Board) -> None:
    board.stop()


def a_line_that_breaks(board: Board) -> Callable[[str], None]:
    return lambda words: board.kill_sessions() if words.startswith("examining") else None


CASES = [
    (a_new_host_key, "refused", "has changed"),
    (a_full_disk, "refused", "full|are needed"),
    (a_read_only_disk, "refused", "[Rr]ead-only"),
    (a_board_that_is_off, "unreachable", "cannot connect"),
    (a_line_that_breaks, "unreachable", "was lost"),
]


@pytest.mark.parametrize(("spoil", "state", "words"), CASES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_device_s_fault_is_told_apart_from_the_model_s(
    board: Board, walls: None, package: Callable[..., Path], spoil: Spoil, state: str, words: str, tmp_path: Path
) -> None:
    tell = spoil(board)
    task = Task(board.device("shelf"), (open_parcel(package()),), Options(seconds=0.04, runs=4, rounds=2), Gates(), None, "a test")
    _, job = run_task(task, tell)
    assert isinstance(job, Job) and job.status == state, job.reason
    assert "shelf" in job.reason
    assert Bench((job,), tmp_path, tmp_path).exit_code == 5
    if tell is None:
        seen: list[Deployed] = []
        with pytest.raises(DeviceError, match=words):
            edgec.deploy(package(), inventory=Inventory(None, (board.device("shelf"),)), finished=seen.append)
        assert [one.status for one in seen] == [state]
