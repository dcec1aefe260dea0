"""show what a model or a package holds: operators, MACs, parameters, memory, and all that is not supported"""

from __future__ import annotations

import argparse
from pathlib import Path

import rich.table

import edgec
from edgec.cli.console import Console, table
from edgec.cli.settings import declare_settings, resolve_settings
from edgec.inspection import Inspection


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="an ONNX file, or a package directory")
    declare_settings(parser, ("shape", "target"))


def act(options: argparse.Namespace, console: Console) -> None:
    found = edgec.inspect(options.model, config=resolve_settings(options))
    console.result(found.facts, tables(found))


def tables(found: Inspection) -> list[rich.table.Table | str]:
    """The inspection as a person reads it."""
    ports = [(kind, item["name"], item["dtype"], item["shape"]) for kind in ("inputs", "outputs") for item in getattr(found, kind)]
    totals = [("MACs", found.macs), ("arena bytes", found.arena_bytes), ("weight bytes", found.weights_bytes)]
    totals += [("parameters", found.parameters)] if found.kind == "model" else []
    shown: list[rich.table.Table | str] = [table(found.name, ["", "name", "type", "shape"], ports), table("", ["", ""], totals)]
    if found.operators:
        shown.append(table("operators", ["operator", "count"], found.operators.items()))
    shown.append(table("layers", ["layer", "MACs", "bytes"], [(layer.name, layer.macs, layer.bytes) for layer in found.layers]))
    if found.unsupported:
        rows = [(item["where"], item["what"], item["hint"]) for item in found.unsupported]
        shown.append(table("not supported", ["node", "why", "what to do"], rows))
    return shown
