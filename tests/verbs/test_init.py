"""What `edgec init` writes is valid: it is built with, and the workflow's commands run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from edgec.cli.verbs import parse
from tests.calling import Program

WORKFLOW = Path(".github/workflows/edgec.yml")
FILES = ("edgec.toml", "devices.yaml", WORKFLOW)


def test_a_project_begins_with_files_that_work(program: Program) -> None:
    done = program("init", "digits.onnx", "--data", "calibration.npz")
    assert done.code == 0 and done.out.splitlines()[-1] == "next: edgec build digits.onnx", done.err
    steps = yaml.safe_load(WORKFLOW.read_text())["jobs"]["model"]["steps"]
    commands = [shlex.split(step["run"]) for step in steps if step.get("run", "").startswith("edgec ")]
    assert [command[1] for command in commands] == ["build", "compare", "bench"]
    assert "pip install edgec" not in WORKFLOW.read_text(), "whose package that name would be is anybody's"
    for command, quick in zip(commands, (["--cc", "gcc -O0", "--target", "portable", "--effort", "fast"], []), strict=False):
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
    build = next(line for line in WORKFLOW.read_text().splitlines() if "edgec build" in line)
    assert "-o package" in build, "whatever the settings say that were there"
    program("init", "missing.onnx").failed(2, "no such file", "missing.onnx")


def test_without_samples_the_settings_are_of_floats(program: Program) -> None:
    assert program("init", "digits.onnx").code == 0
    done = program("build", "digits.onnx", "--no-compile", "--json")
    assert done.json["precision"] == "fp32" and done.json["package"] == "package"


def test_what_is_commented_out_is_valid_too(program: Program) -> None:
    assert program("init", "digits.onnx", "--data", "calibration.npz").code == 0
    for path in (Path("edgec.toml"), Path("devices.yaml")):
        text = re.sub(r"^( *)# (?= *(\[preprocess\]|\w+ = |\w+:))", r"\1", path.read_text(), flags=re.MULTILINE)
        assert text != path.read_text()
        path.write_text(text)
    done = program("build", "digits.onnx", "--dry-run", "--json")
    assert done.code == 0 and done.json["plan"]["preprocess"] and done.json["plan"]["min_sqnr"] == 20, done.err
    assert "kitchen" in program("devices", "list").out


@pytest.mark.parametrize("name", ["caf\udce9.onnx", "del\x7f.onnx", "line\nend.onnx", "a${{ github.token }}.onnx"])
def test_names_that_a_workflow_cannot_hold(program: Program, name: str) -> None:
    Path(name).touch()
    program("init", name).failed(2, "a workflow cannot hold")
    program("init", "digits.onnx", "--data", name).failed(2, "a workflow cannot hold")
    assert not any(Path(path).exists() for path in FILES)


def test_a_name_is_never_taken_for_a_flag(program: Program) -> None:
    Path("--json.onnx").touch()
    assert program("init", "./--json.onnx").out.splitlines()[-1] == "next: edgec build ./--json.onnx"
    assert " ./--json.onnx" in WORKFLOW.read_text()


@pytest.mark.parametrize("place", [".github", ".github/workflows", "devices.yaml"])
@pytest.mark.parametrize("kind", ["file", "link", "dangling", "pipe"])
def test_nothing_is_written_where_something_is_in_the_way(program: Program, work: Path, place: str, kind: str) -> None:
    path, outside = work / place, work.parent / f"outside of {work.name}"
    outside.mkdir()
    path.parent.mkdir(exist_ok=True)
    {
        "file": lambda: path.mkdir() if place == "devices.yaml" else path.touch(),
        "link": lambda: path.symlink_to(outside),
        "dangling": lambda: path.symlink_to("nowhere"),
        "pipe": lambda: os.mkfifo(path),
    }[kind]()
    before = sorted(work.rglob("*"))
    program("init", "digits.onnx").failed(2, place)
    assert sorted(work.rglob("*")) == before and not list(outside.iterdir())


def test_a_full_disk_leaves_no_part_of_a_file(work: Path) -> None:
    line = f"ulimit -f 0; exec {shlex.quote(sys.executable)} -m edgec.cli.main init digits.onnx"
    ended = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert ended.returncode == 2 and "cannot write" in ended.stderr, ended.stderr
    assert not any(Path(path).exists() for path in FILES) and not list(work.glob(".edgec*"))
