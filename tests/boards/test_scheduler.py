"""The farm on a dask cluster: real scheduler and worker processes, which own boards, die and come back."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Thread

import pytest

from edgec.base.errors import DeviceError, UsageError
from edgec.boards.farm import scheduler
from edgec.boards.farm.job import Task, Tell
from edgec.boards.farm.scheduler import run_on_cluster
from edgec.records.results import Job, Record, read_results
from tests.boards.boards import free_port, loopback
from tests.boards.clusters import Cluster
from tests.boards.deploying import mark
from tests.boards.tasks import PACKAGE, hangs_once, has_a_bug, is_lost, job, passes, task, works


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers: one that owns a1, a2 and buggy and has a nanny, one that owns b1."""
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        made.worker(["a1", "a2", "buggy"], nanny=True)
        made.worker(["b1"])
        yield made
    finally:
        made.stop()


def jobs(records: Sequence[Record]) -> dict[str, Job]:
    return {record.device: record for record in records if isinstance(record, Job)}


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_board_has_one_job_at_a_time_whoever_asks(cluster: Cluster, tmp_path: Path) -> None:
    boards = [task(name, tmp_path) for name in ("a1", "a2", "b1")]
    said: list[str] = []

    def ask(number: int) -> None:
        run_on_cluster(cluster.address, boards, works, results=tmp_path / f"{number}.jsonl", tell=said.append)

    askers = [Thread(target=ask, args=(number,)) for number in range(2)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join(60)
    found = [record for number in range(2) for record in read_results(tmp_path / f"{number}.jsonl") if isinstance(record, Job)]
    assert sorted(record.device for record in found) == ["a1", "a1", "a2", "a2", "b1", "b1"]
    assert {record.status for record in found} == {"passed"}
    for name in ("a1", "a2", "b1"):
        first, second = sorted((record.locked_from, record.locked_to) for record in found if record.device == name)
        assert first[0] < first[1] <= second[0] < second[1]
    by_board = {record.device: record.worker for record in found}
    assert by_board["a1"] == by_board["a2"] != by_board["b1"]
    assert {f"{name}: works" for name in by_board} <= set(said)


def test_boards_that_no_worker_owns_are_named_at_once_and_nothing_runs(cluster: Cluster, tmp_path: Path) -> None:
    boards = [task(name, tmp_path) for name in ("a1", "c1", "c2")]
    with pytest.raises(DeviceError) as caught:
        run_on_cluster(cluster.address, boards, works, results=tmp_path / "results.jsonl")
    assert [problem.where for problem in caught.value.problems] == ["c1", "c2"]
    assert f'dask worker {cluster.address} --nthreads 2 --resources "c1=1 c2=1"' in str(caught.value)
    assert not (tmp_path / "a1").exists()


def test_a_lost_board_is_tried_again_on_its_worker(cluster: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    found = jobs(run_on_cluster(cluster.address, [task("b1", tmp_path)], is_lost, results=path, retries=0))
    assert found["b1"].status == "unreachable" and "the line broke" in found["b1"].reason
    again = run_on_cluster(cluster.address, [task("b1", tmp_path), task("a1", tmp_path)], passes, results=path, resume=True)
    assert {name: record.status for name, record in jobs(again).items()} == {"b1": "passed", "a1": "passed"}


def test_a_bug_of_ours_on_a_worker_is_raised_when_all_others_have_ended(cluster: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        run_on_cluster(cluster.address, [task(name, tmp_path) for name in ("buggy", "a1", "b1")], has_a_bug, results=path)
    assert {name: record.status for name, record in jobs(read_results(path)).items()} == {
        "buggy": "unreachable",
        "a1": "passed",
        "b1": "passed",
    }


def fails_when_the_other_hangs(task: Task, tell: Tell) -> list[Record]:
    if task.device.name == "a1":
        return hangs_once(task, tell)
    until((Path(task.device.work).parent / "a1/first").exists)
    return [replace(job(task.device.name), seconds=float("nan"))]  # no line of a results file can hold that


def test_boards_are_let_go_when_the_run_ends_early(cluster: Cluster, tmp_path: Path) -> None:
    boards = [task(name, tmp_path) for name in ("a1", "a2")]
    with pytest.raises(ValueError, match="not JSON compliant"):
        run_on_cluster(cluster.address, boards, fails_when_the_other_hangs, results=tmp_path / "results.jsonl")
    assert not mark(tmp_path / "a1")


def test_a_killed_worker_loses_no_result_and_none_comes_twice(cluster: Cluster, tmp_path: Path) -> None:
    path, first = tmp_path / "results.jsonl", tmp_path / "a1/first"

    def kill() -> None:
        until(lambda: first.exists() and first.read_text() != "" and path.exists() and "b1" in path.read_text())
        os.kill(int(first.read_text()), signal.SIGKILL)

    killer = Thread(target=kill)
    killer.start()
    said: list[str] = []
    run = partial(run_on_cluster, cluster.address, results=path, tell=said.append)
    found = run([task(name, tmp_path) for name in ("a1", "b1")], hangs_once_on_a1)
    killer.join(60)
    assert {name: record.status for name, record in jobs(found).items()} == {"a1": "passed", "b1": "passed"}
    assert sorted(record.device for record in read_results(path) if isinstance(record, Job)) == ["a1", "b1"]
    assert jobs(found)["a1"].worker != first.read_text()
    assert "a1: takes over from one that died" in said
    assert not mark(tmp_path / "a1")


def hangs_once_on_a1(task: Task, tell: Tell) -> list[Record]:
    return hangs_once(task, tell) if task.device.name == "a1" else passes(task, tell)


def test_what_is_no_scheduler_is_an_error_within_its_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(scheduler, "CONNECT", 0.5)
    address = f"tcp://{loopback()}:{free_port(loopback())}"
    with pytest.raises(DeviceError, match=f"{address}: no scheduler answers"):
        run_on_cluster(address, [task("a1", tmp_path)], passes, results=tmp_path / "results.jsonl")
    with pytest.raises(UsageError, match="not the address of a scheduler"):
        run_on_cluster("carrier-pigeon://loft", [task("a1", tmp_path)], passes, results=tmp_path / "results.jsonl")
    assert not (tmp_path / "results.jsonl").exists()


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"pip install 'edgec\[farm\]'"):
        run_on_cluster("tcp://127.0.0.1:1", [task("a1", tmp_path)], passes, results=tmp_path / "results.jsonl")


def test_a_board_whose_last_worker_leaves_is_lost_and_says_so(cluster: Cluster, tmp_path: Path) -> None:
    path, mark = tmp_path / "results.jsonl", tmp_path / "c1/first"
    worker = cluster.worker(["c1"])

    def kill() -> None:
        until(mark.exists)
        worker.kill()

    Thread(target=kill).start()
    boards = [task(name, tmp_path) for name in ("c1", "b1")]
    found = jobs(run_on_cluster(cluster.address, boards, hangs_once_on_c1, results=path, patience=1))
    assert {name: record.status for name, record in found.items()} == {"c1": "unreachable", "b1": "passed"}
    assert "its last worker has been gone for 1 s" in found["c1"].reason and "dask worker" in found["c1"].reason


def hangs_once_on_c1(task: Task, tell: Tell) -> list[Record]:
    return hangs_once(task, tell) if task.device.name == "c1" else passes(task, tell)


@pytest.mark.thorough
def test_a_scheduler_that_dies_loses_no_result_that_came(tmp_path: Path) -> None:
    own = Cluster(tmp_path)
    try:
        own.worker(["a1", "b1"])
        path = tmp_path / "results.jsonl"

        def kill() -> None:
            until(lambda: (tmp_path / "a1/first").exists() and path.exists() and "b1" in path.read_text())
            own.scheduler.kill()

        Thread(target=kill).start()
        boards = [task(name, tmp_path) for name in ("a1", "b1")]
        found = jobs(run_on_cluster(own.address, boards, hangs_once_on_a1, results=path, patience=1))
    finally:
        own.stop()
    assert {name: record.status for name, record in found.items()} == {"a1": "unreachable", "b1": "passed"}
    assert "scheduler" in found["a1"].reason
    assert PACKAGE in read_results(path)
