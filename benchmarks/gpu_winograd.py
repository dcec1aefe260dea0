"""Winograd's convolutions beside direct ones on a GPU, layer by layer: what the cost rule promises, what is counted, what is measured.

    python benchmarks/gpu_winograd.py FOLDER [--only resnet8 ...] [--target linux-vulkan] [--seconds 1] [--rounds 5]

FOLDER holds models (see benchmarks/models.py). Each is built in float twice, by the rule and with every convolution direct, and both pass
their exam on the GPU. Then the two take turns, every call being given to the GPU by itself: a line for each convolution that the rule
gives to Winograd has the words loaded for a multiplication of the direct sum, the median microseconds over the rounds without what giving
and waiting takes, and the ratios. "costs" is what the rule expects. Without a GPU all of it runs on lavapipe. Exit code 1 when an
exam fails.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from models import SUBJECTS, Subject, feed, find, photographs

import edgec
from edgec.base.codec import encode
from edgec.kernels.gpu.squares import SquarePlan
from edgec.package.running import exam_program
from edgec.schedule.gpu import shading
from edgec.schedule.gpu.squares import cost_of_squares, direct_cost, plan_squares

NAMES = ("resnet8", "sed_unet", "superres", "ultraface", "squeezenet", "yolox_nano")
HEAD = f"{'call':<40}{'M MAC':>8}{'tile':>12}{'loads/MAC':>10}{'direct':>8}{'us':>10}{'direct':>10}{'costs':>8}{'loads':>8}{'time':>8}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", default=NAMES, help="models whose name holds one of these words")
    parser.add_argument("--target", default="linux-vulkan")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each round")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    passed = True
    for subject in SUBJECTS:
        path = find(subject, options.folder)
        if path is not None and any(word in subject.name for word in options.only):
            print(f"\n{subject.name}\n{HEAD}")
            passed &= compare(subject, path, options)
    return int(not passed)


def compare(subject: Subject, path: Path, options: argparse.Namespace) -> bool:
    """Prints a model's lines; whether both exams pass."""
    shape = {name: array.shape for name, array in feed(subject, path, next(iter(photographs(subject, options.folder)))).items()}
    plans: list[SquarePlan] = []

    def noted(*arguments: Any) -> SquarePlan | None:
        plan = plan_squares(*arguments)
        plans.extend([plan] if plan else [])
        return plan

    with tempfile.TemporaryDirectory(prefix="edgec-winograd-") as folder:
        build = {"target": options.target, "precision": "fp32", "shape": shape, "name": "net"}
        with patch.object(shading, "plan_squares", noted):
            squares = edgec.build(path, **build, out=Path(folder, "squares"))
        with patch.object(shading, "plan_squares", lambda *_: None):
            direct = edgec.build(path, **build, out=Path(folder, "direct"))
        exams = [package.examine(gpu=True) for package in (squares, direct)]
        rounds = [[profiled(package, options.seconds) for package in (squares, direct)] for _ in range(options.rounds)]
        told(squares, direct, iter(plans), rounds)
    return all(exam["passed"] for exam in exams)


def profiled(package: edgec.Package, seconds: float) -> list[float]:
    """Microseconds of every call."""
    words = [*exam_program(package.directory, package.target), "--json", "--gpu", "--profile", str(seconds)]
    found = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    return [us - found["wait_us"] for us in found["calls_us"]]


def told(squares: edgec.Package, direct: edgec.Package, plans: Any, rounds: list[list[list[float]]]) -> None:
    ours, theirs = encode(squares.manifest), encode(direct.manifest)
    both = zip(ours["calls"], ours["gpu"]["calls"], theirs["gpu"]["calls"], strict=True)
    for index, (call, one, other) in enumerate(both):
        if one != other:
            plan = next(plans)
            us, others = (median(times[kind][index] for times in rounds) for kind in (0, 1))
            tile, macs = f"{plan.tile.squares} x {plan.tile.lanes}", one["macs"]
            costs = direct_cost(plan) / cost_of_squares(plan)
            print(
                f"{call['name'][:38]:<40}{macs / 1e6:>8.2f}{tile:>12}{one['loads'] / macs:>10.4f}{other['loads'] / macs:>8.4f}"
                f"{us:>10.0f}{others:>10.0f}{costs:>8.2f}{other['loads'] / one['loads']:>8.2f}{others / us:>8.2f}"
            )


if __name__ == "__main__":
    sys.exit(main())
