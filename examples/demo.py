#!/usr/bin/env python3
"""`make demo`: the example model is calibrated, quantized, built for this machine, examined and timed, and the result shown."""

from __future__ import annotations

import sys
from pathlib import Path

import edgec
from edgec.cli.console import Console, ProgressDisplay, table
from edgec.comparison import Comparison

HERE = Path(__file__).parent / "digits"
OUT = Path("build/demo")
SECONDS = 0.5


def build(precision: str, progress: ProgressDisplay) -> tuple[edgec.Package, Comparison, float]:
    """One package, its scores on the held-out images, and its median latency in microseconds."""
    calib = HERE / "calibration.npz"
    package = edgec.build(HERE / "digits.onnx", precision=precision, calib=calib, out=OUT / precision, progress=progress)
    package.examine()
    scores = edgec.compare(HERE / "digits.onnx", package, HERE / "evaluation.npz", labels="labels")
    return package, scores, package.benchmark(SECONDS)["p50_us"]


def main() -> int:
    console = Console()
    try:
        with console.progress() as progress:
            results = {precision: build(precision, progress) for precision in ("fp32", "int8")}
    except edgec.EdgecError as error:
        console.error(error)
        return error.exit_code
    reference = results["fp32"][1].accuracy["fp32"][0]
    rows: list[tuple[object, ...]] = [("ONNX Runtime fp32", f"{reference:.2%}", "", "", "", "")]
    for precision, (package, scores, latency) in results.items():
        facts = package.manifest
        sizes = (f"{facts['weights']['bytes'] / 1024:.1f} KiB", f"{facts['arena']['bytes'] / 1024:.1f} KiB")
        rows.append(
            (f"edgec {precision}", f"{scores.accuracy['package'][0]:.2%}", f"{scores.outputs[0].agreement:.2%}", f"{latency:.1f}", *sizes)
        )
    columns = ["", "top-1", "agreement with fp32", "latency us (p50)", "weights", "arena"]
    shown = table(f"digits, {results['int8'][1].samples} held-out images; both exams passed", columns, rows)
    where = f"\nThe INT8 package: {results['int8'][0].directory}/ (start with include/digits.h and src/digits.c)"
    following = (
        "For a Raspberry Pi 4: .venv/bin/edgec build --target rpi4 --calib examples/digits/calibration.npz examples/digits/digits.onnx"
    )
    console.result({}, [shown, where, following])
    return 0


if __name__ == "__main__":
    sys.exit(main())
