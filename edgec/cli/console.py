"""What verbs print with: results on standard output (a table, or JSON alone), everything else on standard error."""

from __future__ import annotations

import json
import math
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import rich.console
import rich.table
from rich.markup import escape

from edgec.base.errors import EdgecError
from edgec.base.harmless import without_controls
from edgec.cli.progress import ProgressDisplay

SCHEMA_VERSION = 1
NARROW = 140  # columns
WIDE = 1000  # columns of an output that is no terminal: nothing is folded


class _Stream(rich.console.Console):
    """Whoever ends reading ends the program: main() says with which status, and farms let go of their boards before."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class Console:
    """One for each run of the program; honours NO_COLOR through rich."""

    def __init__(self, *, json: bool = False, quiet: bool = False, verbose: bool = False) -> None:
        self.as_json, self.quiet, self.verbose = json, quiet, verbose
        self._results = _Stream(highlight=False, emoji=False, width=None if sys.stdout.isatty() else WIDE)
        self._notes = _Stream(stderr=True, highlight=False, emoji=False, width=None if sys.stderr.isatty() else WIDE)

    def note(self, text: str) -> None:
        """A remark on standard error, unless --quiet."""
        if not self.quiet:
            self._notes.print(_shown(text), soft_wrap=True)

    def remark(self, table: rich.table.Table) -> None:
        """A table on standard error, unless --quiet."""
        if not self.quiet:
            self._notes.print(table)

    def error(self, error: EdgecError) -> None:
        """What ended the verb, in place of a result."""
        if self.as_json:
            problems = [{"what": item.what, "where": item.where, "hint": item.hint} for item in error.problems]
            self._json(
                {"error": error.summary, "where": error.where, "hint": error.hint, "problems": problems, "exit_code": error.exit_code}
            )
        self.failure(error)

    def failure(self, error: EdgecError) -> None:
        """What is wrong beside a result that was shown."""
        if self.verbose:
            self._notes.print("".join(traceback.format_exception(error)), markup=False, soft_wrap=True)
        self._notes.print(f"[bold red]error:[/] {_shown(error.render())}", soft_wrap=True)

    def result(self, facts: Mapping[str, Any], show: Sequence[rich.table.Table | str] = ()) -> None:
        """The answer of the verb: `facts` with --json, else the tables and lines of `show`."""
        if self.as_json:
            self._json(facts)
            return
        for item in show:
            self._results.print(_shown(item) if isinstance(item, str) else item, soft_wrap=isinstance(item, str))

    def _json(self, facts: Mapping[str, Any]) -> None:
        print(json.dumps(_plain({"schema_version": SCHEMA_VERSION, **facts}), indent=1, allow_nan=False))

    @property
    def narrow(self) -> bool:
        """Whether results go to a terminal on which a table of long words would be folded."""
        return self._results.width < NARROW

    def progress(self, shares: Mapping[str, int] | None = None, *, apart: bool = False) -> ProgressDisplay:
        """On standard error, unless --quiet or --json, as ProgressDisplay has it."""
        return ProgressDisplay(self._notes, enabled=not (self.quiet or self.as_json), shares=shares, apart=apart)


def _plain(value: Any) -> Any:
    """`value` for JSON, which has no infinities: they become null."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _shown(text: str) -> str:
    """Words that may be a model's or a board's, for a terminal: they neither steer it nor choose how they look."""
    return escape(without_controls(text.replace("\t", "    ")))


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> rich.table.Table:
    """A plain table; numbers to the right, no header where all columns are nameless."""
    texts = [[_text(cell) for cell in row] for row in rows]
    result = rich.table.Table(title=_shown(title) if title else None, title_justify="left", box=None, pad_edge=False)
    result.show_header = any(columns)
    for index, column in enumerate(columns):
        numeric = bool(texts) and bool(column) and all(row[index][:1] in "0123456789-." for row in texts)
        result.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in texts:
        result.add_row(*[_shown(cell) for cell in row])
    return result


def bytes_text(count: int) -> str:
    """A size as people read it, and exactly where that differs."""
    for unit, size in (("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.1f} {unit} ({count:,} bytes)"
    return f"{count} bytes"


def _text(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:.4g}"
    if isinstance(cell, Mapping):
        return ", ".join(f"{key} {value}" for key, value in cell.items())
    return " ".join(map(str, cell)) if isinstance(cell, (list, tuple)) else str(cell)
