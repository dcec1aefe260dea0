"""compare a package with its model over a data set: agreement, accuracy, signal-to-noise ratio, largest error"""

from __future__ import annotations

import argparse
from pathlib import Path

import rich.table

import edgec
from edgec.cli.console import Console, table
from edgec.errors import GateError, Problem


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="the ONNX file, run in float32 by ONNX Runtime as the reference")
    parser.add_argument("package", type=Path, help="a package directory that edgec build wrote")
    parser.add_argument("--data", required=True, help="like --calib of edgec build: .npz, .npy, a folder of images, FILE.py:FUNCTION")
    parser.add_argument("--labels", default=None, help="class indices: the name of an array in the .npz, or an .npy file")
    parser.add_argument("--samples", type=int, default=None, help="use at most this many samples (all)")
    parser.add_argument("--min-agreement", type=float, default=None, help="fail (exit code 1) below this share of equal arg-max, e.g. 0.95")
    parser.add_argument("--min-sqnr", type=float, default=None, help="fail (exit code 1) below this signal-to-noise ratio in dB, e.g. 20")
    parser.add_argument("--isa", default=None, help="force a vocabulary, e.g. avx2")


def act(options: argparse.Namespace, console: Console) -> int:
    with console.progress() as progress:
        found = edgec.compare(
            options.model, options.package, options.data,
            labels=options.labels, samples=options.samples, isa=options.isa, progress=progress,
        )  # fmt: skip
    rows = [(score.output, score.sqnr_db, score.largest_error, f"{score.agreement:.2%}") for score in found.outputs]
    shown: list[rich.table.Table | str] = [table(f"{found.samples} samples", ["output", "SQNR dB", "largest error", "agreement"], rows)]
    if found.accuracy:
        scores = [(name, f"{top1:.2%}", f"{top5:.2%}") for name, (top1, top5) in found.accuracy.items()]
        shown += ["", table("accuracy", ["", "top-1", "top-5"], scores)]
    failures = found.failures(options.min_agreement, options.min_sqnr)
    shown += ["", *(f"warning: {warning}" for warning in found.warnings)] if found.warnings else []
    console.result({**found.facts, "passed": not failures}, shown)
    if failures:
        console.failure(GateError(failures[0], list(map(Problem, failures[1:])), where=str(options.package)))
        return GateError.exit_code
    return 0
