"""The same packages for other processors, under emulation: the same bytes as here, in the vocabulary that was expected."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgec.targets import load_target, runs_here
from edgec.toolchain import compile_package, run_exam
from tests.emit.packages import write_package
from tests.emit.programs import exam_of, pool_program, small_program
from tests.emit.test_package import pool_exam

TARGETS = {
    "rpi4": "neon",
    "rpi5": "dotprod",
    "linux-arm64": "i8mm",
    "rpi-32bit": "neon32",
    "linux-riscv64": "portable",
    "portable": "portable",
}
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.thorough] * (name in ("rpi4", "rpi5", "linux-arm64", "portable"))) for name in TARGETS]
)
def test_the_exam_passes_elsewhere(tmp_path: Path, needs, name: str) -> None:
    target = load_target(name)
    if not runs_here(target):
        needs(target.compilers[0], target.emulator[0])
    loops, pool = small_program(), pool_program()
    for folder, program, data in ((tmp_path / "loops", loops, exam_of(loops)), (tmp_path / "pool", pool, pool_exam(1, 3))):
        write_package(folder, program, target, data)
        built = compile_package(folder, target, target.compilers[0], "-O2", STRICT)
        done = run_exam(built, target, ["--json", "--threads", "2"])
        assert done.returncode == 0, done.stdout + done.stderr
        answer = json.loads(done.stdout)
        assert answer["passed"] is True
        if not runs_here(target):
            assert answer["isa"] == TARGETS[name]
