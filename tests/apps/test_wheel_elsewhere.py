"""Wheels in the Pythons of other processors and in environments of their own, in the tests that do everything: they fetch much."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.apps.wheels import PROCESSORS, digits, examined, foreign_python, install, python_command, wheel_of
from tests.conftest import once, require
from tests.contract.examiner import WHOLE


@pytest.fixture
def package(shared: Path) -> Path:
    return once(shared / "wheels", digits) / "digits"


if WHOLE:

    @pytest.mark.parametrize("processor", PROCESSORS)
    def test_the_same_bytes_in_python_of_other_processors(package: Path, shared: Path, tmp_path: Path, processor: str) -> None:
        require("apt-get", "dpkg", PROCESSORS[processor][0])
        place = once(shared / f"python-{processor}", lambda folder: foreign_python(folder, processor))
        python, environment = python_command(place, processor)
        install(wheel_of(package), tmp_path / "here")
        machine = {"arm64": "aarch64", "armhf": "armv7l"}[processor]
        tags = wheel_of(package, machine).stem.split("-")[4].split(".")
        install(wheel_of(package, machine), tmp_path / "there", "--only-binary=:all:", *(f"--platform={tag}" for tag in tags))
        (_, here), (status, there) = examined(folder=tmp_path / "here"), examined(*python, folder=tmp_path / "there", **environment)
        assert status == 0 and there["vectors"] == here["vectors"] and there["isa"] in ("dotprod", "i8mm", "neon", "neon32")

    def test_a_fresh_environment_is_content_with_it(package: Path, tmp_path: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", str(tmp_path)], check=True)
        python = [str(tmp_path / "bin" / "python"), "-m"]
        for words in (["pip", "install", "-q", str(wheel_of(package))], ["pip", "check"]):
            done = subprocess.run([*python, *words], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
        done = subprocess.run([*python, "digits", "--seconds", "0", "--threads", "2"], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and "passed: 3 vectors" in done.stdout and "ms a run" in done.stdout, done.stderr

    def test_the_module_is_typed(package: Path, tmp_path: Path) -> None:
        words = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), "-p", "digits"]
        done = subprocess.run(words, cwd=package / "python", capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
