"""show how much earlier builds left for later ones, or remove it"""

from __future__ import annotations

import argparse

from edgec.cache import opened
from edgec.cli.console import Console, bytes_text, table


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", choices=["show", "clean"], default="show", help="show: how much there is (the default); clean: remove it"
    )


def act(options: argparse.Namespace, console: Console) -> None:
    store = opened()
    found = store.clean() if options.action == "clean" else store.entries()
    size = sum(facts.st_size for _, facts in found)
    facts = {
        "folder": str(store.folder or ""),
        "entries": len(found),
        "bytes": size,
        "most_bytes": store.most,
        "removed": options.action == "clean",
    }
    what = "removed" if options.action == "clean" else "holds"
    rows = [
        ("folder", facts["folder"] or "none: the cache is off"),
        (what, f"{len(found)} entries, {bytes_text(size)}"),
        ("at most", bytes_text(store.most)),
    ]
    console.result(facts, [table("", ["", ""], rows)])
