"""Instructions that one INT8 inference takes on microcontrollers, counted by QEMU on the targets' emulated boards: the same in each run.

    python benchmarks/micro.py [MODEL.onnx...] [--target cortex-m4 cortex-m7 cortex-m55] [--work FOLDER]

Without a model: the four networks of MLPerf Tiny (benchmarks/tiny_networks.py), with random weights, as are their samples. A row says
millions of instructions of an inference, how many these are for each multiplication, and the RAM of the package's tensors; inputs and
outputs are INT8, as in MLPerf Tiny. Instructions are not time. The last column is of other people's board: millions of cycles that CMSIS-NN
takes there.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from tiny_networks import NETWORKS

import edgec

TARGETS = ("cortex-m4", "cortex-m7", "cortex-m55")
SAMPLES = 8
# Inferences a second of microTVM with CMSIS-NN, on a NUCLEO-L4R5ZI, whose Cortex-M4 has 120 MHz: closed/Krai of MLPerf Tiny 1.1,
# https://github.com/mlcommons/tiny_results_v1.1/blob/main/closed/Krai/results/README.md
CMSIS_NN = {"keywords": 10.019, "persons": 3.324, "images": 2.567, "machines": 116.212}
CMSIS_NN_TARGET, CMSIS_NN_HZ = "cortex-m4", 120e6


@dataclass(frozen=True)
class Counted:
    """Of one inference: instructions, multiplications, and bytes of the arena."""

    isa: str
    instructions: int
    macs: int
    arena: int

    @property
    def per_mac(self) -> float:
        return self.instructions / self.macs


def main() -> None:
    options = parse()
    with tempfile.TemporaryDirectory(prefix="edgec-micro-") as folder:
        work = options.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        print("| network | target | isa | M instructions | per MAC | RAM, KiB | CMSIS-NN, M cycles |\n" + "|---" * 7 + "|")
        for name, model in models(options.models, work):
            for target in options.target:
                print(row(name, target, count(model, target, work)), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="*", metavar="MODEL.onnx")
    parser.add_argument("--target", nargs="+", default=list(TARGETS))
    parser.add_argument("--work", type=Path, help="folder to keep models and packages in")
    return parser.parse_args()


def models(given: list[Path], work: Path) -> Iterator[tuple[str, Path]]:
    """Names and files of what is counted."""
    for path in given:
        yield path.stem, path
    for name, build in NETWORKS.items() if not given else ():
        onnx.save(build(), work / f"{name}.onnx")
        yield name, work / f"{name}.onnx"


def count(model: Path, target: str, work: Path) -> Counted:
    """Builds, examines and times a package: QEMU's clock goes on by a microsecond in a thousand instructions."""
    samples = work / f"{model.stem}.npz"
    np.savez(samples, **drawn(model))
    package = edgec.build(model, target=target, calib=samples, io="int8", out=work / f"{model.stem}-{target}", force=True)
    times = package.benchmark(0.001, runs=1, samples=1)
    facts = package.manifest
    return Counted(times["isa"], round(times["min_us"] * 1000), facts.macs, facts.arena.bytes)


def drawn(model: Path) -> dict[str, np.ndarray]:
    """Samples of the model's inputs."""
    graph, random = onnx.load(model).graph, np.random.default_rng(2)
    constants = {constant.name for constant in graph.initializer}
    shapes = {
        value.name: [size.dim_value or 1 for size in value.type.tensor_type.shape.dim]
        for value in graph.input
        if value.name not in constants
    }
    return {name: random.standard_normal((SAMPLES, *shape[1:])).astype(np.float32) for name, shape in shapes.items()}


def row(name: str, target: str, found: Counted) -> str:
    published = f"{CMSIS_NN_HZ / CMSIS_NN[name] / 1e6:.2f}" if target == CMSIS_NN_TARGET and name in CMSIS_NN else ""
    figures = f"{found.instructions / 1e6:.3f} | {found.per_mac:.2f} | {found.arena / 1024:.1f}"
    return f"| {name} | {target} | {found.isa} | {figures} | {published} |"


if __name__ == "__main__":
    main()
