#!/usr/bin/env python3
"""`make demo`: the example model is calibrated, quantized, built for this machine, examined and timed, and the result shown."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import edgec
from edgec.cli.console import Console, table
from edgec.exam.comparison import Comparison

HERE = Path(__file__).parent / "digits"
MODEL, CALIBRATION, EVALUATION = HERE / "digits.onnx", HERE / "calibration.npz", HERE / "evaluation.npz"
OUT = Path("build/demo")
SECONDS = 0.5
SHADES, BAR = " .:-=+*#%@", 30


@dataclass(frozen=True)
class Result:
    """One package that passed its exam, its scores on the held-out images, and what the exam program measured."""

    package: edgec.Package
    scores: Comparison
    speed: dict[str, float | str]


def build(precision: str, console: Console) -> Result:
    console.note(f"building {precision}")
    with console.progress() as progress:
        package = edgec.build(MODEL, precision=precision, calib=CALIBRATION, out=OUT / precision, progress=progress)
    package.examine()
    scores = edgec.compare(MODEL, package, EVALUATION, labels="labels")
    return Result(package, scores, package.benchmark(SECONDS))


def row(precision: str, result: Result) -> tuple[object, ...]:
    facts, scores = result.package.manifest, result.scores
    sizes = (f"{facts.weights.bytes / 1024:.1f} KiB", f"{facts.arena.bytes / 1024:.1f} KiB")
    return (
        f"edgec {precision}",
        f"{scores.accuracy['package'][0]:.2%}",
        f"{scores.outputs[0].agreement:.2%}",
        f"{result.speed['p50_us']:.1f}",
        result.speed["isa"],
        *sizes,
    )


def show(results: dict[str, Result], console: Console) -> None:
    int8 = results["int8"]
    rows = [("ONNX Runtime fp32", f"{int8.scores.accuracy['fp32'][0]:.2%}", "", "", "", "", "")]
    columns = ["", "top-1", "agreement with fp32", "latency us (p50)", "instructions", "weights", "arena"]
    shown = table(
        f"digits, {int8.scores.samples} held-out images, one thread; both packages passed their exams",
        columns,
        [*rows, *(row(precision, result) for precision, result in results.items())],
    )
    where = f"The INT8 package lies in {int8.package.directory}/; start with include/digits.h and src/digits.c."
    program, calibration, model = (os.path.relpath(path) for path in (Path(sys.executable).parent / "edgec", CALIBRATION, MODEL))
    command = f"{program} build --target rpi4 --calib {calibration} {model}"
    following = f"Next, for a Raspberry Pi 4 (a cross-compiler, such as Debian's gcc-aarch64-linux-gnu, or --no-compile):\n  {command}"
    console.result({}, ["", shown, "", *answer(int8.package), "", where, following])


def answer(package: edgec.Package) -> list[str]:
    """One held-out picture as letters, and beside it what the package makes of it: the classes it finds likeliest."""
    data = np.load(EVALUATION)
    picture = data["image"][0]
    with package.load() as classify:
        (logits,) = classify(picture[None])
    shares = np.exp(logits[0] - logits[0].max())
    shares /= shares.sum()
    best = [f"{digit}  {shares[digit]:7.2%}  {'#' * round(float(shares[digit]) * BAR)}" for digit in np.argsort(-shares)[:3]]
    words = [f"the INT8 package's answer to a held-out picture, a {data['labels'][0]}:", *best]
    scaled = (picture[0] - picture.min()) / (np.ptp(picture) or 1) * (len(SHADES) - 1)
    lines = ["".join(SHADES[round(float(value))] * 2 for value in row) for row in scaled]
    return [f"{line}   {word}".rstrip() for line, word in zip(lines, words + [""] * len(lines), strict=False)]


def main() -> int:
    console = Console()
    try:
        show({precision: build(precision, console) for precision in ("fp32", "int8")}, console)
    except edgec.EdgecError as error:
        console.error(error)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
