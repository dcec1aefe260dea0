"""compare a package with its model over a data set: agreement, accuracy, signal-to-noise ratio, largest error"""

from __future__ import annotations

import argparse
from pathlib import Path

import edgec
from edgec.cli.console import Console, table
from edgec.errors import GateError
from edgec.package import Package


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="the ONNX file, run in float32 by ONNX Runtime as the reference")
    parser.add_argument("package", type=Path, help="a package directory that edgec build wrote")
    parser.add_argument("--data", required=True, help="like --calib of edgec build: .npz, .npy, a folder of images, FILE.py:FUNCTION")
    parser.add_argument("--labels", default=None, help="class indices: the name of an array in the .npz, or an .npy file")
    parser.add_argument("--min-agreement", type=float, default=None, help="fail (exit code 1) below this share of equal arg-max, e.g. 0.95")
    parser.add_argument("--isa", default=None, help="force a vocabulary, e.g. avx2")


def act(options: argparse.Namespace, console: Console) -> None:
    with console.progress() as progress:
        found = edgec.compare(
            options.model, Package(options.package), options.data, labels=options.labels, isa=options.isa, progress=progress
        )
    rows = [(score.output, score.sqnr_db, score.largest_error, score.agreement) for score in found.outputs]
    shown = [table(f"{found.samples} samples", ["output", "SQNR dB", "largest error", "agreement"], rows)]
    if found.accuracy:
        shown.append(table("", ["", "top-1", "top-5"], [(name, top1, top5) for name, (top1, top5) in found.accuracy.items()]))
    console.result(found.facts, shown)
    if options.min_agreement is not None and found.outputs[0].agreement < options.min_agreement:
        raise GateError(f"agreement {found.outputs[0].agreement:.4f} is below {options.min_agreement}", where=str(options.package))
