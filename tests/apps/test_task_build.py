"""A package with a task and labels, built from a model file as the command line does it."""

from __future__ import annotations

import ctypes
import hashlib
import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import edgec
from edgec.base.errors import ModelError, UsageError
from tests.apps.task_packages import Class

ROOT = Path(__file__).parents[2]
DIGITS, DOCS = ROOT / "examples" / "digits", ROOT / "docs"
LABELS = ("zero", "eins", "δύο", "три", "四", "cinq", "sei", "siete", "oito", "nove?")


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("digits")
    (folder / "labels.txt").write_text("\n".join(LABELS) + "\n", encoding="utf-8")
    settings = {"task": "classify", "labels": folder / "labels.txt", "samples": 16, "cc": "gcc -O1"}
    edgec.build(DIGITS / "digits.onnx", target="portable", calib=str(DIGITS / "calibration.npz"), out=folder / "digits", **settings)
    return folder / "digits"


def test_the_manifest_says_what_the_answer_means(package: Path) -> None:
    manifest = json.loads((package / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["task"] == {"kind": "classify", "head": "scores", "activation": "softmax", "outputs": ["logits"], "classes": 10}
    text = "".join(f"{label}\n" for label in LABELS).encode()
    assert manifest["labels"] == {"count": 10, "sha256": hashlib.sha256(text).hexdigest()}
    assert {"include/digits_task.h", "src/digits_task.c"} <= set(manifest["files"])


def test_the_library_reads_its_own_answers(package: Path) -> None:
    library = ctypes.CDLL(str(package / "build" / "libdigits.so"))
    library.digits_label.restype = ctypes.c_char_p
    logits, best = np.random.default_rng(3).standard_normal(10).astype(np.float32), (Class * 2)()
    assert library.digits_classify(logits.ctypes.data_as(ctypes.c_void_p), 2, best) == 0
    assert best[0].score == pytest.approx(1 / np.exp(logits - logits.max()).sum(), rel=1e-5)
    assert library.digits_label(best[0].index).decode() == LABELS[int(logits.argmax())]


def test_the_program_of_the_manual_prints_labels(package: Path, tmp_path: Path) -> None:
    (program,) = re.findall(r"```c\n(.*?)```", (DOCS / "tasks.md").read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "first.c").write_text(program)
    words = ["gcc", "-std=c99", "-Wall", "-Werror", f"-I{package}/include", "-o", "first", "first.c", f"{package}/build/libdigits.a"]
    subprocess.run(words, cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "first"], capture_output=True, text=True, check=True)
    lines = [line.rsplit(" ", 1) for line in done.stdout.splitlines()]
    assert len(lines) == 3
    assert {label for label, _ in lines} <= set(LABELS)
    assert 0 < sum(float(score) for _, score in lines) <= 1.02


def test_the_task_needs_nothing_from_outside(package: Path, needs) -> None:
    needs("nm")
    words = ["nm", "--undefined-only", "--format=just-symbols", str(package / "build" / "digits_task.o")]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert set(listed) <= {"memcpy", "memmove", "memset", "_GLOBAL_OFFSET_TABLE_"}


def test_a_task_that_does_not_fit_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("one\ntwo\n")
    settings = {"precision": "fp32", "compile": False, "out": tmp_path / "out"}
    with pytest.raises(ModelError, match=r"'logits' float32\[1,10\]"):
        edgec.build(DIGITS / "digits.onnx", task="detect", **settings)
    with pytest.raises(UsageError, match="holds 2 labels, and the model has 10 classes"):
        edgec.build(DIGITS / "digits.onnx", task="classify", labels=tmp_path / "labels.txt", **settings)
    assert not (tmp_path / "out").exists()
