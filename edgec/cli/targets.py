"""list the targets that edgec builds for"""

from __future__ import annotations

import argparse

from edgec.cli.console import Console, table
from edgec.targets import all_targets, host_name


def declare(parser: argparse.ArgumentParser) -> None:
    """No flags of its own."""


def act(options: argparse.Namespace, console: Console) -> None:
    facts = [
        {
            "name": target.name,
            "host": target.name == host_name(),
            "arch": target.arch,
            "os": target.os,
            "vocabularies": list(target.vocabularies),
            "description": target.description,
        }
        for target in all_targets()
    ]
    rows = [[f"{item['name']} (host)" if item["host"] else item["name"], *list(item.values())[2:]] for item in facts]
    shown = table("", ["target", "processor", "system", "vocabularies", ""], rows)
    console.result({"targets": facts}, [table("", ["target", ""], [(row[0], row[-1]) for row in rows]) if console.narrow else shown])
