"""A whole job on a real board: what becomes of it when all is well, and of each thing that is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgec.boards.board.measure import Options
from edgec.boards.board.validity import noisy
from edgec.boards.connect.connectors import connect
from edgec.boards.deploy.delivery import deployed
from edgec.boards.deploy.lock import hold
from edgec.boards.deploy.parcel import Parcel, open_parcel
from edgec.boards.device import Device, Limits
from edgec.boards.farm.gates import Gates
from edgec.boards.farm.job import Task, run_task
from edgec.records.results import Job, PackageFacts, Record, State, Versus, from_line, to_line
from tests.boards.boards import Board
from tests.boards.deploying import scripted, scripted_where
from tests.boards.test_gates import LATENCY

QUICK = Options(seconds=0.04, runs=20, rounds=2, repeats=1, pause=0.1, accept_noise=True)
# a supply whose voltage is too low until the firmware has been asked three times: for the facts, before and after the first measurement
THROTTLES_AT_FIRST = """
[ "$1" = get_throttled ] || exit 1
echo again >> ~/asked
[ "$(wc -l < ~/asked)" -le 3 ] && echo throttled=0x1 || echo throttled=0x0
"""


@pytest.fixture
def parcel(package: Callable[..., Path]) -> Parcel:
    return open_parcel(package())


def here(folder: Path, **facts: Any) -> Device:
    return Device("here", "host", "local", work=str(folder / "work"), **facts)


def run(device: Device, *parcels: Parcel, **facts: Any) -> list[Record]:
    """Every record survives its way through a results file."""
    known = {"options": QUICK, "gates": Gates(), "judge": None} | facts
    records = run_task(Task(device, parcels, owner="a test", **known))
    assert [from_line(to_line(record)) for record in records] == records
    return records


def jobs(records: list[Record]) -> list[Job]:
    return [record for record in records if isinstance(record, Job)]


def broken(parcel: Parcel, script: str, letter: str = "f") -> Parcel:
    """The same package with a script as its exam program, under another name."""
    return scripted(replace(parcel, facts=replace(parcel.facts, sha256=letter * 64)), script)


def takes(parcel: Parcel, folder: Path, us: int) -> Parcel:
    """The same package, of which every run takes just so long, whatever else the machine does."""
    times = dict.fromkeys(("min_us", "mean_us", "p50_us", "cold_us"), us)
    told = {"schema_version": 1, "isa": "avx2", "runs": 10, "seconds": 0.1, "std_us": 0, "rss_bytes": 4096, "samples_us": [us], **times}
    return scripted_where(parcel, "--bench", f"echo '{json.dumps({**told, 'frequencies_khz': []})}'", folder)


def test_a_package_that_is_right_passes_with_all_its_figures(tmp_path: Path, parcel: Parcel) -> None:
    said: list[str] = []
    task = Task(here(tmp_path), (parcel,), replace(QUICK, profile=True, threads=(1, 2)), Gates(max_latency_us=1e6), None, "a test")
    facts, job = run_task(task, said.append)
    assert isinstance(facts, PackageFacts) and isinstance(job, Job)
    assert (job.status, job.reason, job.package, job.device) == ("passed", "", facts.sha256, "here")
    assert job.exam is not None and job.exam.passed and job.exam.exact
    assert [one.threads for one in job.latencies] == [1, 2]
    assert all(
        0 < one.min_us <= one.p50_us <= one.p90_us <= one.p99_us and one.low_us <= one.p50_us <= one.high_us for one in job.latencies
    )
    assert all(one.runs >= 20 and one.rounds == 2 and one.rss_bytes > facts.arena_bytes for one in job.latencies)
    assert [one.layer for one in job.profile] == list(range(len(facts.layers)))
    assert all(len(one.rounds_us) == 2 and min(one.rounds_us) <= one.us <= max(one.rounds_us) for one in job.profile)
    assert job.board and "processor" in job.board and job.before and job.after
    assert 0 < job.locked_from < job.locked_to
    assert [gate.passed for gate in job.gates] == [True]
    assert said[0] == "connecting" and "measuring" in said


def test_threads_are_swept_up_to_the_cores_that_are_pinned(tmp_path: Path, parcel: Parcel) -> None:
    (job,) = jobs(run(here(tmp_path, cores=(0, 1)), parcel, options=replace(QUICK, threads=())))
    assert [(one.threads, one.cores) for one in job.latencies] == [(1, (0, 1)), (2, (0, 1))]


def test_packages_are_compared_with_the_first(tmp_path: Path, parcel: Parcel, package: Callable[..., Path]) -> None:
    records = run(here(tmp_path), parcel, open_parcel(package(precision="fp32")))
    (versus,) = [record for record in records if isinstance(record, Versus)]
    one, other = jobs(records)
    assert (one.status, other.status) == ("passed", "passed")
    assert (versus.base, versus.package, versus.rounds) == (one.package, other.package, 2)
    assert versus.low <= versus.ratio <= versus.high
    assert versus.ratio == pytest.approx(other.latencies[0].p50_us / one.latencies[0].p50_us, rel=0.5)


def test_three_packages_of_one_name_are_measured_side_by_side(tmp_path: Path, parcel: Parcel, package: Callable[..., Path]) -> None:
    real = tmp_path / "real_exam"
    real.write_bytes(parcel.files[parcel.program])
    real.chmod(0o755)
    third = broken(parcel, f'exec {real} "$@"')
    device = here(tmp_path)
    records = run(device, parcel, open_parcel(package(precision="fp32")), third)
    assert [job.status for job in jobs(records)] == ["passed"] * 3
    assert [record.package for record in records if isinstance(record, Versus)] == [job.package for job in jobs(records)[1:]]
    assert deployed(connect(device)) == {parcel.facts.name: parcel.version}, "the first one is in use at the end"


def test_a_promise_that_is_broken_fails_the_job_with_its_figures(tmp_path: Path, parcel: Parcel) -> None:
    (job,) = jobs(run(here(tmp_path), parcel, gates=Gates(max_latency_us=0.001)))
    assert job.status == "failed" and not job.gates[0].passed
    assert job.reason.startswith("here: p50 latency is ") and "promised at most 0.001 us" in job.reason


def test_wrong_answers_fail_one_package_and_leave_the_other(tmp_path: Path, parcel: Parcel) -> None:
    output = f'{{"exact": true, "passed": false, "difference": 1, "sha256": "{"0" * 64}"}}'
    said = f'{{"schema_version": 1, "vectors": [{{"index": 0, "outputs": [{output}], "passed": false}}], "weights_passed": true, '
    wrong = broken(parcel, f'echo \'{said} "isa": "avx2", "threads": 1, "passed": false}}\'; exit 1')
    bad, good = jobs(run(here(tmp_path), wrong, parcel))
    assert (bad.status, good.status) == ("failed", "passed")
    assert bad.exam is not None and not bad.exam.passed and not bad.latencies
    assert bad.reason.startswith("here: the exam failed")
    assert good.latencies


def test_a_package_that_crashes_in_its_measurement_fails_with_its_exam(tmp_path: Path, parcel: Parcel) -> None:
    real = tmp_path / "real_exam"
    real.write_bytes(parcel.files[parcel.program])
    real.chmod(0o755)
    crashes = broken(parcel, f'case "$*" in *--bench*) kill -SEGV $$;; *) exec {real} "$@";; esac')
    (job,) = jobs(run(here(tmp_path), crashes))
    assert job.status == "failed" and job.exam is not None and job.exam.passed
    assert "here" in job.reason and "SIGSEGV" in job.reason


def test_a_package_for_another_processor_is_refused_before_it_is_sent(tmp_path: Path, parcel: Parcel) -> None:
    (job,) = jobs(run(here(tmp_path), replace(parcel, arch="riscv64")))
    assert job.status == "refused" and job.board and not job.locked_from
    assert "here" in job.reason and "riscv64" in job.reason
    assert not (tmp_path / "work" / parcel.facts.name).exists()


def test_a_board_in_use_is_busy_and_says_who_has_it(tmp_path: Path, parcel: Parcel) -> None:
    device = here(tmp_path)
    with hold(connect(device), "Ada, until noon"):
        (job,) = jobs(run(device, parcel))
    assert job.status == "busy" and "here" in job.reason and "Ada, until noon" in job.reason
    assert jobs(run(device, parcel))[0].status == "passed"


def test_a_board_that_does_not_answer_is_lost(tmp_path: Path, parcel: Parcel, boards: Callable[..., Board]) -> None:
    board = boards()
    device = board.device("shelf", limits=Limits(connect=2))
    board.stop()
    (job,) = jobs(run(device, parcel))
    assert job.status == "unreachable" and "shelf" in job.reason and job.exam is None


def test_a_board_that_is_cut_off_while_it_measures_is_lost_with_its_exam_kept(
    parcel: Parcel, board: Board, package: Callable[..., Path]
) -> None:
    def cut(words: str) -> None:
        if words.startswith("measuring"):
            board.kill_sessions()

    other = open_parcel(package(precision="fp32"))
    records = run_task(Task(board.device("shelf"), (parcel, other), QUICK, Gates(), None, "a test"), cut)
    assert [(job.status, job.exam is not None, job.latencies) for job in jobs(records)] == [("unreachable", True, ())] * 2
    assert all("shelf" in job.reason for job in jobs(records))


def test_a_measurement_that_the_board_throttled_is_repeated(parcel: Parcel, board: Board) -> None:
    board.program("vcgencmd", THROTTLES_AT_FIRST)
    (job,) = jobs(run(board.device("pi"), parcel, options=replace(QUICK, repeats=3)))
    assert job.status == "passed" and job.latencies
    assert [one.reason for one in job.attempts] == ["the board throttled: under-voltage"]
    assert job.after is not None and job.after.throttled == ()


def test_a_board_that_always_throttles_leaves_promises_undecided_unless_noise_is_accepted(
    tmp_path: Path, parcel: Parcel, board: Board
) -> None:
    board.program("vcgencmd", "echo throttled=0x4")
    strict, promise = replace(QUICK, accept_noise=False), Gates(max_latency_us=60.0)
    steady = takes(parcel, tmp_path, 100)
    (job,) = jobs(run(board.device("pi"), steady, gates=promise, options=strict))
    assert job.status == "unsteady" and len(job.attempts) == 2 and not job.steady and not job.kept
    assert job.reason.startswith("pi: the board throttled: throttled, 2 times")
    assert job.latencies and [(gate.passed, gate.undecided) for gate in job.gates] == [(False, True)]
    (kept,) = jobs(run(board.device("pi"), steady, gates=Gates(max_latency_us=1000.0), options=replace(strict, repeats=0)))
    assert (kept.status, kept.kept, kept.steady, kept.gates[0].passed) == ("unsteady", True, False, True), "whatever slowed it"
    (judged,) = jobs(run(board.device("pi"), steady, gates=promise, options=replace(QUICK, repeats=0)))
    assert judged.status == "failed" and not judged.gates[0].undecided and judged.noise.startswith("the board throttled") and judged.steady


def test_figures_that_scatter_or_a_busy_board_leave_a_speed_unknown() -> None:
    sharp = replace(LATENCY, p50_us=100.0, low_us=90.0, high_us=110.0)
    assert noisy(State(load=0.4), 1, [sharp]) == "" and noisy(State(load=None), 1, [sharp]) == ""
    assert noisy(State(load=2.9), 4, [sharp]) == "", "there are cores enough for both"
    assert noisy(State(load=3.1), 4, [sharp]) == "the board is busy with something else: a load of 3.10 on 4 cores"
    wide = replace(sharp, high_us=111.0)
    assert noisy(State(), 4, [wide]) == "the 95 % interval of the median is 21% of it wide, more than 20%"
    assert noisy(State(), 4, [sharp, replace(wide, p50_us=120.0, high_us=300.0)]) == "", "the fastest way counts"
