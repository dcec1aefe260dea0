"""A results file loses nothing that was known, whatever ended the run that wrote it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from edgec.base.errors import UsageError
from edgec.boards.farm.journal import Journal, done, latest
from edgec.records.results import Gate, Job, Versus, from_line, read_results, to_line
from tests.boards.tasks import PACKAGE, job


def test_records_are_on_the_disk_as_soon_as_they_are_added(tmp_path: Path) -> None:
    path = tmp_path / "new folder/results.jsonl"
    with Journal(path) as journal:
        journal.add([PACKAGE, job("pi4")])
        assert read_results(path) == [PACKAGE, job("pi4")]
        journal.add([PACKAGE, job("pi5")])
    assert read_results(path) == [PACKAGE, job("pi4"), job("pi5")]


def test_a_killed_writer_leaves_all_that_it_added(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    program = f"""
import os, signal
from pathlib import Path
from edgec.boards.farm.journal import Journal
from tests.boards.tasks import PACKAGE, job
journal = Journal(Path({str(path)!r}))
journal.add([PACKAGE, job("pi4")])
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False, cwd=Path(__file__).parents[2]).returncode == -9
    assert read_results(path) == [PACKAGE, job("pi4")]


def test_several_threads_write_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with Journal(path) as journal:
        threads = [Thread(target=lambda n=n: [journal.add([PACKAGE, job(f"{n}-{i}")]) for i in range(20)]) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    records = read_results(path)
    assert records.count(PACKAGE) == 1
    assert {record.device for record in records if record != PACKAGE} == {f"{n}-{i}" for n in range(4) for i in range(20)}


def test_results_that_are_there_are_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with Journal(path) as journal:
        journal.add([PACKAGE])
    with pytest.raises(UsageError, match=r"exists already.*--resume"):
        Journal(path)
    assert read_results(path) == [PACKAGE]


def test_an_empty_file_or_none_can_be_resumed(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    for _ in range(2):
        with Journal(path, resume=True) as journal:
            assert journal.records == []
    with Journal(path) as journal:
        journal.add([PACKAGE])
    assert read_results(path) == [PACKAGE]


@pytest.mark.parametrize("cut", [1, 40, 200])
def test_a_cut_last_line_is_taken_away_and_its_job_is_not_done(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "results.jsonl"
    lines = [to_line(record) for record in (PACKAGE, job("pi4"), job("pi5"))]
    path.write_text("\n".join([*lines[:2], lines[2][:cut]]))
    with Journal(path, resume=True) as journal:
        assert done(journal.records) == {("pi4", PACKAGE.sha256)}
        journal.add([job("pi5")])
    assert path.read_text() == "".join(f"{line}\n" for line in lines)


def test_a_last_line_that_lacks_its_end_alone_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("\n".join(to_line(record) for record in (PACKAGE, job("pi4"))))
    with Journal(path, resume=True) as journal:
        journal.add([job("pi5")])
    assert read_results(path) == [PACKAGE, job("pi4"), job("pi5")]


def test_zeros_that_a_power_cut_left_are_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(to_line(PACKAGE).encode() + b"\n" + b"\0" * 100)
    with Journal(path, resume=True) as journal:
        journal.add([job("pi5")])
    assert read_results(path) == [PACKAGE, job("pi5")]


def test_a_file_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my diary\nday one")
    with pytest.raises(UsageError, match="not a results file"):
        Journal(path, resume=True)
    assert path.read_text() == "my diary\nday one"


def test_two_runs_do_not_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with Journal(path), pytest.raises(UsageError, match="another run is writing it"):
        Journal(path, resume=True)
    Journal(path, resume=True).close()


def test_a_folder_in_place_of_the_file_is_an_error_in_words(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Is a directory.*give another -o"):
        Journal(tmp_path)


def test_a_full_disk_leaves_whole_lines(tmp_path: Path) -> None:
    program = f"""
import resource, signal
from pathlib import Path
from edgec.boards.farm.journal import Journal
from edgec.base.errors import UsageError
from tests.boards.tasks import PACKAGE, job
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
journal = Journal(Path({str(tmp_path / "results.jsonl")!r}))
try:
    for number in range(100):
        journal.add([PACKAGE, job(str(number))])
except UsageError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert "cannot write: File too large" in done.stdout and "--resume" in done.stdout
    text = (tmp_path / "results.jsonl").read_text()
    assert text.endswith("}\n") and len(text) <= 2000
    assert read_results(tmp_path / "results.jsonl")[:2] == [PACKAGE, job("0")]


def test_only_verdicts_are_done() -> None:
    records = [job(status, status) for status in ("passed", "failed", "unsteady", "refused", "busy", "unreachable")]
    assert done(records) == {("passed", PACKAGE.sha256), ("failed", PACKAGE.sha256)}
    undecided = Gate("p50 latency", "at most 1 us", "undecided: 2 us", passed=False, undecided=True)
    assert not done([replace(records[1], gates=(undecided,))]), "one promise is broken, and another waits for a steady board"


def test_words_of_before_for_a_status_are_read() -> None:
    lost, invalid = (from_line(to_line(job("pi4", status, "why"))) for status in ("lost", "invalid"))
    assert isinstance(lost, Job) and isinstance(invalid, Job)
    assert (lost.status, lost.noise) == ("unreachable", "")
    assert (invalid.status, invalid.noise, invalid.steady) == ("unsteady", "why", False)


@pytest.mark.parametrize(
    "line",
    [
        '{"schema_version": 1, "kind": ["job"]}',
        '{"schema_version": 1, "kind": {}}',
        '{"schema_version": [1], "kind": "job"}',
        to_line(Versus("pi4", "a", "b", 7.0, 1.0, 1.0, 3)).replace("7.0", f"1{'0' * 400}"),
        to_line(job("pi4", "invalid")).replace('"reason": ""', '"reason": 1'),
        to_line(job("pi4", "gone")),
    ],
)
def test_what_is_no_record_is_said_in_words(line: str) -> None:
    with pytest.raises(ValueError, match=r"not a record|finite number|reason must be str|unknown status"):
        from_line(line)


def test_the_last_run_of_a_job_counts() -> None:
    assert done([job("pi4"), job("pi4", "unreachable")]) == frozenset()
    assert done([job("pi4", "unreachable"), job("pi4")]) == {("pi4", PACKAGE.sha256)}


def test_the_latest_records_have_each_job_once() -> None:
    other = replace(PACKAGE, sha256="c" * 64)
    older, newer = (Versus("pi4", PACKAGE.sha256, other.sha256, ratio, 0.9, 1.1, 5) for ratio in (1.0, 1.05))
    lost, passed = job("pi4", "unreachable", "cut"), job("pi4")
    assert latest([PACKAGE, lost, older, other, job("pi5"), passed, newer]) == [PACKAGE, other, job("pi5"), passed, newer]
