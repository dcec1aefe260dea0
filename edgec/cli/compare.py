"""compare a package with its model over data: agreement, accuracy, signal-to-noise ratio, largest error; layer by layer"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich.table

import edgec
from edgec.base.errors import GateError, Problem, UsageError
from edgec.cli.console import Console, table
from edgec.cli.layers import layer_tables
from edgec.cli.settings import declare_operators, resolve_operators

if TYPE_CHECKING:
    from edgec.exam.comparison import Comparison


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="the ONNX file, run in float32 by ONNX Runtime as the reference")
    parser.add_argument("package", type=Path, help="a package directory that edgec build wrote")
    parser.add_argument("--data", required=True, help="like --calib of edgec build: .npz, .npy, a folder of images, FILE.py:FUNCTION")
    parser.add_argument("--labels", default=None, help="class indices: the name of an array in the .npz, or an .npy file")
    parser.add_argument("--samples", type=int, default=None, help="use at most this many samples (all)")
    parser.add_argument("--min-agreement", type=float, default=None, help="fail (exit code 1) below this share of equal arg-max, e.g. 0.95")
    parser.add_argument("--min-sqnr", type=float, default=None, help="fail (exit code 1) below this signal-to-noise ratio in dB, e.g. 20")
    parser.add_argument("--isa", default=None, help="force a vocabulary, e.g. avx2")
    declare_operators(parser)
    parser.add_argument("--layers", action="store_true", help="also say what each layer of an INT8 package loses, and what to try next")
    parser.add_argument("--report", type=Path, default=None, help="with --layers: write a page with plots (.html), or JSON (.json)")
    parser.add_argument("--force", action="store_true", help="the report may replace an input, or a file that edgec did not write")


def act(options: argparse.Namespace, console: Console) -> int:
    if options.report is not None and not options.layers:
        raise UsageError("is a report of the layers", where="--report", hint="add --layers")
    facts, shown = _layers(options, console) if options.layers else ({}, [])
    if options.layers and not _must_run(options):
        console.note("note: the package cannot run here, so its own answers are not compared")
        console.result(facts, shown)
        return 0
    with console.progress() as progress:
        found = edgec.compare(
            options.model, options.package, options.data,
            labels=options.labels, samples=options.samples, isa=options.isa, operators=resolve_operators(options), progress=progress,
        )  # fmt: skip
    failures = found.failures(options.min_agreement, options.min_sqnr)
    console.result({**found.facts, "passed": not failures, **facts}, [*shown, *_tables(found)])
    if failures:
        console.failure(GateError(failures[0], list(map(Problem, failures[1:])), where=str(options.package)))
        return GateError.exit_code
    return 0


def _must_run(options: argparse.Namespace) -> bool:
    """Whether the package can run here, or the user asks for what only its own answers say."""
    asked = (options.labels, options.min_agreement, options.min_sqnr, options.isa)
    return any(value is not None for value in asked) or edgec.Package(options.package).can_run


def _layers(options: argparse.Namespace, console: Console) -> tuple[dict[str, Any], list[rich.table.Table | str]]:
    with console.progress() as progress:
        found = edgec.diagnose(
            options.model, options.package, options.data,
            samples=options.samples, report=options.report, force=options.force, operators=resolve_operators(options),
            progress=progress,
        )  # fmt: skip
    written = [f"wrote {options.report}"] if options.report else []
    return {"diagnosis": found.facts}, [*layer_tables(found), *written, ""]


def _tables(found: Comparison) -> list[rich.table.Table | str]:
    rows = [
        (score.output, score.sqnr_db, score.largest_error, f"{score.agreement:.2%}" if score.chooses else "-") for score in found.outputs
    ]
    shown: list[rich.table.Table | str] = [table(f"{found.samples} samples", ["output", "SQNR dB", "largest error", "agreement"], rows)]
    if found.accuracy:
        scores = [(name, f"{top1:.2%}", f"{top5:.2%}") for name, (top1, top5) in found.accuracy.items()]
        shown += ["", table("accuracy", ["", "top-1", "top-5"], scores)]
    return [*shown, "", *(f"warning: {warning}" for warning in found.warnings)] if found.warnings else shown
