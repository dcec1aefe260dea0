"""What a page is made of. Everything arrives in words: templates place it and decide nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from edgec.reports.svg import Picture


@dataclass(frozen=True)
class Cell:
    """style: a class of the style sheet; note: a second, fainter line."""

    text: str
    style: str = ""
    note: str = ""
    picture: Picture | None = None


@dataclass(frozen=True)
class Column:
    title: str
    style: str = ""


@dataclass(frozen=True)
class Table:
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    more: str = ""  # what was left out
    kind: str = "table"


@dataclass(frozen=True)
class Figure:
    title: str
    picture: Picture
    caption: str = ""


@dataclass(frozen=True)
class Gallery:
    """Pictures side by side, as many as the page is wide; `wide` ones each in a row of its own."""

    figures: tuple[Figure, ...]
    more: str = ""
    wide: bool = False
    kind: str = "gallery"


@dataclass(frozen=True)
class Details:
    """Folded away until somebody asks."""

    summary: str
    items: tuple[Table | Gallery, ...]
    kind: str = "details"


@dataclass(frozen=True)
class Commands:
    """Lines to type."""

    lines: tuple[str, ...]
    kind: str = "commands"


Item = Table | Gallery | Details | Commands


@dataclass(frozen=True)
class Section:
    anchor: str
    title: str
    lead: str
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Tile:
    """One number worth a glance."""

    value: str
    name: str
    style: str = ""


@dataclass(frozen=True)
class Page:
    title: str
    subtitle: str
    status: str
    verdict: str
    tiles: tuple[Tile, ...]
    sections: tuple[Section, ...]


def columns(*titles: str) -> tuple[Column, ...]:
    """A title that starts with # heads numbers, which go to the right."""
    return tuple(Column(title.removeprefix("#"), "number" if title.startswith("#") else "") for title in titles)


def cells(*texts: str | Cell) -> tuple[Cell, ...]:
    return tuple(text if isinstance(text, Cell) else Cell(text) for text in texts)


def status_cell(status: str, note: str = "") -> Cell:
    return Cell(status, f"status {status}", note)


def filled(table: Table) -> Table:
    """The table without columns in which nothing is said."""
    kept = [index for index in range(len(table.columns)) if any(row[index].text or row[index].picture for row in table.rows)]
    rows = tuple(tuple(row[index] for index in kept) for row in table.rows)
    return replace(table, columns=tuple(table.columns[index] for index in kept), rows=rows)
