"""One name, one meaning: what two files or three classes are called alike stands in the glossary of the README's tour."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

from edgec.cli.verbs import VERBS

ROOT = Path(__file__).parents[2]
FILES = sorted(path for path in (ROOT / "edgec").rglob("*.py") if "_data" not in path.parts)
_MOST_NAMESAKES = 2  # classes that may have one name without an entry: of two, each is known by its room


def glossary() -> set[str]:
    _, _, rest = (ROOT / "README.md").read_text(encoding="utf-8").partition("| name | what it means in every room |\n")
    rows = rest.partition("\n\n")[0].splitlines()
    return {word for row in rows for word in re.findall(r"`(\w+)`", row.split("|")[1])}


def shared_files() -> set[str]:
    counts = Counter(path.stem for path in FILES if path.stem != "__init__")
    return {name for name, count in counts.items() if count > 1} - set(VERBS)


def shared_classes() -> set[str]:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in FILES]
    counts = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_"))
    return {name for name, count in counts.items() if count > _MOST_NAMESAKES}


def test_what_shares_a_name_is_in_the_glossary() -> None:
    """Give a file that means something else a name of its own; the glossary is for what means the same."""
    assert shared_files() | shared_classes() <= glossary()


def test_the_glossary_has_no_word_that_nothing_shares() -> None:
    assert glossary() <= shared_files() | shared_classes()
