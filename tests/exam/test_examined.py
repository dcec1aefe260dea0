"""A build examines what it made, on the command line and in Python alike; a package that fails is nowhere, or kept aside and marked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import edgec
from edgec.base.errors import GateError, UsageError
from tests.calling import QUICK, Program, names_in
from tests.contract.examiner import available

pytestmark = pytest.mark.usefixtures("kept_builds")

# A compiler that turns additions of floats into subtractions: a bug in one vocabulary alone.
BROKEN = """#!/bin/sh
for word in "$@"; do
  case "$word" in src/*_kernels_{vocabulary}.c) sed -i '{bug}' "$word" ;; esac
done
exec gcc -O0 "$@"
"""
BUGS = {
    "avx2": "s/_mm256_add_ps/_mm256_sub_ps/g; s/_mm256_fmadd_ps/_mm256_fmsub_ps/g",
    "portable": "s/return s + a \\* b/return s - a * b/",
}
MODEL = {"digits.onnx", "calibration.npz", "evaluation.npz", "broken-cc"}


@pytest.fixture
def broken_avx2(work: Path) -> str:
    assert available("avx2"), "this test needs a processor with AVX2"
    return compiler(work, "avx2")


@pytest.fixture
def broken(work: Path) -> tuple[str, ...]:
    """Settings of a build that fails, in the vocabulary that compiles soonest."""
    return ("--target", "portable", "--cc", compiler(work, "portable"))


def compiler(work: Path, vocabulary: str) -> str:
    place = work / "broken-cc"
    place.write_text(BROKEN.format(vocabulary=vocabulary, bug=BUGS[vocabulary]))
    place.chmod(0o755)
    return str(place)


def test_every_vocabulary_of_this_machine_is_examined(program: Program) -> None:
    done = program("build", "digits.onnx", "--precision", "fp32", "--cc", "gcc -O0", "--json")
    known = ("sse41", "avx2", "avxvnni", "avx512vnni")
    assert done.json["exam"] == "passed" and done.json["examined"] == [isa for isa in known if available(isa)]
    board = ("--target", "rpi5", "--cc", "aarch64-linux-gnu-gcc -O0")
    assert program("build", "digits.onnx", "--precision", "fp32", *board, "--json").json["examined"] == ["neon", "dotprod"]


def test_sources_alone_are_not_examined(program: Program) -> None:
    facts = program("build", "digits.onnx", "--precision", "fp32", *QUICK, "--no-compile", "--json").json
    assert facts["exam"] == "not run here" and facts["examined"] == []


def test_a_package_that_fails_its_exam_is_nowhere(program: Program, work: Path, broken_avx2: str) -> None:
    done = program("build", "digits.onnx", "--precision", "fp32", "--cc", broken_avx2)
    done.failed(1, "does not compute what the model does", "avx2: the exam failed", "--keep-failed")
    assert "vector 0  logits" in done.err and "limit 0.0001" in done.err and "{" not in done.err
    assert "sse41: " not in done.err and names_in(work) == MODEL


def test_the_package_before_it_stays(program: Program, work: Path, broken: tuple[str, ...]) -> None:
    assert program("build", "digits.onnx", "--precision", "fp32", *QUICK, "-o", "out").code == 0
    before = (work / "out/build.json").read_bytes()
    program("build", "digits.onnx", "--precision", "fp32", *broken, "-o", "out").failed(1)
    assert (work / "out/build.json").read_bytes() == before
    assert edgec.verify("out")


def test_python_examines_too(work: Path) -> None:
    with pytest.raises(GateError, match="portable: the exam failed"):
        edgec.build("digits.onnx", precision="fp32", target="portable", cc=compiler(work, "portable"), out="out")
    assert names_in(work) == MODEL
    assert edgec.build("digits.onnx", precision="fp32", target="portable", cc="gcc -O0", out="out").examined == ("portable",)


def test_a_failed_package_is_kept_aside_on_demand(program: Program, work: Path, broken: tuple[str, ...]) -> None:
    words = ("build", "digits.onnx", "--precision", "fp32", *broken, "-o", "out", "--keep-failed")
    for _ in range(2):
        program(*words).failed(1, "out.failed", "FAILED.txt")
    assert names_in(work) == {*MODEL, "out.failed"}
    kept = work / "out.failed"
    assert "portable" in (kept / "FAILED.txt").read_text() and (kept / "build/digits_exam").exists()
    assert "manifest.json" not in names_in(kept)
    for verb in ("inspect", "verify", "deploy", "bench"):
        program(verb, kept).failed(2, "not an edgec package")


def test_nothing_foreign_gives_way_to_a_failed_package(program: Program, work: Path, broken: tuple[str, ...]) -> None:
    (work / "out.failed").mkdir()
    (work / "out.failed/thesis.txt").write_text("years of work")
    words = ("build", "digits.onnx", "--precision", "fp32", *broken, "-o", "out", "--keep-failed")
    program(*words).failed(2, "is not a failed package")
    assert (work / "out.failed/thesis.txt").read_text() == "years of work"
    shutil.rmtree(work / "out.failed")
    (work / "out.failed").symlink_to(work)
    with pytest.raises(UsageError, match="is not a failed package"):
        edgec.build("digits.onnx", precision="fp32", out="out", target="portable", cc=broken[-1], keep_failed=True)
