"""bring a package to boards, prove it there by its exam, and make it the version in use; or roll back"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import rich.table

import edgec
from edgec.base.errors import DeviceError, EdgecError, GateError
from edgec.cli.console import Console, table
from edgec.cli.devices import declare_choice
from edgec.cli.settings import declare_key, resolve_key


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("package", type=Path, help="a package directory that edgec build wrote")
    declare_choice(parser)
    parser.add_argument("--roll-back", action="store_true", help="switch to the version of this package that was in use before")
    declare_key(parser)
    parser.add_argument("--allow-downgrade", action="store_true", help="also a version below the highest that a board has accepted")
    parser.add_argument("--dry-run", action="store_true", help="say what would travel, and change nothing on any board")


def act(options: argparse.Namespace, console: Console) -> int:
    found: list[Any] = []
    failure: EdgecError | None = None
    try:
        with console.progress(apart=True) as progress:
            edgec.deploy(
                options.package, devices=options.device, tags=options.tag, everything=options.all, inventory=options.devices,
                roll_back=options.roll_back, dry_run=options.dry_run, key=resolve_key(options),
                allow_downgrade=options.allow_downgrade, progress=progress, finished=found.append,
            )  # fmt: skip
    except (DeviceError, GateError) as error:
        if not found:
            raise
        failure = error
    console.result({"boards": [item.facts for item in found], "exit_code": failure.exit_code if failure else 0}, [_shown(found)])
    if failure is None:
        return 0
    console.failure(failure)
    return failure.exit_code


def _shown(found: list[Any]) -> rich.table.Table:
    """A row for each board, in the order in which they ended."""
    columns = ["board", "target", "status", "version", "sent", "bytes", "kept", "exam", "seconds"]
    rows = []
    for item in found:
        exam = "" if item.exam is None else f"passed, {item.exam.isa}"
        exam += "" if item.gpu is None else f", {item.gpu.device}" if item.gpu.device else f", not on the GPU: {item.gpu.reason}"
        travelled = (item.sent_files, f"{item.sent_bytes:,}", item.kept_files) if item.version else ("", "", "")
        rows.append((item.device, item.target, item.status, item.version[:12], *travelled, exam, f"{item.seconds:.1f}"))
    return table("", columns, rows)
