"""A package with a task and labels, built from a model file as the command line does it."""

from __future__ import annotations

import ctypes
import hashlib
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import edgec
from edgec.errors import ModelError, UsageError
from tests.apps.task_packages import Class

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
LABELS = ("zero", "eins", "δύο", "три", "四", "cinq", "sei", "siete", "oito", "nove?")


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("digits")
    (folder / "labels.txt").write_text("\n".join(LABELS) + "\n", encoding="utf-8")
    settings = {"task": "classify", "labels": folder / "labels.txt", "io": "int8", "samples": 16, "cc": "gcc -O1"}
    edgec.build(DIGITS / "digits.onnx", target="portable", calib=str(DIGITS / "calibration.npz"), out=folder / "digits", **settings)
    return folder / "digits"


def test_the_manifest_says_what_the_answer_means(package: Path) -> None:
    manifest = json.loads((package / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["task"] == {"kind": "classify", "head": "scores", "activation": "softmax", "outputs": ["logits"], "classes": 10}
    text = "".join(f"{label}\n" for label in LABELS).encode()
    assert manifest["labels"] == {"count": 10, "sha256": hashlib.sha256(text).hexdigest()}
    assert {"include/digits_task.h", "src/digits_task.c"} <= set(manifest["files"])


def test_the_library_reads_its_own_answers(package: Path) -> None:
    manifest = json.loads((package / "manifest.json").read_text(encoding="utf-8"))
    library = ctypes.CDLL(str(package / "build" / "libdigits.so"))
    library.digits_label.restype = ctypes.c_char_p
    generator = np.random.default_rng(3)
    facts = manifest["outputs"][0]
    for _ in range(5):
        codes = generator.integers(-128, 128, 10).astype(np.int8)
        reals = (codes.astype(np.float64) - facts["zero_point"]) * facts["scale"]
        best = (Class * 2)()
        assert library.digits_classify(codes.ctypes.data_as(ctypes.c_void_p), 2, best) == 0
        assert best[0].index == int(codes.argmax())
        assert best[0].score == pytest.approx(1 / np.exp(reals - reals.max()).sum(), rel=1e-5)
        assert library.digits_label(best[0].index).decode() == LABELS[best[0].index]


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
