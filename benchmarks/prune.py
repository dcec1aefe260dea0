"""What pruning gains and costs: packages with and without --prune, on labelled data and, interleaved in one run, in time.

    python benchmarks/prune.py FOLDER [--only resnet8 ...] [--shares 0.1 0.3 0.5] [--target host] [--precision int8] [--images 300]

FOLDER holds the models and data sets that benchmarks/accuracy.py names. A line for each share: the multiply-accumulates that are gone,
top-1, agreement and SQNR of the package's answers against the float model's over images that nothing was fitted to, the same two of the
pruned network in float on the samples that its build held back, and the package's time as a share of the unpruned one's with its 95%
interval. Nothing was trained after the pruning.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from accuracy import HELD_BACK, TASKS, Feed, Task, feed

import edgec
from edgec.exam.comparison import compare_answers
from edgec.exam.reference import FloatModel
from edgec.frontend import load_model

HEAD = f"{'':12}{'asked':>7}{'MACs':>8}{'weights':>9}{'top-1':>8}{'agree':>8}{'SQNR':>7}{'pruned float':>18}  time"


def compare(folder: Path, task: Task, shares: Sequence[float], images: int, target: str, precision: str) -> Iterator[str]:
    data = np.load(folder / task.evaluation)
    pictures, labels = data["x"], data["y"]
    known = np.load(folder / task.calibration)["x"] if task.calibration else pictures[:HELD_BACK]
    first = 0 if task.calibration else HELD_BACK
    pictures, labels = pictures[first : first + images], labels[first : first + images]
    graph = load_model(folder / task.model).graph
    name = graph.inputs[0]

    def samples() -> Iterator[Feed]:
        return (feed(name, image, task.arithmetic) for image in known)

    with tempfile.TemporaryDirectory() as place:
        packages = [
            edgec.build(
                folder / task.model, calib=samples, out=Path(place) / f"package{number}", prune=share or None, target=target,
                precision=precision,
            )
            for number, share in enumerate([0.0, *shares])
        ]  # fmt: skip
        timed = edgec.bench(
            [one.directory for one in packages], out=Path(place) / "bench", threads=[1], rounds=7, seconds=0.5, pause=0.0, accept_noise=True
        )
        ratios = {one.package: f"{one.ratio:.2f} ({one.low:.2f} to {one.high:.2f})" for one in timed.versus}
        for share, package in zip([0.0, *shares], packages, strict=True):
            with package.load() as runner:
                feeds = (feed(name, image, task.arithmetic) for image in pictures)
                found = compare_answers(list(graph.outputs), feeds, FloatModel(graph), runner, labels)
            manifest = (package.directory / "manifest.json").read_bytes()
            facts, output = package.manifest.pruning, found.outputs[0]
            floats = f"{facts.sqnr:.1f} dB {facts.agreement or 0:7.1%}" if facts else ""
            shape = f"{facts.macs if facts else 0:8.1%}{package.manifest.weights_bytes / 1024:8.0f}K"
            scores = f"{found.accuracy['package'][0]:8.1%}{output.agreement:8.1%}{output.sqnr_db:7.1f}{floats:>18}"
            yield f"{share:7g}{shape}{scores}  {ratios.get(sha256(manifest).hexdigest(), '1')}"


def main() -> None:
    parser = argparse.ArgumentParser(description="What pruning gains and costs.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--shares", nargs="*", type=float, default=[0.1, 0.3, 0.5])
    parser.add_argument("--target", default="host")
    parser.add_argument("--precision", default="int8", choices=["int8", "fp32"])
    parser.add_argument("--images", type=int, default=300)
    options = parser.parse_args()
    print(HEAD)
    for name in options.only:
        for line in compare(options.folder, TASKS[name], options.shares, options.images, options.target, options.precision):
            print(f"{name:12}{line}", flush=True)


if __name__ == "__main__":
    main()
