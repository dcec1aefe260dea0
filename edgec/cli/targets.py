"""list the targets that edgec builds for"""

from __future__ import annotations

import argparse

from edgec.cli.console import Console, table
from edgec.targets import all_targets


def declare(parser: argparse.ArgumentParser) -> None:
    """No flags of its own."""


def act(options: argparse.Namespace, console: Console) -> None:
    found = all_targets()
    rows = [(target.name, target.arch, target.os, " ".join(target.vocabularies), target.description) for target in found]
    facts = [dict(zip(("name", "arch", "os", "vocabularies", "description"), row, strict=True)) for row in rows]
    console.result({"targets": facts}, [table("", ["target", "processor", "system", "vocabularies", ""], rows)])
