"""write what edgec bench found as a page, Markdown, JUnit or a Chrome trace"""

from __future__ import annotations

import argparse
from pathlib import Path

import rich.table

import edgec
from edgec.cli.console import Console, table
from edgec.reports.suffixes import DEFAULT, SUFFIXES


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "results",
        type=Path,
        nargs="+",
        metavar="RESULTS",
        help="files that edgec bench wrote; several are a history, the last run is shown",
    )
    parser.add_argument(
        "-o", "--out", type=Path, action="append", metavar="FILE",
        help=f"where to write ({DEFAULT}); {', '.join(SUFFIXES)}: page, Markdown, JUnit, Chrome trace; may be given several times",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="replace the results, or files that edgec did not write")


def act(options: argparse.Namespace, console: Console) -> None:
    found = edgec.report(options.results, options.out or [DEFAULT], force=options.force)
    facts = found.facts
    rows = [(job["status"], job["device"], job["name"], job["exam"], job["reason"]) for job in facts["jobs"]]
    shown: list[rich.table.Table | str] = [table("", ["status", "board", "package", "exam", "reason"], rows), ""] if rows else []
    console.result(facts, [*shown, f"{facts['summary']}.", *(f"wrote {path}" for path in found.written)])
