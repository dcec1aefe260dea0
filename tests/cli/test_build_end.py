"""What a build says while it works, and where it leaves its user."""

from __future__ import annotations

import shlex

import pytest

from edgec.cli.main import main
from edgec.cli.progress import STAGES
from edgec.settings.config import FLAGS, BuildConfig
from edgec.targets import all_targets
from tests.calling import QUICK, Program

pytestmark = pytest.mark.usefixtures("kept_builds")

FAST = ("--effort", "fast", "--samples", "8")


def test_a_build_says_how_fast_the_package_is_and_what_comes_next(program: Program) -> None:
    done = program("build", *QUICK, *FAST, "--calib", "calibration.npz", "digits.onnx", "-o", "out")
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


def test_each_flag_of_a_build_has_a_group_and_its_default(capsys: pytest.CaptureFixture[str]) -> None:
    for name, setting in FLAGS.items():
        value = getattr(BuildConfig, name, None)
        assert setting.group and setting.default, name
        assert not isinstance(value, str | int) or isinstance(value, bool) or name == "gpu" or setting.default == str(value), name
    with pytest.raises(SystemExit):
        main(["build", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    for name in (name for name in FLAGS if name != "key"):
        assert f"({FLAGS[name].default})" in text and f"{FLAGS[name].group}:" in text, name


def test_targets_fit_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    main(["targets"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80 and len(lines) < 3 * len(all_targets())
