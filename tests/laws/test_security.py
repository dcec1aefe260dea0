"""SECURITY.md promises nothing that no test holds."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return re.split(r"^## ", PAGE.partition(f"## {title}\n")[2], maxsplit=1, flags=re.M)[0]


def test_every_promise_names_a_test_that_exists() -> None:
    promises = [row for row in section("What edgec promises").splitlines() if row.startswith("| ")][1:]
    assert len(promises) >= 15
    for row in promises:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row)
        assert named, f"no test holds: {row}"
        for path, name in named:
            tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
            tests = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
            assert name.startswith("test_") and name in tests, f"{path} has no {name}"


def test_the_page_is_found_and_says_what_one_looks_for() -> None:
    assert "(SECURITY.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    for title in ("What edgec promises", "What edgec does not promise", "Who might attack, and through what", "How to report"):
        assert section(title).strip(), title
