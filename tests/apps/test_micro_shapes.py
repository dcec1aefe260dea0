"""Packages for microcontrollers that take several sets of shapes, on an emulated board without a system."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import onnxruntime
import pytest

import edgec
from edgec.package import Package
from edgec.package.running import exam_program, run
from edgec.targets import load_target
from tests.apps.micros import CLANG
from tests.conftest import require
from tests.contract.shaped import SETS, given, rows

WORDS = "a size is below 1 or above its maximum"


@cache
def package() -> Package:
    require("clang", "ld.lld", "qemu-system-arm")
    folder = Path(mkdtemp(prefix="edgec-micro-shapes-"))
    first, *others = SETS
    model = rows(folder)
    return edgec.build(model, target="micro", out=folder / "rows", shape=first, also_shape=others, precision="fp32", cc=f"{CLANG} -O1")


def test_every_set_answers_as_the_model_does() -> None:
    session = onnxruntime.InferenceSession(package().directory.parent / "rows.onnx")
    facts = package().examine()
    assert facts["passed"] and len(facts["vectors"]) == 2 * len(SETS)
    with package().load() as runner:
        for turn, shapes in enumerate(SETS):
            inputs = given(shapes, turn)
            for found, expected in zip(runner(inputs), session.run(None, inputs), strict=True):
                assert found.shape == expected.shape
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    calls = package().profile(0.001)
    assert len(calls) == len(package().manifest.calls)
    assert min(us for *_, us in calls) >= 0 and package().benchmark(0.001, runs=2)["min_us"] > 0


@pytest.mark.parametrize(
    ("number", "words"), [("0", WORDS), ("4", WORDS), ("999999999", WORDS), ("4294967297", "no number"), ("-1", "no number")]
)
def test_the_program_takes_the_numbers_of_its_sets_alone(number: str, words: str) -> None:
    data = b"".join(array.tobytes() for array in given(SETS[1], 0).values())
    done = run(exam_program(package().directory, package().target, "--run", "--sizes", number), data)
    assert done.status != 0 and not done.output and words in done.errors


def test_the_sketch_has_the_first_set() -> None:
    core, folder = Path(__file__).parent / "arduino", package().directory
    places = [f"-I{folder}/src", f"-I{folder}/exam", f"-I{core}", "-include", f"{core}/Arduino.h"]
    words = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", "c++", "-std=c++11", "-ffreestanding"]
    sketch = folder / "examples/rows/rows.ino"
    done = subprocess.run(
        [*CLANG.split(), *load_target("micro").flags, *words, *places, str(sketch)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    text = sketch.read_text(encoding="utf-8")
    assert "rows_run(&model, 1, tensor_x" in text and "i < 20 && i < 16" in text and "tensor_w[ROWS_OUTPUT_W_ELEMENTS]" in text
