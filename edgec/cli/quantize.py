"""calibrate and quantize a model into a standard INT8 ONNX file (QuantizeLinear / DequantizeLinear)"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import rich.table

import edgec
from edgec.cli.console import Console, table
from edgec.cli.goal import goal_tables
from edgec.cli.inspect import refuse, tables
from edgec.cli.pruning import pruning_tables
from edgec.cli.settings import declare_settings, resolve_settings, settings_table
from edgec.settings.facts import settings_facts

SETTINGS = (
    *(
        "calib",
        "shape",
        "input",
        "output",
        "constant",
        "state",
        "operators",
        "observer",
        "effort",
        "exclude",
        "min_sqnr",
        "max_drop",
        "profile",
        "prune",
    ),
    *("samples", "fuse_preprocess", "budget", "trust_model", "dump", "force"),
)
WORST = 20
COLUMNS = {
    "node": "node",
    "operator": "operator",
    "low": "low",
    "high": "high",
    "scale": "scale",
    "zero_point": "zero point",
    "sqnr": "SQNR dB",
}
STEPS = {"step": "step", "before": "without", "everywhere": "everywhere", "after": "kept", "taken": "kept in"}


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="the ONNX file")
    parser.add_argument("-o", "--out", type=Path, default=None, help="the INT8 ONNX file to write (MODEL.int8.onnx in this folder)")
    parser.add_argument("--report", type=Path, default=None, help="write the report of every layer as JSON, or as a page (.html)")
    declare_settings(parser, SETTINGS)
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and what the model holds, and stop")


def act(options: argparse.Namespace, console: Console) -> None:
    config = resolve_settings(options)
    output = options.out or Path(options.model.with_suffix(".int8.onnx").name)
    how = f"observer {config.observer or 'mse'}" + (f", effort {config.effort}" if config.effort else "")
    source = f", calibrated on {config.calib}, {how}" if config.calib else ""
    console.note(f"{options.model} -> {output}{source}")
    console.remark(settings_table(config))
    if options.dry_run:
        found = edgec.inspect(options.model, config=config)
        console.result({"model": str(output), "settings": settings_facts(config), **found.facts}, tables(found))
        refuse(found, options.model)
        return
    with console.progress() as progress:
        quantized = edgec.quantize(options.model, out=output, report=options.report, config=config, progress=progress)
    report = quantized.report.to_json()
    console.result({"model": str(output), **report}, [*_tables(report), f"wrote {output}"])


def _tables(report: dict[str, Any]) -> list[rich.table.Table | str]:
    """The layers that lose most, what stays in float, and remarks."""
    layers = report["layers"][:WORST]
    title = (
        f"the {len(layers)} of {len(report['layers'])} layers that lose most"
        if len(layers) < len(report["layers"])
        else "layers, worst first"
    )
    shown: list[rich.table.Table | str] = []
    if layers:
        shown.append(table(title, list(COLUMNS.values()), [[layer[key] for key in COLUMNS] for layer in layers]))
    if report["outputs"]:
        shown += ["", table("outputs", ["output", "SQNR dB"], report["outputs"].items())]
    if report["steps"]:
        rows = [[step[key] if key != "taken" else f"{step[key]} of {step['places']}" for key in STEPS] for step in report["steps"]]
        shown += ["", table("steps, SQNR dB on held-back samples", list(STEPS.values()), rows)]
    if report["pruning"]:
        shown += pruning_tables(report["pruning"])
    if report["goal"]:
        shown += goal_tables(report["goal"])
    if report["kept_in_float"]:
        shown += ["", table("left in float", ["node", "why"], report["kept_in_float"].items())]
    return [*shown, *(f"note: {note}" for note in report["notes"])]
