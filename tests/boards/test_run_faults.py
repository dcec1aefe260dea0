"""Whatever goes wrong while a job runs on a real board, it ends in words within its time, and no other board's result suffers."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Timer

import pytest

from edgec.boards.board.measure import Options
from edgec.boards.connect.connectors import connect
from edgec.boards.deploy.lock import BoardBusy, hold
from edgec.boards.deploy.parcel import Parcel, open_parcel
from edgec.boards.device import Device
from edgec.boards.farm import farm
from edgec.boards.farm.farm import run_farm
from edgec.boards.farm.gates import Gates
from edgec.boards.farm.job import Task, Tell, run_task
from edgec.records.results import Job, Record, read_results
from tests.boards.boards import LIMITS, Board, start_board
from tests.boards.deploying import mark
from tests.conftest import require

SHORT = replace(LIMITS, connect=2, command=10, transfer=3, run=10)
AT_BENCH = 'case "$*" in *--bench*) {} ;; *) exec "$@" ;; esac'  # a program that passes its exam, and then goes wrong


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(farm, "PAUSE", 0.05)


@pytest.fixture
def parcel(package: Callable[..., Path]) -> Parcel:
    return open_parcel(package())


def task(device: Device, parcel: Parcel) -> Task:
    return Task(device, (parcel,), Options(seconds=0.04, runs=4, rounds=2, repeats=0, accept_noise=True), Gates(), None, "a test")


def jobs(records: list[Record]) -> dict[str, Job]:
    return {record.device: record for record in records if isinstance(record, Job)}


def at(words: str, action: Callable[[], object], once: bool = True) -> Callable[[Task, Tell], list[Record]]:
    """run_task, with something that happens when a board called `bad` comes to that step."""
    due = [True]

    def run(task: Task, tell: Tell) -> list[Record]:
        def watch(said: str) -> None:
            if said == words and task.device.name == "bad" and due[0]:
                due[0] = not once
                action()
            tell(said)

        return run_task(task, watch)

    return run


def bad_program(board: Board, script: str, **changes: object) -> Device:
    """The board `bad`, on which this script is put before every program."""
    board.program("bad-program", script)
    return board.device("bad", prefix=("bad-program",), limits=replace(SHORT, **changes))  # type: ignore[arg-type]


SAY = "printf '%s\\n' '{}'"
FAULTS = {
    "crashes": ("kill -SEGV $$", r"killed by signal SIGSEGV"),
    "crashes later": (AT_BENCH.format("kill -SEGV $$"), r"killed by signal SIGSEGV"),
    "is killed": ("kill -KILL $$", r"killed by signal SIGKILL.*out of memory"),
    "says nothing": ("exit 0", r"garbage: it said nothing"),
    "says anything": ("echo hello", r"garbage: its answer is no JSON"),
    "stops in the middle": (SAY.format('{"schema_version": 1, "passed": tr'), r"garbage: its answer is no JSON"),
    "is no number": (AT_BENCH.format(SAY.format('{"schema_version": 1, "min_us": NaN}')), r"garbage: its answer is no JSON"),
    "is infinite": (AT_BENCH.format(SAY.format('{"schema_version": 1, "min_us": 1e999}')), r"garbage: its answer is no JSON"),
    "is too deep": ("head -c 200000 /dev/zero | tr '\\0' '['", r"garbage: its answer is no JSON"),
    "is a list": (SAY.format("[1, 2]"), r"garbage: its answer is not of schema version 1"),
    "has wrong types": (SAY.format('{"schema_version": 1, "vectors": 7, "passed": "yes"}'), r"garbage: vectors has the wrong type"),
    "has wrong times": (AT_BENCH.format(SAY.format('{"schema_version": 1, "min_us": "fast"}')), r"garbage"),
    "lies": ('"$@" | sed \'s/"passed": *true/"passed":false/\'', r"exam failed"),
    "floods": ("yes", r"answers with more than 1048576 bytes"),
    "cannot start": ("exec /nowhere/at/all", r"cannot start|ended with status"),
}


@pytest.fixture(scope="module")
def board_pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Board, Board]]:
    """Two boards for all tests that leave them as they were."""
    require("sshd", "ssh-keygen")
    made = []
    try:
        for name in ("bad", "good"):  # by default sshd turns some of many simultaneous visitors away
            made.append(start_board(tmp_path_factory.mktemp(name) / "board", options="MaxStartups 100"))
        yield made[0], made[1]
    finally:
        for board in made:
            board.stop()


@pytest.fixture(scope="module")
def outcomes(
    board_pair: tuple[Board, Board], package: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Job], Path]:
    """One run on a board where nothing goes wrong, and for each fault on one that has it; and the results file."""
    bad, good = board_pair
    parcel, tasks = open_parcel(package()), []
    for number, (fault, (script, _)) in enumerate(FAULTS.items()):
        bad.program(f"fault{number}", script)
        limits, work = replace(SHORT, run=30, output=2**20), str(bad.work / str(number))
        tasks.append(task(bad.device(fault, prefix=(f"fault{number}",), limits=limits, work=work), parcel))
    tasks.append(task(good.device("good"), parcel))
    path = tmp_path_factory.mktemp("faults") / "results.jsonl"
    return jobs(run_farm(tasks, run_task, results=path)), path


@pytest.mark.parametrize("fault", FAULTS)
def test_a_program_that_fails_is_a_failed_job_in_words(
    fault: str, outcomes: tuple[dict[str, Job], Path], board_pair: tuple[Board, Board]
) -> None:
    job, words = outcomes[0][fault], FAULTS[fault][1]
    assert job.status == "failed"
    assert re.search(words, job.reason, re.DOTALL) and f"{fault}: " in job.reason
    assert not job.attempts and not job.latencies
    assert not mark(board_pair[0].work / str(list(FAULTS).index(fault)))


def test_programs_that_fail_leave_other_boards_alone(outcomes: tuple[dict[str, Job], Path]) -> None:
    found, path = outcomes
    assert (found["good"].status, found["good"].reason) == ("passed", "")
    assert found == jobs(read_results(path)) and set(found) == {"good", *FAULTS}


def test_a_program_that_hangs_is_killed_on_the_board_within_its_time(
    board_pair: tuple[Board, Board], parcel: Parcel, tmp_path: Path
) -> None:
    bad, good = board_pair
    start = time.monotonic()
    tasks = [task(bad_program(bad, "sleep 4321", run=1), parcel), task(good.device("good", limits=SHORT), parcel)]
    found = jobs(run_farm(tasks, run_task, results=tmp_path / "results.jsonl"))
    assert time.monotonic() - start < 30
    assert found["bad"].status == "failed" and "did not end within 1 s, and was killed" in found["bad"].reason
    assert found["good"].status == "passed"
    assert not [words for words in bad.processes() if "4321" in words]


def test_escape_codes_and_html_of_a_board_are_harmless_text(board_pair: tuple[Board, Board], parcel: Parcel, tmp_path: Path) -> None:
    bad, _ = board_pair
    path = tmp_path / "results.jsonl"
    script = r"""printf '\033[31m<script>alert(1)</script>\033]0;owned\007\033[2J\b\r\302\233\n' >&2; exit 3"""
    said: list[str] = []
    found = jobs(run_farm([task(bad_program(bad, script), parcel)], run_task, results=path, tell=said.append))
    assert found["bad"].status == "failed" and "<script>alert(1)</script>" in found["bad"].reason
    for text in (found["bad"].reason, path.read_text(), *said):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]|\\u00[01]", text)
    assert "owned" not in found["bad"].reason


def test_a_board_in_use_by_another_is_busy_and_says_by_whom(board_pair: tuple[Board, Board], parcel: Parcel, tmp_path: Path) -> None:
    bad, good = board_pair
    with hold(connect(bad.device("bad")), "alice@desk"):
        tasks = [task(bad.device("bad"), parcel), task(good.device("good"), parcel)]
        found = jobs(run_farm(tasks, run_task, results=tmp_path / "results.jsonl"))
        assert found["bad"].status == "busy" and "in use by alice@desk" in found["bad"].reason
        assert found["good"].status == "passed"
        assert mark(bad.work)


def test_a_stale_lock_is_taken_over(board_pair: tuple[Board, Board], parcel: Parcel, tmp_path: Path) -> None:
    bad, _ = board_pair
    left = hold(connect(bad.device("bad", limits=replace(SHORT, lock=0.3))), "somebody who died")
    left.__enter__()
    time.sleep(0.5)
    found = jobs(run_farm([task(bad.device("bad"), parcel)], run_task, results=tmp_path / "results.jsonl"))
    assert (found["bad"].status, found["bad"].reason) == ("passed", "")


def test_a_clock_that_jumps_spoils_no_latency_and_frees_no_lock(
    boards: Callable[..., Board], parcel: Parcel, tmp_path: Path, needs: Callable[..., None]
) -> None:
    needs("faketime")
    library = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    clock = tmp_path / "clock"
    clock.write_text("+0d\n")
    fake = {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    board = boards(environment=fake)
    device = board.device("bad", limits=SHORT)

    def year() -> int:
        line = connect(device)
        try:
            return int(line.execute(["date", "+%Y"]).output)
        finally:
            line.close()

    before, seen = year(), []

    def jump() -> None:
        clock.write_text("+4000d\n")
        seen.append(year())
        with pytest.raises(BoardBusy), hold(connect(device), "an opportunist"):
            pass
        Timer(0.1, clock.write_text, ["-4000d\n"]).start()

    start = time.monotonic()
    found = jobs(run_farm([task(device, parcel)], at("measuring", jump), results=tmp_path / "results.jsonl"))
    spent = time.monotonic() - start
    assert seen[0] >= before + 10 and year() <= before - 10  # it did jump, forwards and backwards
    assert (found["bad"].status, found["bad"].reason) == ("passed", "")
    (latency,) = found["bad"].latencies
    assert 0 < latency.min_us <= latency.p50_us <= max(latency.samples_us) < spent * 1e6
    assert 0 < latency.seconds < spent and 0 < latency.cold_us < spent * 1e6
    assert not mark(board.work)


def test_a_board_that_dies_in_mid_run_is_lost_and_the_others_are_not(boards: Callable[..., Board], parcel: Parcel, tmp_path: Path) -> None:
    bad, good = boards(), boards()
    tasks = [task(bad.device("bad", limits=SHORT), parcel), task(good.device("good", limits=SHORT), parcel)]
    path = tmp_path / "results.jsonl"
    found = jobs(run_farm(tasks, at("measuring", bad.stop), results=path, retries=1))
    assert {name: job.status for name, job in found.items()} == {"bad": "unreachable", "good": "passed"}
    assert found["bad"].reason.startswith("bad: ") and "hint: " in found["bad"].reason
    assert len(found["bad"].attempts) == 1
    assert found["good"].latencies and found == jobs(read_results(path))
    bad.start()
    again = jobs(run_farm(tasks, run_task, results=path, resume=True))
    assert {name: job.status for name, job in again.items()} == {"bad": "passed", "good": "passed"}


def test_a_connection_that_is_killed_in_mid_run_is_made_again(board_pair: tuple[Board, Board], parcel: Parcel, tmp_path: Path) -> None:
    bad, _ = board_pair
    run = at("measuring", bad.kill_sessions)
    found = jobs(run_farm([task(bad.device("bad", limits=SHORT), parcel)], run, results=tmp_path / "results.jsonl", retries=1))
    assert (found["bad"].status, found["bad"].reason) == ("passed", "")
    (attempt,) = found["bad"].attempts
    assert attempt.reason.startswith("bad: ")
    assert not mark(bad.work)  # the one that the first try had to leave there, too


@pytest.mark.parametrize("when", ["connecting", pytest.param("measuring", marks=pytest.mark.thorough)])
def test_a_board_that_falls_silent_is_lost_within_its_time(
    when: str, namespace_board: Board, board_pair: tuple[Board, Board], parcel: Parcel, tmp_path: Path
) -> None:
    assert namespace_board.namespace is not None
    limits = replace(SHORT, connect=1, command=1, run=1)
    names = {"bad": namespace_board, "good": board_pair[0], "fine": board_pair[1]}
    tasks = [task(board.device(name, limits=limits if name == "bad" else SHORT), parcel) for name, board in names.items()]
    start = time.monotonic()
    found = jobs(run_farm(tasks, at(when, namespace_board.namespace.cut), results=tmp_path / "results.jsonl", retries=0))
    assert time.monotonic() - start < 30
    assert {name: job.status for name, job in found.items()} == {"bad": "unreachable", "good": "passed", "fine": "passed"}
    assert found["bad"].reason.startswith("bad: ") and "hint: " in found["bad"].reason
