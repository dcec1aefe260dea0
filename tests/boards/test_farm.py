"""A farm: all boards at once, and whatever happens to one of them, the others' results are there."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Event

import pytest

from edgec.base.errors import UsageError
from edgec.boards.farm import farm
from edgec.boards.farm.farm import run_farm
from edgec.boards.farm.job import Task, Tell
from edgec.records.results import Job, Record, read_results
from tests.boards.deploying import mark
from tests.boards.tasks import PACKAGE, has_a_bug, is_lost, job, passes, task

ROOT = Path(__file__).parents[2]
OTHER = replace(PACKAGE, sha256="c" * 64)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(farm, "PAUSE", 0.01)


def verdicts(records: list[Record]) -> dict[str, str]:
    return {record.device: record.status for record in records if isinstance(record, Job)}


def test_all_boards_work_at_once(tmp_path: Path) -> None:
    meeting = Barrier(5, timeout=20)

    def run(task: Task, tell: Tell) -> list[Record]:
        meeting.wait()
        return passes(task, tell)

    boards = [task(f"board{number}", tmp_path) for number in range(5)]
    records = run_farm(boards, run, results=tmp_path / "results.jsonl")
    assert verdicts(records) == {f"board{number}": "passed" for number in range(5)}
    assert read_results(tmp_path / "results.jsonl") == records


def test_an_error_of_who_listens_is_raised_and_no_board_blamed(tmp_path: Path) -> None:
    def tell(words: str) -> None:
        raise BrokenPipeError(words)

    with pytest.raises(BrokenPipeError):
        run_farm([task(f"board{number}", tmp_path) for number in range(3)], passes, results=tmp_path / "results.jsonl", tell=tell)
    assert not (tmp_path / "results.jsonl").read_text()


def test_tasks_of_one_board_take_turns(tmp_path: Path) -> None:
    busy: list[str] = []

    def run(task: Task, tell: Tell) -> list[Record]:
        assert not busy
        busy.append(task.device.name)
        time.sleep(0.05)
        busy.clear()
        return passes(task, tell)

    tasks = [task("pi4", tmp_path, PACKAGE), task("pi4", tmp_path, OTHER)]
    assert len(run_farm(tasks, run, results=tmp_path / "results.jsonl")) == 4


def test_this_machine_waits_for_what_is_emulated_on_it(tmp_path: Path) -> None:
    ended: list[str] = []
    remote = Event()

    def run(task: Task, tell: Tell) -> list[Record]:
        if task.device.connection == "ssh":
            assert remote.wait(20)  # a board elsewhere holds nobody up
        elif task.device.connection == "emulated":
            time.sleep(0.1)
        ended.append(task.device.name)
        if task.device.name == "here too":
            remote.set()
        return passes(task, tell)

    kinds = {"here": "local", "here too": "local", "slow": "emulated", "far": "ssh"}
    boards = [task(name, tmp_path, connection=kind) for name, kind in kinds.items()]
    run_farm(boards, run, results=tmp_path / "results.jsonl")
    assert ended == ["slow", "here", "here too", "far"]


def test_results_are_written_as_they_come(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"

    def run(task: Task, tell: Tell) -> list[Record]:
        end = time.monotonic() + 20
        while task.device.name == "slow" and "fast" not in verdicts(read_results(path)):
            assert time.monotonic() < end
            time.sleep(0.01)
        return passes(task, tell)

    assert verdicts(run_farm([task("slow", tmp_path), task("fast", tmp_path)], run, results=path)) == {"fast": "passed", "slow": "passed"}


def test_a_lost_board_is_tried_again_and_says_why_it_is_lost(tmp_path: Path) -> None:
    said: list[str] = []

    def run(task: Task, tell: Tell) -> list[Record]:
        return is_lost(task, tell) if task.device.name == "unreachable" else passes(task, tell)

    path = tmp_path / "results.jsonl"
    records = run_farm([task("unreachable", tmp_path), task("well", tmp_path)], run, results=path, retries=2, tell=said.append)
    assert verdicts(records) == {"well": "passed", "unreachable": "unreachable"}
    lost = next(record for record in records if isinstance(record, Job) and record.device == "unreachable")
    assert "the line broke" in lost.reason and "plug it in" in lost.reason
    assert ["the line broke" in attempt.reason for attempt in lost.attempts] == [True, True]
    assert any(words.startswith("unreachable: unreachable:") and "try 2 of 3 follows" in words for words in said)
    assert "well: passes" in said


def test_a_board_that_comes_back_keeps_the_reason_of_its_earlier_try(tmp_path: Path) -> None:
    tries: list[str] = []

    def run(task: Task, tell: Tell) -> list[Record]:
        tries.append(task.device.name)
        return is_lost(task, tell) if len(tries) == 1 else passes(task, tell)

    (_, found) = run_farm([task("pi4", tmp_path)], run, results=tmp_path / "results.jsonl", retries=3)
    assert isinstance(found, Job) and found.status == "passed" and len(tries) == 2
    assert [("the line broke" in attempt.reason) for attempt in found.attempts] == [True]


def test_a_verdict_is_not_lost_to_a_later_cut(tmp_path: Path) -> None:
    tries: list[str] = []

    def run(task: Task, tell: Tell) -> list[Record]:
        tries.append(task.device.name)
        first = job("pi4") if len(tries) == 1 else job("pi4", "unreachable", "gone")
        return [
            PACKAGE,
            OTHER,
            first,
            job("pi4", "unreachable", "cut", OTHER.sha256),
        ]

    records = run_farm([task("pi4", tmp_path, PACKAGE, OTHER)], run, results=tmp_path / "results.jsonl", retries=1)
    assert {record.package: record.status for record in records if isinstance(record, Job)} == {
        PACKAGE.sha256: "passed",
        OTHER.sha256: "unreachable",
    }
    assert len(tries) == 2


def test_a_resumed_run_does_what_is_missing_alone(tmp_path: Path) -> None:
    path, ran = tmp_path / "results.jsonl", []

    def run(task: Task, tell: Tell) -> list[Record]:
        ran.append(task.device.name)
        broken = task.device.name == "unreachable" and len(ran) <= 2
        return is_lost(task, tell) if broken else passes(task, tell)

    boards = [task("unreachable", tmp_path), task("well", tmp_path)]
    run_farm(boards, run, results=path, retries=0)
    with pytest.raises(UsageError, match="--resume"):
        run_farm(boards, run, results=path, retries=0)
    records = run_farm(boards, run, results=path, retries=0, resume=True)
    assert sorted(ran) == ["unreachable", "unreachable", "well"]
    assert verdicts(records) == {"well": "passed", "unreachable": "passed"}
    assert [record.status for record in read_results(path) if isinstance(record, Job) and record.device == "unreachable"] == [
        "unreachable",
        "passed",
    ]


def test_compared_packages_are_run_again_together(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    run_farm([task("pi4", tmp_path, PACKAGE)], passes, results=path)
    run_farm([task("pi4", tmp_path, PACKAGE, OTHER)], passes, results=path, resume=True)
    assert [record.package for record in read_results(path) if isinstance(record, Job)] == [PACKAGE.sha256, PACKAGE.sha256, OTHER.sha256]


def test_a_bug_of_ours_is_raised_when_all_others_have_ended(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with pytest.raises(ZeroDivisionError):
        run_farm([task("buggy", tmp_path), task("pi4", tmp_path), task("pi5", tmp_path)], has_a_bug, results=path)
    found = {record.device: record for record in read_results(path) if isinstance(record, Job)}
    assert verdicts(list(found.values())) == {"buggy": "unreachable", "pi4": "passed", "pi5": "passed"}
    assert "a bug of edgec's own: ZeroDivisionError" in found["buggy"].reason


def test_results_that_cannot_be_written_stop_the_boards(tmp_path: Path) -> None:
    stopped = Event()

    def run(task: Task, tell: Tell) -> list[Record]:
        if task.device.name == "fast":
            return [replace(job("fast"), seconds=float("nan"))]  # no line can hold that
        try:
            while True:
                time.sleep(0.01)
                tell("works")
        except KeyboardInterrupt:
            stopped.set()
            raise

    with pytest.raises(ValueError, match="not JSON compliant"):
        run_farm([task("fast", tmp_path), task("slow", tmp_path)], run, results=tmp_path / "results.jsonl")
    assert stopped.is_set()


INTERRUPTED = """
import signal, sys, time
from pathlib import Path
from edgec.boards.farm.farm import run_farm
from tests.boards.tasks import hangs_once, passes, task
signal.signal(signal.SIGINT, signal.default_int_handler)
folder = Path(sys.argv[1])
def run(task, tell):
    return passes(task, tell) if task.device.name == "fast" else hangs_once(task, tell)
try:
    run_farm([task(name, folder) for name in ("fast", "slow", "slower")], run, results=folder / "results.jsonl", tell=print)
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_an_interrupted_run_keeps_its_results_and_frees_the_boards(tmp_path: Path) -> None:
    program = subprocess.Popen([sys.executable, "-c", INTERRUPTED, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + 30
        marks = [tmp_path / name / "first" for name in ("slow", "slower")]
        results = tmp_path / "results.jsonl"
        while not (all(mark.exists() for mark in marks) and results.exists() and "fast" in results.read_text()):
            assert time.monotonic() < end and program.poll() is None
            time.sleep(0.02)
        assert mark(tmp_path / "slow")
        program.send_signal(signal.SIGINT)
        said, _ = program.communicate(timeout=20)
    finally:
        program.kill()
    assert program.returncode == 130
    assert "stopping" in said
    assert verdicts(read_results(results)) == {"fast": "passed"}
    assert not mark(tmp_path / "slow") and not mark(tmp_path / "slower")
