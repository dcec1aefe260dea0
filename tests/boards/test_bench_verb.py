"""`edgec bench`: as users call it, on this machine and on a real board beside it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import edgec
from edgec.boards.board.measure import sweep
from edgec.boards.device import Device, Limits
from edgec.cli.main import main
from edgec.records.results import Job, read_results
from tests.boards.benches import QUICK, jobs
from tests.boards.boards import Board
from tests.boards.conftest import DIGITS
from tests.boards.deploying import mark
from tests.boards.inventories import keep
from tests.calling import Program


def test_a_model_is_benched_on_this_machine_without_any_set_up(bench: Program) -> None:
    done = bench("digits.onnx", "--all")
    assert done.code == 0, done.err
    (job,) = jobs("bench-digits")
    assert (job.status, job.device) == ("passed", "local") and job.latencies[0].runs >= 10
    assert "local" in done.out and "p50" in done.out and "passed" in done.out and "bench-digits/report.html" in done.out
    assert "give --calib DATA for int8" in done.err
    page = Path("bench-digits/report.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>") and "digits" in page
    assert Path("bench-digits/packages/digits-host-fp32/manifest.json").is_file()


def test_settings_that_boards_decide_are_not_told(bench: Program) -> None:
    Path("edgec.toml").write_text('[build]\ntarget = "rpi4"\nout = "elsewhere"\neffort = "fast"\ncalib = "calibration.npz"\n')
    done = bench("digits.onnx", "--device", "local", "-o", "out")
    assert done.code == 0 and jobs("out")[0].target == "host" and not Path("elsewhere").exists()
    assert "calibration.npz" in done.err and "rpi4" not in done.err and "None" not in done.err


def test_a_second_bench_leaves_the_first_alone_and_a_resumed_one_has_nothing_to_do(bench: Program, package: Callable[..., Path]) -> None:
    shutil.copytree(package(), "digits")
    assert [bench("digits").code, bench("digits").code] == [0, 0]
    first, second = jobs("bench-digits"), jobs("bench-digits-2")
    assert (len(first), len(second)) == (1, 1)
    assert bench("digits", "--resume").code == 0
    assert jobs("bench-digits-2") == second and not Path("bench-digits-3").exists()
    again = bench("digits", "--out", "bench-digits")
    assert again.code == 2 and "--resume" in again.err


def test_the_fastest_number_of_threads_is_picked_by_measurement(bench: Program, package: Callable[..., Path]) -> None:
    done = bench(package(), "--threads", "auto", "-o", "auto")
    cores = os.cpu_count() or 1
    assert done.code == 0 and [one.threads for one in jobs("auto")[0].latencies] == list(sweep(cores)), done.err
    assert ("fastest" in done.out) == (cores > 1), "of one there is nothing to pick"
    (job,) = bench(package(), "--threads", "1,2", "--json", "-o", "two").json["jobs"]
    least = min(job["latencies"], key=lambda latency: latency["p50_us"])
    assert len(job["latencies"]) == 2 and job["fastest"] == {"threads": least["threads"], "gpu": ""}


def test_int8_and_float_side_by_side_judged_by_a_data_set(bench: Program, package: Callable[..., Path]) -> None:
    done = bench(
        package(precision="fp32"), package(), "--model", "digits.onnx", "--data", "evaluation.npz", "--labels", "labels", "--samples", 30,
        "--min-agreement", "90%", "--min-top1", 0.9, "--max-latency", "1s", "--max-rss", "1GB", "--profile", "--json", "-o", "ab",
    )  # fmt: skip
    assert done.code == 0, done.err
    found = done.json
    assert [job["status"] for job in found["jobs"]] == ["passed", "passed"]
    assert all(job["accuracy"]["samples"] == 30 and len(job["gates"]) == 4 and job["profile"] for job in found["jobs"])
    (versus,) = found["versus"]
    assert versus["low"] <= versus["ratio"] <= versus["high"]
    assert "samples_us" not in found["jobs"][0]["latencies"][0] and jobs("ab")[0].latencies[0].samples_us


def test_a_broken_promise_ends_with_1_and_its_reason(bench: Program, package: Callable[..., Path]) -> None:
    done = bench(package(), "--max-latency", "1ns", "-o", "out")
    assert done.code == 1
    assert (
        "error: 1 job did not pass" in done.err and "failed: local: p50 latency is" in done.err and "promised at most 0.001 us" in done.err
    )
    assert "BROKEN" in done.out and Path("out/report.html").is_file()
    assert bench(package(), "--max-latency", "1ns", "-o", "out2", "--json").json["exit_code"] == 1


def test_speed_is_compared_with_earlier_results(bench: Program, package: Callable[..., Path]) -> None:
    assert bench(package(), "-o", "before").code == 0
    path = Path("before/results.jsonl")
    facts, job = [json.loads(line) for line in path.read_text().splitlines()]
    for factor, code in ((100.0, 0), (0.01, 1)):
        job["latencies"][0]["medians_us"] = [factor * us for us in jobs("before")[0].latencies[0].medians_us]
        Path("other.jsonl").write_text(f"{json.dumps(facts)}\n{json.dumps(job)}\n")
        done = bench(package(), "--faster-than", "other.jsonl", "-o", f"after-{code}")
        assert done.code == code and "95 % interval" in done.out


def test_a_lost_board_ends_with_5_and_the_others_have_their_results(bench: Program, package: Callable[..., Path], board: Board) -> None:
    dead = replace(board.device("dead", limits=Limits(connect=2)), port=board.port + 1 if board.port < 65535 else 1)
    keep(Device("here", "host", "local", work="work"), board.device("shelf"), dead)
    done = bench(package(), "--all", "--retries", "0", "-o", "out")
    assert done.code == 5
    assert {job.device: job.status for job in jobs("out")} == {"here": "passed", "shelf": "passed", "dead": "unreachable"}
    assert "unreachable: dead" in done.err
    worse = bench(package(), "--all", "--retries", "0", "-o", "out2", "--max-latency", "1ns")
    assert worse.code == 1, "a broken promise weighs more than a board that is gone"


def test_a_full_disk_is_the_boards_and_says_so(walls: None, bench: Program, package: Callable[..., Path], board: Board) -> None:
    board.work.mkdir(exist_ok=True)
    board.mount(board.work, "size=64k")
    keep(board.device("shelf"))
    done = bench(package(), "--max-latency", "100s", "-o", "out")
    (job,) = jobs("out")
    assert done.code == 5 and job.status == "refused" and "disk" in job.reason and not job.gates, done.err


def test_whoever_ends_reading_ends_the_bench(bench: Program, package: Callable[..., Path]) -> None:
    """The board is let go, and nothing is said of the package."""
    words = shlex.join([sys.executable, "-m", "edgec.cli.main", "bench", str(package()), *QUICK, "--device", "local", "-o", "out"])
    keep(Device("local", "host", "local", work="work"))
    environment = {**os.environ, "PYTHONPATH": str(DIGITS.parents[1])}
    ended = subprocess.run(
        ["bash", "-c", f"{words} 2>&1 | head -1; exit ${{PIPESTATUS[0]}}"], env=environment, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 141 and ended.stdout == "local: connecting\n" and not ended.stderr, ended
    assert not jobs("out") and not mark(Path("work"))


def test_entries_that_are_one_board_take_turns(bench: Program, package: Callable[..., Path]) -> None:
    """They share its lock; neither finds the other's bench in its way."""
    keep(*(Device(name, "host", "emulated", prefix=("env",), work="work") for name in ("one", "two", "three")))
    assert bench(package(), "--all", "-o", "out").code == 0
    spans = sorted((job.locked_from, job.locked_to) for job in jobs("out"))
    assert len(spans) == 3 and all(before[1] <= after[0] for before, after in pairwise(spans))


