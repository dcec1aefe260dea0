"""What verbs print with: results on standard output (a table, or JSON alone), everything else on standard error."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import rich.console
import rich.table
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from edgec.errors import EdgecError

SCHEMA_VERSION = 1


class Console:
    """One for each run of the program; honours NO_COLOR through rich."""

    def __init__(self, *, json: bool = False, quiet: bool = False, verbose: bool = False) -> None:
        self.as_json, self.quiet, self.verbose = json, quiet, verbose
        self._results = rich.console.Console(highlight=False)
        self._notes = rich.console.Console(stderr=True, highlight=False)

    def note(self, text: str) -> None:
        """A remark on standard error, unless --quiet."""
        if not self.quiet:
            self._notes.print(escape(text), soft_wrap=True)

    def detail(self, text: str) -> None:
        """A remark that only --verbose shows."""
        if self.verbose:
            self.note(text)

    def error(self, error: EdgecError) -> None:
        if self.as_json:
            problems = [{"what": item.what, "where": item.where, "hint": item.hint} for item in error.problems]
            facts = {"error": error.summary, "where": error.where, "hint": error.hint, "problems": problems, "exit_code": error.exit_code}
            print(json.dumps({"schema_version": SCHEMA_VERSION, **facts}, indent=1))
        self._notes.print(f"[bold red]error:[/] {escape(error.render())}", soft_wrap=True)

    def result(self, facts: Mapping[str, Any], show: Sequence[rich.table.Table | str] = ()) -> None:
        """The answer of the verb: `facts` with --json, else the tables and lines of `show`."""
        if self.as_json:
            print(json.dumps({"schema_version": SCHEMA_VERSION, **facts}, indent=1))
            return
        for item in show:
            self._results.print(escape(item) if isinstance(item, str) else item, soft_wrap=True)

    def progress(self) -> ProgressDisplay:
        return ProgressDisplay(self._notes, enabled=not self.quiet)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> rich.table.Table:
    """A plain table; numbers to the right."""
    rows = [[_text(cell) for cell in row] for row in rows]
    result = rich.table.Table(title=escape(title) if title else None, title_justify="left", box=None, pad_edge=False)
    for index, column in enumerate(columns):
        numeric = bool(rows) and all(row[index][:1] in "0123456789-." for row in rows)
        result.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        result.add_row(*map(escape, row))
    return result


def _text(cell: object) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


class ProgressDisplay:
    """A bar with an estimate for each stage on a terminal; a line for each stage where there is none."""

    def __init__(self, console: rich.console.Console, *, enabled: bool) -> None:
        self._console, self._enabled, self._stages = console, enabled, dict[str, Any]()
        columns = [TextColumn("{task.description:<28}"), BarColumn(), TextColumn("{task.completed:.0f}/{task.total:.0f}")]
        self._bars = Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, disable=not self._live)
        self._started = time.monotonic()

    @property
    def _live(self) -> bool:
        return self._enabled and self._console.is_terminal

    def __call__(self, stage: str, done: int, total: int) -> None:
        """`done` of `total` steps of `stage` are finished."""
        if not self._enabled:
            return
        if stage not in self._stages:
            self._stages[stage] = self._bars.add_task(stage, total=total)
            if not self._live:
                print(f"[{time.monotonic() - self._started:6.1f} s] {stage}", file=sys.stderr, flush=True)
        self._bars.update(self._stages[stage], completed=done, total=total)

    def __enter__(self) -> ProgressDisplay:
        self._bars.__enter__()
        return self

    def __exit__(self, *failure: Any) -> None:
        self._bars.__exit__(*failure)
