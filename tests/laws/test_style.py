"""Caps on the size of files and functions, and the tools that check the rest."""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path
    for folder in ("edgec", "templates", "runtimes", "tests", "examples", "benchmarks")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".c", ".h", ".j2", ".sh") and "build" not in path.parts
)
PYTHON = [path for path in SOURCES if path.suffix == ".py" and path.is_relative_to(ROOT / "edgec")]
FILE_CAP, MEDIAN_CAP, FUNCTION_CAP = 400, 150, 60


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_stays_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= FILE_CAP


def test_the_median_file_is_short() -> None:
    assert statistics.median(len(path.read_text(encoding="utf-8").splitlines()) for path in PYTHON) <= MEDIAN_CAP


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_function_stays_short_and_a_module_says_what_it_is(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree) or not tree.body, "a module starts with its docstring"
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert (node.end_lineno or 0) - node.lineno < FUNCTION_CAP, f"{node.name} is too long"


@pytest.mark.thorough  # make check does it
@pytest.mark.parametrize("command", [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]], ids=" ".join)
def test_the_checkers_are_content(command: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
