"""The report as Markdown for a pull request: the tables of the page, the long ones folded away."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from edgec.records.results import Record
from edgec.reports.html import page
from edgec.reports.page import Cell, Commands, Details, Item, Section, Table, filled
from edgec.reports.runs import gather

MOST_ROWS = 40  # of a table
MOST_CHARACTERS = 60_000  # GitHub refuses comments of more than 65,536
OPEN = ("verdicts", "against")  # sections that are not folded away
MARKS = {"passed": "✅", "failed": "❌", "empty": "⚪", "unsteady": "⚠️", "refused": "⛔", "busy": "⏳", "unreachable": "🔌"}
_SAFE_CODE = re.compile(r"[\w.+:@/(),=°%× -]+")
_MARKUP = re.compile(r"[^\w\s.,;:@#/%=+()'\"°→±×·_-]|(?<![^\W_])_|_(?![^\W_])", re.ASCII)
_LINKS = re.compile(r"(?<=[@#])|(?<=www)(?=\.)|(?<=:)(?=//)")


def render_markdown(records: Iterable[Record], *, history: Sequence[Iterable[Record]] = ()) -> str:
    """At most MOST_CHARACTERS; sections that have no room are named instead."""
    whole = page(gather(records), [gather(earlier) for earlier in history])
    parts = [f"### {MARKS[whole.status]} edgec: {prose(whole.verdict)}\n", f"{code(whole.title)}: {prose(whole.subtitle)}\n"]
    left = []
    for section in whole.sections:
        text = _section(section)
        if sum(map(len, parts)) + len(text) > MOST_CHARACTERS:
            left.append(section.title)
        else:
            parts.append(text)
    if left:
        parts.append(f"Left out for their length: {', '.join(left)}. See the page.\n")
    return "\n".join(parts)


def prose(words: str) -> str:
    """Words as text: no markup, no HTML, no mention of anybody, no link; lines become spaces."""
    escaped = _MARKUP.sub(lambda found: found[0] if ord(found[0]) > 126 else f"&#{ord(found[0])};", " ".join(words.split()))
    return _LINKS.sub("&#8203;", escaped.replace("&#", "\0")).replace("\0", "&#")


def code(name: str) -> str:
    """A name in the letters of code, whatever is in it."""
    name = " ".join(name.split())
    return f"`{name}`" if _SAFE_CODE.fullmatch(name) else f"<code>{prose(name)}</code>" if name else ""


def _section(section: Section) -> str:
    folded = section.anchor not in OPEN
    body = "\n".join(text for item in section.items if (text := _item(item, folded)))
    if not body or section.anchor == OPEN[0]:
        return body
    return _folded(section.title, body) if folded else f"**{prose(section.title)}**\n\n{body}"


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{prose(title)}</summary>\n\n{body}\n</details>\n"


def _item(item: Item, folded: bool) -> str:
    """`folded`: it is within a part that is folded away already."""
    if isinstance(item, Table):
        return _table(item)
    if isinstance(item, Commands):
        return "```sh\n" + "\n".join(item.lines) + "\n```\n"
    if isinstance(item, Details):
        body = "\n".join(text for inner in item.items if (text := _item(inner, folded=True)))
        return _folded(item.summary, body) if body and not folded else f"{prose(item.summary)}:\n\n{body}" if body else ""
    return ""  # pictures stay on the page


def _table(table: Table) -> str:
    words = [tuple(replace(cell, picture=None) for cell in row) for row in table.rows]
    table = filled(replace(table, rows=tuple(words)))
    heads = [prose(column.title) or " " for column in table.columns]
    rules = ["--:" if column.style == "number" else ":--" for column in table.columns]
    rows = [[_cell(cell) for cell in row] for row in table.rows[:MOST_ROWS]]
    lines = [f"| {' | '.join(cells)} |" for cells in [heads, rules, *rows]]
    title = [f"**{prose(table.title)}**\n"] if table.title else []
    hidden = len(table.rows) - MOST_ROWS
    more = [f"\n{hidden:,} more rows are on the page."] if hidden > 0 else [f"\n{prose(table.more)}"] if table.more else []
    return "\n".join([*title, *lines, *more]) + "\n"


def _cell(cell: Cell) -> str:
    styles = cell.style.split()
    if "status" in styles:
        return f"{MARKS.get(cell.text, '')} {prose(cell.text)}".strip()
    text = code(cell.text) if {"name", "hash", "kernel"} & set(styles) else prose(cell.text)
    text = f"**{text}**" if text and {"bad", "strong"} & set(styles) else text
    return f"{text}<br>{prose(cell.note)}" if cell.note else text
