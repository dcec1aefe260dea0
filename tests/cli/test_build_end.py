"""What a build says while it works, and where it leaves its user."""

from __future__ import annotations

import shlex

from edgec.cli.progress import STAGES
from tests.cli.conftest import QUICK, Program


def test_a_build_says_how_fast_the_package_is_and_what_comes_next(program: Program) -> None:
    done = program("build", *QUICK, "--calib", "calibration.npz", "digits.onnx", "-o", "out")
    assert done.code == 0, done.err
    told = [line.partition("] ")[2] for line in done.err.splitlines() if line.startswith("[")]
    assert set(told) <= set(STAGES) and told[-2:] == ["compiling", "examining"]
    assert " us on this machine: median, one thread, portable" in done.out and "SQNR" in done.out
    last = done.out.splitlines()[-1]
    assert last.startswith("next: edgec compare digits.onnx out --data ")
    following = program(*shlex.split(last)[2:])
    assert following.code == 0 and "agreement" in following.out


def test_what_was_not_compiled_has_no_latency_and_json_no_progress(program: Program) -> None:
    done = program("build", "--precision", "fp32", "--no-compile", "digits.onnx", "-o", "out", "--json")
    assert done.json["next"] == "edgec inspect out" and "latency_us" not in done.json and "] lowering" not in done.err
    assert program(*shlex.split(done.json["next"])[1:]).code == 0
