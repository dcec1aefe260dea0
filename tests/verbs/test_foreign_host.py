"""edgec on other systems than Linux: without POSIX's modules and functions, with other letters, and with the same package in the end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from edgec.targets import load_target
from edgec.toolchain.compile import SHARED, compile_package
from tests.apps.cpps import DIGITS, digits
from tests.emit.packages import write_package
from tests.emit.programs import exam_of, small_program

HOST = Path(__file__).with_name("foreign_host.py")


def foreign(folder: Path, *words: str | Path) -> str:
    """What edgec's programs, separated by commas, print there to a console of western letters; they open no file in its encoding."""
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-X", "warn_default_encoding", str(HOST), *map(str, words)]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, env=environment)
    said = done.stderr.decode("cp1252")
    assert done.returncode == 0, said
    assert "EncodingWarning" not in "".join(line for line in said.splitlines() if f"{os.sep}edgec{os.sep}" in line)
    return done.stdout.decode("cp1252")


def test_a_package_built_on_windows_is_the_same_in_every_byte(tmp_path: Path) -> None:
    there, here, model = tmp_path / "日本", digits(), DIGITS / "digits.onnx"
    data = ["--calib", DIGITS / "calibration.npz", "--samples", "16", "--no-compile"]
    settings = ["--target", "portable", "--task", "classify", "--labels", here.parent / "labels.txt", "--single-file", "-o", there.name]
    said = foreign(
        tmp_path, "targets", ",", "inspect", model, ",", "build", model, *data, "--dry-run", ",", "build", model, *data, *settings
    )
    assert "digits-windows-x64-int8" in said, "the host is Windows"
    assert "package    \\u65e5\\u672c" in said, "letters that the console lacks are spelled out"
    files = sorted(path.relative_to(here) for path in here.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(there) for path in there.rglob("*") if path.is_file())
    assert [path for path in files if (here / path).read_bytes() != (there / path).read_bytes()] == []


@pytest.mark.parametrize(("system", "library"), [("macos", "libsmall.dylib"), ("windows", "small.dll")])
def test_libraries_are_called_as_their_system_likes(
    system: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needs
) -> None:
    """A package for any system, compiled as if this one were another; this one's linker has no install names or import libraries."""
    needs("gcc")
    monkeypatch.setattr("edgec.toolchain.compile._HERE", {sys.platform: system})
    monkeypatch.setitem(SHARED, system, SHARED[system][:2])
    program = small_program()
    target = load_target("portable")
    built = compile_package(write_package(tmp_path, program, target, exam_of(program, vectors=1)), target, "gcc", "-O0")
    assert built.library == tmp_path / "build" / library and built.library.is_file()