def test_a_package_for_another_processor_is_refused(bench: Program, package: Callable[..., Path]) -> None:
    done = bench(package("linux-arm64"), "-o", "out")
    (job,) = jobs("out")
    assert done.code == 5 and job.status == "refused" and "aarch64" in job.reason


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--min-agreement", "0.9"], ["--data", "a promise about answers needs a data set"]),
        (["--labels", "labels"], ["labels without a data set"]),
        (["--data", "evaluation.npz", "--min-top1", "0.5"], ["a promise about top-1 needs labels"]),
        (["--max-latency", "20"], ["write it as 20ms"]),
        (["--faster-than", "none.jsonl"], ["none.jsonl", "cannot read"]),
        (["--threads", "1,x"], ["--threads", "1,2,4"]),
        (["--threads", "0"], ["--threads"]),
        (["--rounds", "1"], ["an interval needs"]),
        (["--device", "locl"], ["did you mean 'local'"]),
        (["--isa", "neon"], ["no vocabulary 'neon'"]),
        (["--precision", "int8"], ["--calib"]),
        (["--data", "none.npz"], ["none.npz"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_what_cannot_be_benched_is_said_before_any_work(bench: Program, arguments: list[str], words: list[str]) -> None:
    done = bench("digits.onnx", "-o", "out", *arguments)
    assert done.code == 2 and all(word in done.err for word in words), done.err
    assert not Path("out").exists() and not Path(".cache").exists()


def test_a_baseline_without_the_chosen_boards_is_said_before_any_work(bench: Program, package: Callable[..., Path]) -> None:
    assert bench(package(), "-o", "before").code == 0
    keep(Device("attic", "host", "local", work="work"))
    done = bench(package(), "--faster-than", "before/results.jsonl", "-o", "after")
    assert done.code == 2 and "no steady measurement of attic" in done.err and not Path("after").exists()


def test_a_package_needs_its_model_to_be_judged_and_must_be_another_one_to_be_compared(
    bench: Program, package: Callable[..., Path]
) -> None:
    done = bench(package(), "--data", "evaluation.npz", "-o", "out")
    assert done.code == 2 and "--model" in done.err
    twice = bench(package(), package(), "-o", "out")
    assert twice.code == 2 and "the same package twice" in twice.err


def test_the_python_function_gives_the_same_records(bench: Program, package: Callable[..., Path]) -> None:
    found = edgec.bench(package(), out="out", seconds=0.04, runs=10, rounds=2, threads=[1], max_latency=0.001, accept_noise=True)
    assert found.exit_code == 1 and [job.status for job in found.failures] == ["failed"]
    assert list(found.records) == read_results(found.results) and found.report.is_file()
    assert found.packages[found.jobs[0].package].name == "digits"


def test_an_unsteady_speed_is_a_warning_and_a_promise_about_it_undecided(
    bench: Program, package: Callable[..., Path], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No interval is narrow enough. Promised are about what the package takes, and times far from that."""
    monkeypatch.setattr("edgec.boards.board.validity.WIDEST", -1.0)
    strict = ["bench", str(package()), *QUICK[:-1], "-o"]

    def benched(folder: str, *promise: str) -> tuple[int, Job, str]:
        code = main([*strict, folder, *promise])
        *_, job = jobs(folder)
        said = capfd.readouterr()
        assert job.noise and f"warning: local: {job.noise}" in said.err
        return code, job, said.err + said.out

    code, plain, said = benched("plain")
    assert (code, plain.status) == (0, "unsteady") and "--accept-noise" not in said, "nobody asked about its speed"
    near = f"{plain.latencies[0].high_us}us"
    code, job, said = benched("near", "--max-latency", near)
    assert code == 1 and job.undecided and "undecided" in said and "--accept-noise" in said
    code, job, _ = benched("near", "--resume", "--max-latency", "100s")
    assert (code, job.kept, job.gates[0].passed) == (0, True, True), "the undecided promise was tried again, and one is kept by far"
    code, job, said = benched("far", "--max-latency", "1ns")
    assert (code, job.status, job.gates[0].undecided) == (1, "failed", False) and "promised at most 0.001 us" in said
    code, job, _ = benched("accepted", "--max-latency", "100s", "--accept-noise")
    assert (code, job.status, job.steady) == (0, "passed", True)
