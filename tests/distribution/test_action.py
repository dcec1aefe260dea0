"""The GitHub Action: its steps run as the runner runs them, whatever words its inputs are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgec.package import Package
from tests.calling import ROOT

pytestmark = pytest.mark.usefixtures("kept_builds")

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
HOSTILE = "$(touch seen)`touch seen`\ntouch seen; touch seen.onnx"
SETUP, INSTALL, BUILD = ACTION["runs"]["steps"]


def ran(step: dict[str, Any], folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """A step in bash, as the runner starts it; expressions are replaced in its environment, and there are none elsewhere."""
    assert step["shell"] == "bash" and "${{" not in step["run"]
    known = {name: item.get("default", "") for name, item in ACTION["inputs"].items()} | inputs
    words = {name: re.sub(r"\$\{\{ inputs\.(\w+) }}", lambda found: known[found[1]], text) for name, text in step.get("env", {}).items()}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, **words, "PATH": path, "PYTHONPATH": str(ROOT), "GITHUB_ACTION_PATH": str(ROOT), "CC": "gcc -O0"}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("calib", "precision"), [("calibration.npz", "int8"), ("", "fp32")])
def test_it_builds_the_package_that_it_names(work: Path, calib: str, precision: str) -> None:
    done = ran(BUILD, work, model="digits.onnx", calib=calib, target="portable", out="a package")
    assert done.returncode == 0, done.stderr
    assert Package(work / "a package").manifest.precision == precision
    assert ACTION["outputs"]["package"]["value"] == "${{ inputs.out }}"


@pytest.mark.parametrize("inputs", [{"model": HOSTILE}, {"model": "--help"}, {"model": "digits.onnx", "calib": HOSTILE}])
def test_inputs_are_words_and_no_commands(work: Path, inputs: dict[str, str]) -> None:
    done = ran(BUILD, work, **inputs)
    assert done.returncode == 2 and done.stderr.count("error: ") == 1, (done.stdout, done.stderr)
    assert not (work / "seen").exists() and not (work / "package").exists()


def test_it_installs_the_edgec_that_it_came_with(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip itself, which says what it would install."""
    for word in ("DRY_RUN", "NO_DEPS", "IGNORE_INSTALLED", "DISABLE_PIP_VERSION_CHECK"):
        monkeypatch.setenv(f"PIP_{word}", "1")
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "0")  # pip reads it the other way around
    done = ran(INSTALL, work)
    assert done.returncode == 0 and "Would install edgec-" in done.stdout, done.stdout + done.stderr
    assert SETUP["uses"].startswith("actions/setup-python@") and SETUP["with"]["python-version"] == "3.13"
