"""benchmarks/newcomer.py: every environment leads from the model to the same first answer. tests/docs/test_readme.py has the README's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.apps.kotlin_compiler import compiler_folder
from tests.conftest import require
from tests.contract.examiner import WHOLE

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = {"linux": "C on Linux", "pi": "Raspberry Pi", "python": "Python wheel", "android": "Android", "ios": "iOS", "web": "Web"}


def test_each_environment_gives_the_same_first_answer() -> None:
    """In `make test` the one whose application no other test links: iOS's package, through its C."""
    require("gcc")
    wanted, more = ["ios"], []
    if WHOLE:
        require("aarch64-linux-gnu-gcc", "qemu-aarch64", "node", "clang", "wasm-ld", "java", "npm")
        wanted, more = list(ENVIRONMENTS), ["--kotlin", str(compiler_folder())]
    digits = ROOT / "examples" / "digits"
    command = [sys.executable, ROOT / "benchmarks/newcomer.py", digits / "digits.onnx", *more, "--only", *wanted]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    title, *rows = done.stdout.splitlines()
    assert title.split() == ["environment", "build", "app", "answer", "in", "all", "seconds"]
    assert [ENVIRONMENTS[name] in row for name, row in zip(wanted, rows, strict=True)] == [True] * len(wanted)
    assert len({row.split("   ")[-1] for row in rows}) == 1 and "class" in rows[0], "and nothing is missing here"
