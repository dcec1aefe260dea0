"""show what a model or a package holds: operators, MACs, parameters, memory, and all that is not supported"""

from __future__ import annotations

import argparse
from pathlib import Path

import edgec
from edgec.cli.console import Console
from edgec.cli.settings import declare_settings, resolve_settings


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="an ONNX file, or a package directory")
    declare_settings(parser, ("shape", "target"))


def act(options: argparse.Namespace, console: Console) -> None:
    found = edgec.inspect(options.model, config=resolve_settings(options))
    console.result(found.facts, found.tables)
