"""show what a model or a package holds: operators, MACs, parameters, memory, and all that is not supported"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich.table

import edgec
from edgec.base.errors import ModelError, Problem, gathered, some
from edgec.base.harmless import ending
from edgec.cli.console import Console, bytes_text, table
from edgec.cli.settings import declare_settings, resolve_settings

if TYPE_CHECKING:
    from edgec.verbs.inspect import Inspection


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="an ONNX file, or a package directory")
    declare_settings(parser, ("shape", "input", "output", "constant", "state", "operators", "target", "budget", "trust_model"))


def act(options: argparse.Namespace, console: Console) -> int:
    """Exit code 3 when something is not supported, so that scripts see it too."""
    found = edgec.inspect(options.model, config=resolve_settings(options))
    console.result(found.facts, tables(found))
    return ModelError.exit_code if found.unsupported else 0


def refuse(found: Inspection, model: Path) -> None:
    """The error that a build of this model would end with, where that is known without calibration."""
    problems = [Problem(item["what"], item["where"], item["hint"]) for item in found.unsupported]
    if problems:
        raise ModelError(f"{len(problems)} things in the model are not supported", problems, where=str(model))


def tables(found: Inspection) -> list[rich.table.Table | str]:
    """The inspection as a person reads it."""
    ports = [(kind, item["name"], item["dtype"], _shapes(item)) for kind in ("inputs", "outputs") for item in getattr(found, kind)]
    ports += [("states", f"{item['name']} from {item['output']}", item["dtype"], str(item["shape"])) for item in found.states]
    shown: list[rich.table.Table | str] = [table(found.name, ["", "name", "type", "shape"], ports)]
    if found.operators:
        shown += ["", table("operators", ["operator", "count"], found.operators.items())]
    if found.layers:
        shown += ["", table("layers", ["layer", "MACs", "tensor bytes", "weight bytes"], _layers(found)), "", _totals(found)]
    if found.kept_in_float:
        shown += ["", table("int8 leaves in float", ["nodes", "why"], _reasons(found))]
    if found.unsupported:
        rows = [(item.where, item.what, item.hint) for item in gathered(Problem(**item) for item in found.unsupported)]
        shown += ["", table("not supported", ["nodes", "why", "what to do"], rows)]
    return [*shown, *(f"note: {note}" for note in found.notes)]


def _shapes(port: Mapping[str, Any]) -> str:
    """All that it has, where a run says which."""
    return ", ".join(map(str, port.get("shapes") or [port["shape"]]))


def _reasons(found: Inspection) -> list[tuple[str, str]]:
    """What stays in float, a line for each reason."""
    nodes: dict[str, list[str]] = {}
    for name, why in found.kept_in_float.items():
        nodes.setdefault(why, []).append(name)
    return [(some(names), why) for why, names in nodes.items()]


def _layers(found: Inspection) -> list[tuple[object, ...]]:
    return [(ending(layer.name), f"{layer.macs:,}", f"{layer.bytes:,}", f"{layer.weights_bytes:,}") for layer in found.layers]


def _totals(found: Inspection) -> rich.table.Table:
    which = "float " if found.kind == "model" else ""
    rows: list[tuple[str, str]] = [("MACs", f"{found.macs:,}")]
    rows += [("parameters", f"{found.parameters:,}")] if found.kind == "model" else []
    rows += [(f"{which}arena", bytes_text(found.arena_bytes)), (f"{which}weights", bytes_text(found.weights_bytes))]
    return table("", ["", ""], rows)
