"""Emission renders and decides nothing: what runs is chosen in edgec/schedule, and what a kernel is stands in its own room."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from edgec.kernels import VARIANTS

ROOT = Path(__file__).parents[2] / "edgec"
DECIDES = re.compile(r"(^|_)(choose|costs?|placement|plan|schedule|strips?|tiles?)(_|$)", re.IGNORECASE)


def definitions(path: Path) -> Iterator[str]:
    """Functions, classes and constants of a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name) and target.id.isupper())


def kinds_asked_for(path: Path) -> set[str]:
    """The kernels' arguments that a module tells apart by isinstance."""
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    asked = [node.args[1] for node in calls if isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass")]
    names = {part.id for item in asked for part in ast.walk(item) if isinstance(part, ast.Name)}
    return names & {kind.__name__ for base in VARIANTS for kind in base.__mro__ if kind.__module__.startswith("edgec.kernels")}


def modules(room: str) -> dict[str, Path]:
    return {path.relative_to(ROOT / room).as_posix(): path for path in sorted((ROOT / room).rglob("*.py"))}


def test_emission_decides_nothing() -> None:
    found = {name: {item for item in definitions(path) if DECIDES.search(item)} for name, path in modules("emit").items()}
    assert {name: items for name, items in found.items() if items} == {}


def test_nobody_but_the_shaders_tells_kernels_apart() -> None:
    """What differs between kernels is asked of them."""
    found = {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if kinds_asked_for(path)}
    assert {name for name in found if not name.startswith(("emit/gpu/", "schedule/gpu/"))} == set()
