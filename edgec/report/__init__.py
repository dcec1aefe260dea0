"""From records to what people and programs read: HTML, Markdown, JUnit, Chrome trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from edgec.errors import UsageError
from edgec.output import write_file
from edgec.report.html import render_html
from edgec.results import Record

FORMS: dict[str, Callable[..., str]] = {
    ".html": render_html,
}


def write_report(records: Iterable[Record], path: Path, *, history: Sequence[Iterable[Record]] = ()) -> None:
    """Write the report in the form that the suffix of `path` names; UsageError for another one, or where nobody may write.

    history: records of earlier runs, the oldest first. The same records give the same bytes.
    """
    if path.suffix.lower() not in FORMS:
        raise UsageError(f"unknown form of report {path.suffix!r}", where=str(path), hint=f"end its name in one of {', '.join(FORMS)}")
    write_file(path, FORMS[path.suffix.lower()](records, history=history).encode())
