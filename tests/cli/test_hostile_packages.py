"""A package that somebody made to hurt: every verb that reads one ends with one clear error, and with the exit code of its family."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.calling import Program

BOARD = ("--devices", "devices.yaml", "--device", "desk")
VERBS: dict[str, tuple[str, ...]] = {
    "inspect": ("inspect", "bad"),
    "run": ("run", "bad", "-i", "calibration.npz"),
    "compare": ("compare", "digits.onnx", "bad", "--data", "evaluation.npz"),
    "bench": ("bench", "bad", *BOARD),
    "deploy": ("deploy", "bad", *BOARD),
    "verify": ("verify", "bad"),
}
EXIT = dict.fromkeys(VERBS, 2) | {"verify": 1}


def edited(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    def make(package: Path) -> None:
        facts = json.loads((package / "manifest.json").read_text(encoding="utf-8"))
        change(facts)
        (package / "manifest.json").write_text(json.dumps(facts), encoding="utf-8")

    return make


HOSTILE: dict[str, Callable[[Path], object]] = {
    "nothing in it": edited(lambda facts: (facts.clear(), facts.update(edgec_version="0.1.0"))),
    "lists for tables": edited(lambda facts: facts.update(arena=[], weights=[], options=[], memory={}, calls={})),
    "calls that touch nothing there is": edited(lambda facts: facts["calls"][0].update(reads=["x"], writes=["y"])),
    "a shape beyond all memory": edited(lambda facts: facts["inputs"][0].update(shape=[2**40, 2**40])),
    "a type that numpy would run": edited(lambda facts: facts["outputs"][0].update(dtype="object")),
    "a name that leads out": edited(lambda facts: facts.update(name="../../etc/x")),
    "words for terminals": edited(lambda facts: facts.update(name="\x1b]0;owned\x07")),
    "half a character": edited(lambda facts: facts["notes"].append("\ud800")),
    "another schema": edited(lambda facts: facts.update(schema_version=99)),
    "options of nobody": edited(lambda facts: facts["options"].update(preprocess={"scale": {"a": {"b": 1}}})),
    "deep JSON": lambda package: (package / "manifest.json").write_bytes(b"[" * 200_000),
    "a pipe": lambda package: ((package / "manifest.json").unlink(), os.mkfifo(package / "manifest.json")),
    "a link to a device": lambda package: ((package / "manifest.json").unlink(), (package / "manifest.json").symlink_to("/dev/zero")),
}


@pytest.fixture
def bad(work: Path, package: Path) -> Path:
    (work / "devices.yaml").write_text("devices:\n  desk:\n    target: host\n    connection: local\n    work: board\n")
    return Path(shutil.copytree(package, work / "bad", symlinks=True))


@pytest.mark.parametrize("lie", HOSTILE)
def test_every_verb_refuses_a_hostile_package(bad: Path, program: Program, lie: str) -> None:
    HOSTILE[lie](bad)
    for verb, words in VERBS.items():
        done = program(*words)
        done.failed(EXIT[verb], "bad")
        assert "\x1b" not in done.err and "\x07" not in done.err, verb


def test_an_exam_program_that_answers_nonsense_is_said(bad: Path, program: Program) -> None:
    exam = bad / "build/digits_exam"
    for answer in ("", "[]", "{", "null", "\\377"):
        exam.write_text(f"#!/bin/sh\nprintf '{answer}'\n")
        exam.chmod(0o755)
        program("run", "bad", "-i", "calibration.npz").failed(5)
