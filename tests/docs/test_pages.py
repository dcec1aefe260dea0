"""All pages: their links lead somewhere, and the commands that they show are the program's own."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from edgec.cli.verbs import VERBS, grammar, parse
from tests.calling import ROOT

PAGES = {path: path.read_text(encoding="utf-8") for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"))}
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_links_of_all_pages_lead_somewhere() -> None:
    """To a file, and to a heading in it."""
    pages = {path: BLOCK.sub("", text) for path, text in PAGES.items()}
    heads = {
        path: {re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}
        for path, text in pages.items()
    }
    links = [(path, link) for path, text in pages.items() for link in re.findall(r"\]\(((?!\w+:)[^)\s]+)\)", text)]
    for path, link in links:
        name, _, place = link.partition("#")
        found = (path.parent / name).resolve() if name else path
        assert found.exists() and (not place or place in heads[found]), f"{path.name}: {link}"
    assert len(links) > 40


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_commands_of_a_page_are_understood(page: Path) -> None:
    """Whole ones, in blocks; in sentences, where words may be left out, their flags are the verb's."""
    lines = [line for kind, body in BLOCK.findall(PAGES[page]) if kind == "sh" for line in body.replace("\\\n", " ").splitlines()]
    for command in (line for line in lines if line.startswith("edgec ")):
        assert parse(shlex.split(command, comments=True)[1:]).verb == command.split()[1]
    for verb, words in re.findall(r"`edgec (\w+)( [^`]*)`", BLOCK.sub("", PAGES[page])):
        assert verb in VERBS or verb == "VERB", verb
        known = grammar(VERBS)[1][verb].format_help() if verb in VERBS else "--help"
        assert all(re.search(rf"{flag}\b", known) for flag in re.findall(r"--[\w-]+", words)), f"{verb}{words}"
