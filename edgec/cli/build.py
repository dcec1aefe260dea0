"""optimize, quantize, emit and compile a model into a package, and examine it"""

from __future__ import annotations

import argparse
from pathlib import Path

import edgec
from edgec.cli.console import Console, table
from edgec.cli.inspect import tables
from edgec.cli.settings import declare_settings, resolve_settings
from edgec.config import BuildConfig
from edgec.package import Package


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="the ONNX file")
    declare_settings(parser)
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and what the model holds, and stop")


def act(options: argparse.Namespace, console: Console) -> None:
    config = resolve_settings(options)
    console.note(_plan(options.model, config))
    if options.dry_run:
        found = edgec.inspect(options.model, config=config)
        console.result({"plan": _plan(options.model, config), **found.facts}, tables(found))
        return
    with console.progress() as progress:
        package = edgec.build(options.model, config=config, progress=progress)
    facts = _facts(package, examined=config.compile)
    for note in package.manifest["notes"]:
        console.note(f"note: {note}")
    console.result(facts, [table("", ["", ""], [(key, value) for key, value in facts.items() if not isinstance(value, (list, dict))])])


def _plan(model: Path, config: BuildConfig) -> str:
    calibration = f", calibrated on {config.calib}" if config.calib and config.precision == "int8" else ""
    return f"{model} -> {config.precision} for {config.target}{calibration}"


def _facts(package: Package, *, examined: bool) -> dict[str, object]:
    manifest = package.manifest
    facts: dict[str, object] = {
        "package": str(package.directory),
        "target": manifest["target"],
        "precision": manifest["precision"],
        "arena_bytes": manifest["arena"]["bytes"],
        "weights_bytes": manifest["weights"]["bytes"],
        "macs": manifest["macs"],
    }
    if examined and package.can_run:
        facts["exam"] = "passed" if package.examine() else "failed"
    return facts
