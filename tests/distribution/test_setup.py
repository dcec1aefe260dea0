"""Setting up: the Makefile and its scripts say in one line what is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.calling import ROOT

TOOLS = ("sh", "grep", "rm", "touch", "test", "echo", "sleep", "env", "make")


@pytest.fixture
def clone(tmp_path: Path, needs: Callable[..., None]) -> Path:
    """What `make` reads, and a PATH with nothing but the shell's tools."""
    needs("make", "sh")
    for name in ("Makefile", "pyproject.toml", "tests/setup.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found
        (tmp_path / "bin" / tool).symlink_to(found)
    return tmp_path


def fake(clone: Path, name: str, body: str) -> None:
    path = clone / "bin" / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def call(clone: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(clone / "bin"), "HOME": str(clone)}
    return subprocess.run(list(command), cwd=clone, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("goal", ["demo", "test"])
@pytest.mark.parametrize(
    ("python", "words"),
    [
        ("exit 127", "edgec needs Python 3.11 or newer; name it with: make PYTHON=python3.12"),
        ('case "$*" in *version_info*) exit 1;; esac', "edgec needs Python 3.11"),
        ('case "$*" in *ensurepip*) exit 1;; esac', "Python's venv is missing; install it with: apt-get install python3-venv"),
    ],
    ids=["none", "old", "no venv"],
)
def test_python_that_will_not_do(clone: Path, goal: str, python: str, words: str) -> None:
    fake(clone, "python3", python)
    done = call(clone, "make", goal)
    assert done.returncode != 0 and done.stdout.startswith(words) and len(done.stdout.splitlines()) == 1
    assert not (clone / ".venv").exists()


def test_tests_without_root_say_what_will_be_skipped(clone: Path) -> None:
    fake(clone, "dpkg-query", '[ "$4" = gcc ] && echo "install ok installed"')
    fake(clone, "id", "echo 1000")
    done = call(clone, "sh", "tests/setup.sh")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and done.stderr == "" and "will be skipped" in lines[0]
    assert lines[1].startswith("  sudo apt-get install ") and "qemu-user" in lines[1] and " gcc " not in lines[1] + " "


def test_tests_with_root_install_what_is_missing(clone: Path) -> None:
    fake(clone, "dpkg-query", '[ "$4" != clang ] && echo "install ok installed"')
    fake(clone, "id", "echo 0")
    fake(clone, "apt-get", f'echo "$@" >> {clone}/installed')
    done = call(clone, "sh", "tests/setup.sh")
    assert done.returncode == 0 and done.stdout == "installing for the tests: clang\n"
    assert (clone / "installed").read_text().splitlines()[-1].endswith("--no-install-recommends clang")
    fake(clone, "apt-get", "exit 100")
    assert "could not install" in call(clone, "sh", "tests/setup.sh").stdout


def test_where_debians_packages_are_unknown_nothing_is_installed(clone: Path) -> None:
    done = call(clone, "sh", "tests/setup.sh")
    assert done.returncode == 0 and "Debian" in done.stdout


def test_scripts_are_sound_and_executable() -> None:
    for script, shell in (("tests/setup.sh", "sh"), (".ci/run", "bash")):
        assert os.access(ROOT / script, os.X_OK)
        assert subprocess.run([shell, "-n", str(ROOT / script)], check=False).returncode == 0
