"""What `edgec init` writes is valid: it is built with, and the workflow's commands run."""

from __future__ import annotations

import shlex
from pathlib import Path

import yaml

from edgec.cli.verbs import parse
from tests.cli.conftest import Program

WORKFLOW = Path(".github/workflows/edgec.yml")


def test_a_project_begins_with_files_that_work(program: Program) -> None:
    done = program("init", "digits.onnx", "--data", "calibration.npz")
    assert done.code == 0 and done.out.splitlines()[-1] == "next: edgec build digits.onnx", done.err
    steps = yaml.safe_load(WORKFLOW.read_text())["jobs"]["model"]["steps"]
    commands = [shlex.split(step["run"]) for step in steps if step.get("run", "").startswith("edgec ")]
    assert [command[1] for command in commands] == ["build", "compare", "bench"]
    for command, quick in zip(commands, (["--cc", "gcc -O0", "--target", "portable"], []), strict=False):
        ended = program(*command[1:], *quick)
        assert ended.code == 0, ended.err
    bench = parse(commands[-1][1:])  # whose times are the machine's
    assert bench.max_latency == "100ms" and bench.what == [Path("package")] and bench.device == ["local"]
    assert bench.accept_noise, "a shared runner is never quiet"
    assert Path("package/model.int8.onnx").is_file()
    assert "local" in program("devices", "list").out


def test_nothing_that_is_there_is_touched(program: Program) -> None:
    Path("edgec.toml").write_text('[build]\nprecision = "fp32"\n')
    done = program("init", "digits.onnx", "--json")
    assert done.json["kept"] == ["edgec.toml"] and done.json["written"] == ["devices.yaml", str(WORKFLOW)]
    assert Path("edgec.toml").read_text() == '[build]\nprecision = "fp32"\n'
    assert program("init", "digits.onnx", "--json").json["written"] == []
    program("init", "missing.onnx").failed(2, "no such file", "missing.onnx")


def test_without_samples_the_settings_are_of_floats(program: Program) -> None:
    assert program("init", "digits.onnx").code == 0
    done = program("build", "digits.onnx", "--no-compile", "--json")
    assert done.json["precision"] == "fp32" and done.json["package"] == "package"
