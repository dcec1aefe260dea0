"""write commented settings, an inventory of boards and a workflow for a model into this folder"""

from __future__ import annotations

import argparse
from pathlib import Path

from edgec.cli.console import Console
from edgec.verbs.init import init


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, nargs="?", default=Path("model.onnx"), help="the ONNX file (model.onnx)")
    parser.add_argument("--data", type=Path, default=None, help="samples, which make it an int8 package (none: fp32)")


def act(options: argparse.Namespace, console: Console) -> None:
    found = init(options.model, data=options.data)
    facts = {"written": [str(path) for path in found.written], "kept": [str(path) for path in found.kept], "next": found.following}
    lines = [f"wrote {path}" for path in found.written] + [f"kept {path}, which was there" for path in found.kept]
    console.result(facts, [*lines, f"next: {found.following}"])
