"""Packages that something happened to: every question is answered by the error tree, which leads on; never by a bare exception."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import edgec
from edgec.base.errors import EdgecError
from tests.calling import DIGITS

NO_PROGRAM = ("no exam program", "run `make` in it")
CHANGED = ("edgec verify", "build it again")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "digits"
    edgec.build(DIGITS / "digits.onnx", precision="fp32", out=out, target="portable", cc="gcc -O0")
    return out


def says(words: str, status: int = 0) -> Callable[[Path], None]:
    def write(program: Path) -> None:
        program.write_text(f"#!/bin/sh\nprintf '%s' '{words}'\nexit {status}\n")

    return write


def folder(program: Path) -> None:
    program.unlink()
    program.mkdir()


DAMAGES: dict[str, tuple[Callable[[Path], object], tuple[str, ...]]] = {
    "gone": (Path.unlink, NO_PROGRAM),
    "a folder": (folder, NO_PROGRAM),
    "without the build": (lambda program: shutil.rmtree(program.parent), NO_PROGRAM),
    "cut off": (lambda program: program.write_bytes(program.read_bytes()[:5000]), CHANGED),
    "empty": (lambda program: program.write_bytes(b""), CHANGED),
    "not to be started": (lambda program: program.chmod(0o644), CHANGED),
    "of another package": (says('{"schema_version": 1}'), CHANGED),
    "without an answer": (says("[]"), CHANGED),
    "without words": (says("", 3), CHANGED),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_exam_program_is_told(damage: str, whole: Path, tmp_path: Path) -> None:
    package = edgec.Package(shutil.copytree(whole, tmp_path / "package"))
    spoil, words = DAMAGES[damage]
    spoil(package.directory / "build" / "digits_exam")
    image = np.zeros((1, 1, 8, 8), np.float32)
    for ask in (lambda: package.profile(0.01), package.isas, lambda: package.load()(image)):
        with pytest.raises(EdgecError) as caught:
            ask()
        text = str(caught.value)
        assert str(package.directory) in text and all(word in text for word in words), text


@pytest.mark.parametrize("spoil", [Path.unlink, lambda place: place.write_bytes(place.read_bytes()[:3000]), folder])
def test_a_damaged_manifest_is_told(spoil: Callable[[Path], object], whole: Path, tmp_path: Path) -> None:
    package = edgec.Package(shutil.copytree(whole, tmp_path / "package"))
    spoil(package.directory / "manifest.json")
    for ask in (package.profile, package.examine, package.benchmark, package.load, package.isas, lambda: package.can_run):
        with pytest.raises(EdgecError, match="not an edgec package    hint: give the directory"):
            ask()


def test_words_that_are_longer_than_a_name_of_a_file_are_notes(whole: Path, tmp_path: Path) -> None:
    """What a form's compilation left to say is a line beside the paths that it made."""
    shutil.copytree(whole, tmp_path / "digits")
    told = tmp_path / "digits/build/android/README.txt"
    told.parent.mkdir()
    told.write_text(f"title\nmanifest.json\n{'long ' * 2000}\n", encoding="utf-8")
    assert edgec.Package(tmp_path / "digits").notes[-1] == "long " * 2000
