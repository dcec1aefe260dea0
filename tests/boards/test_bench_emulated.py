"""The whole of `edgec bench` on a board of another processor: 32-bit ARM, emulated, behind a real sshd; from the model to the exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgec.boards.device import Device
from edgec.cli.main import main
from edgec.records.results import packages_of, read_results
from tests.boards.benches import jobs
from tests.boards.boards import Board
from tests.boards.deploying import mark
from tests.boards.inventories import keep
from tests.calling import Program
from tests.conftest import require

FOREIGN = ("qemu-arm", "-L", "/usr/arm-linux-gnueabihf")


@pytest.fixture
def pi(board: Board, bench: Program) -> Device:
    """In the inventory of the current folder, alone."""
    require("qemu-arm", "arm-linux-gnueabihf-gcc")
    device = board.device("pi", target="rpi-32bit", prefix=FOREIGN)
    keep(device)
    return device


def test_from_the_model_to_the_report(bench: Program, pi: Device, board: Board) -> None:
    """Built for the board, brought there, examined, measured, judged by a data set, told in the report; and every promise decides."""
    judged = ("--data", "evaluation.npz", "--labels", "labels", "--samples", 20, "--min-agreement", "90%", "--min-top1", 0.9)
    words = ("digits.onnx", "--calib", "calibration.npz", "--effort", "fast", "--device", "pi", *judged, "--max-rss", "1GB", "--profile")
    done = bench(*words, "--max-latency", "100s", "-o", "out")
    assert done.code == 0, done.err
    assert (board.folder / "sshd.log").read_text().count("Accepted ") == 1, "one session for all of it"
    (job,) = jobs("out")
    assert (job.status, job.device, job.target) == ("passed", "pi", "rpi-32bit") and job.exam is not None
    assert job.exam.passed and job.exam.exact and job.exam.isa == "neon32"
    assert job.accuracy is not None and job.accuracy.samples == 20 and job.latencies[0].runs >= 10 and job.profile
    assert [gate.passed for gate in job.gates] == [True] * 4 and done.out.count("kept") == 4
    work = Path(pi.work)
    assert (work / "digits/current").exists() and not mark(work)
    (built,) = packages_of(read_results(Path("out/results.jsonl"))).values()
    assert built.target == "rpi-32bit" and "pi" in Path("out/report.html").read_text(encoding="utf-8")
    assert main(["report", "out/results.jsonl", "-o", "summary.md"]) == 0 and "rpi-32bit" in Path("summary.md").read_text(encoding="utf-8")
    broken = bench("out/packages/digits-rpi-32bit-int8", "--device", "pi", "--max-latency", "1ns", "-o", "broken")
    assert broken.code == 1 and "BROKEN" in broken.out and "failed: pi: p50 latency is" in broken.err


def test_its_own_troubles_are_none_of_the_model(bench: Program, pi: Device, board: Board) -> None:
    """A processor that cannot run the package, another host key, a line that leads nowhere: exit code 5, and which it was."""
    keep(pi, board.device("wrong", target="rpi4"))
    words = ("digits.onnx", "--effort", "fast", "--retries", 0, "--max-latency", "100s", "-o")
    assert bench(*words, "first", "--device", "wrong").code == 5 and jobs("first")[0].status == "refused"
    board.new_host_key()
    done = bench(*words, "second", "--device", "pi")
    assert done.code == 5 and jobs("second")[0].status == "refused" and "host key" in done.err
    board.trust()
    board.stop()
    done = bench(*words, "third", "--device", "pi")
    assert done.code == 5 and jobs("third")[0].status == "unreachable" and "unreachable: pi" in done.err
