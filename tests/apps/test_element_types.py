"""Halves, bfloats, doubles, outputs of which only a run knows the size, and states, as applications hold them: numpy says what is right."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

import edgec
from tests.apps import webs, wheels
from tests.apps.cpps import call
from tests.apps.element_types import FAR, FIRST, INPUTS, NEAR, OUTPUTS, STATE, answers, check, expected, model, packaged, spoil
from tests.conftest import once
from tests.contract.examiner import STRICT


@pytest.fixture
def package(shared: Path) -> Path:
    return packaged(shared)


@pytest.fixture
def web(shared: Path) -> Path:
    return once(shared / "mixed-web", lambda folder: webs.built(model(folder), folder / "mixed", precision="fp32", state=STATE)) / "mixed"


PROGRAM = """
#include "mixed.h"
#include <stdio.h>
#define READ(array) (fread(array, 1, sizeof array, stdin) == sizeof array)
#define WRITE(array) (fwrite(array, 1, sizeof array, stdout) == sizeof array)
static unsigned char memory[MIXED_ARENA_BYTES + MIXED_ARENA_ALIGNMENT];
int main(void) {
    static uint16_t half[6], bfloat[4], halves[6], bfloats[4];
    static double wide[3], wides[3];
    static int64_t places[12], shape[2], turn[1];
    mixed_t model;
    unsigned char *arena = memory + (MIXED_ARENA_ALIGNMENT - (size_t)memory % MIXED_ARENA_ALIGNMENT);
    if (!READ(half) || !READ(bfloat) || !READ(wide) || mixed_init(&model, arena, MIXED_ARENA_BYTES) != MIXED_OK) return 1;
    if (mixed_run(&model, half, bfloat, wide, halves, bfloats, wides, places, shape, turn) != MIXED_OK) return 1;
    return !(WRITE(halves) && WRITE(bfloats) && WRITE(wides) && WRITE(places) && WRITE(shape) && WRITE(turn));
}
"""


def test_c_takes_and_gives_bits(package: Path, tmp_path: Path) -> None:
    (tmp_path / "app.c").write_text(PROGRAM)
    call(tmp_path, "gcc", *STRICT, "-O0", f"-I{package / 'single'}", "app.c", package / "single/mixed.c", "-o", "app")
    data = b"".join(array.tobytes() for array in INPUTS.values())
    answer = subprocess.run([tmp_path / "app"], input=data, capture_output=True, check=True).stdout
    found = {}
    for name, right in expected().items():
        found[name], answer = np.frombuffer(answer[: right.nbytes], OUTPUTS[name]), answer[right.nbytes :]
    assert not answer
    check(found)


def test_python_takes_and_gives_arrays_of_these_types(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ZipFile(wheels.wheel_of(package)) as wheel:
        wheel.extractall(tmp_path)
    (about,) = tmp_path.glob("mixed-*.dist-info/METADATA")
    assert "Requires-Dist: ml_dtypes" in about.read_text()
    with wheels.imported("mixed", tmp_path, monkeypatch).Mixed() as mixed:
        answer = mixed.run(**INPUTS)
        check({name: getattr(answer, name) for name in OUTPUTS})
        assert mixed.run(**INPUTS).turn.tolist() == [FIRST + 1]
        mixed.reset()
        assert mixed.run(**INPUTS).turn.tolist() == [FIRST]
        with pytest.raises(TypeError, match="bfloat"):
            mixed.run(**{**INPUTS, "bfloat": INPUTS["bfloat"].astype(np.float32)})


def test_javascript_takes_and_gives_bits(web: Path) -> None:
    given = {name: list(map(int, array.reshape(-1).view(np.uint16))) for name, array in INPUTS.items() if name != "wide"}
    code = f"""const given = {json.dumps(given)}, wide = Float64Array.from({json.dumps(INPUTS["wide"].tolist())});
    const {{ half, bfloat }} = Object.fromEntries(Object.entries(given).map(([key, bits]) => [key, Uint16Array.from(bits)]));
    const mixed = await m.Mixed.load();
    mixed.run({{ half, bfloat, wide }});
    mixed.reset();
    const answers = mixed.run({{ half, bfloat, wide }});
    show(Object.values(answers).map((array) => [...new Uint8Array(array.slice().buffer)]));"""
    found = zip(OUTPUTS.items(), webs.node(web, code), strict=True)
    check({name: np.frombuffer(bytes(answer), kind) for (name, kind), answer in found})


RIGHT, WRONG = [True] * len(OUTPUTS), [False] * len(OUTPUTS)
NEAR_ENOUGH = [name != "wides" for name in OUTPUTS]


def check_exam(folder: Path, *words: str | Path, first: list[bool]) -> None:
    """Which answers to its first question the exam finds right; those to others are."""
    done = subprocess.run(list(map(str, words)), cwd=folder, capture_output=True, text=True, check=False)
    facts = json.loads(done.stdout)
    found, *others = ([output["passed"] for output in vector["outputs"]] for vector in facts["vectors"])
    assert found == first and others and all(map(all, others)) and facts["passed"] == (done.returncode == 0) == all(first)


def test_an_exam_in_c_judges_every_type(package: Path, tmp_path: Path) -> None:
    exam = [package / f"exam/mixed_{part}.c" for part in ("exam", "vectors")]
    headers = [f"-I{package / folder}" for folder in ("include", "exam")]
    call(tmp_path, "gcc", "-std=c99", "-O0", "-DMIXED_WITH_POOL", *headers, *exam, package / "single/mixed.c", "-pthread", "-o", "exam")
    check_exam(tmp_path, "./exam", "--json", first=RIGHT)
    for flips, first in ((FAR, WRONG), (NEAR, NEAR_ENOUGH)):
        shutil.copy(tmp_path / "exam", tmp_path / "spoiled")
        spoil(tmp_path / "spoiled", answers(package), flips)
        check_exam(tmp_path, "./spoiled", "--json", first=first)


def test_an_exam_in_python_judges_every_type(package: Path, tmp_path: Path) -> None:
    with ZipFile(wheels.wheel_of(package)) as wheel:
        wheel.extractall(tmp_path)
    data, questions = tmp_path / "mixed/exam.bin", tmp_path / "mixed/exam.json"
    words = [sys.executable, "-B", "-m", "mixed", "--seconds", "0", "--json"]
    whole, asked = data.read_bytes(), json.loads(questions.read_text())
    check_exam(tmp_path, *words, first=RIGHT)
    spoil(data, answers(package)[:3], NEAR)
    check_exam(tmp_path, *words, first=NEAR_ENOUGH)
    data.write_bytes(whole)
    spoil(data, answers(package)[:3])
    asked["vectors"][0]["outputs"][3:] = [{"sha256": "0" * 64}] * 3
    questions.write_text(json.dumps(asked))
    check_exam(tmp_path, *words, first=WRONG)


def test_an_exam_in_javascript_judges_every_type(package: Path, web: Path, tmp_path: Path) -> None:
    for path in ("web", "exam", "build"):
        shutil.copytree(web / path, tmp_path / path)
    questions = tmp_path / "build/mixed_questions.wasm"
    whole, words = questions.read_bytes(), ("node", "exam/mixed_exam.mjs", "--json")
    check_exam(tmp_path, *words, first=RIGHT)
    for flips, first in ((FAR, WRONG), (NEAR, NEAR_ENOUGH)):
        questions.write_bytes(whole)
        spoil(questions, answers(package), flips)
        check_exam(tmp_path, *words, first=first)


QUESTIONS = """
#include "mixed.h"
#include "mixed_questions.h"
#include <string.h>
int main(void) {
    static const size_t bytes[] = {MIXED_OUTPUT_HALVES_BYTES, MIXED_OUTPUT_BFLOATS_BYTES, MIXED_OUTPUT_WIDES_BYTES,
                                   MIXED_OUTPUT_PLACES_BYTES, MIXED_OUTPUT_PLACES_SHAPE_BYTES};
    for (int32_t i = 0; i < mixed_question_count(); i++) {
        for (int32_t output = 0; output < 5; output++) {
            unsigned char answer[MIXED_OUTPUT_PLACES_BYTES];
            memcpy(answer, mixed_question(i, 3 + output), bytes[output]);
            if (!mixed_answer_is_right(i, output, answer, 0)) return 1;
            answer[bytes[output] - 1] ^= 0x40;
            if (mixed_answer_is_right(i, output, answer, 0)) return 2;
        }
    }
    return mixed_question_count() < 2;
}
"""


@pytest.mark.thorough
def test_the_questions_of_a_swift_package_judge_every_type(tmp_path: Path) -> None:
    package = tmp_path / "mixed"
    edgec.build(model(tmp_path), target="ios", precision="fp32", state=STATE, out=package, compile=False)
    (tmp_path / "questions.c").write_text(QUESTIONS)
    headers = [f"-I{package / folder}" for folder in ("include", "exam", "exam/apple")]
    sources = [package / f"exam/mixed_{part}.c" for part in ("questions", "vectors")]
    call(tmp_path, "gcc", *STRICT, "-O0", *headers, "questions.c", *sources, "-o", "questions")
    call(tmp_path, "./questions")
