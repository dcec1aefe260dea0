"""Every int8 convolution of a MobileNetV2 package beside a hand-tuned program for that layer alone, on the same core in one run.

    python benchmarks/layers.py PACKAGE --study DIR [--rounds 40] [--core 1]

DIR holds the study: run.py with run_conv and run_dw, layers.py with the list L, table.md with the best tile of each layer. Both take
turns, and of both the least counts. edgec's microseconds are of a call within a whole run, as the package's profile has them; the
study's program is timed by itself over and over ("hot"), and with nothing of its own left in the caches but its input and output, which is
nearer to a whole run ("cold"). Layers of one geometry are one row, with the mean of edgec's.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import edgec

SECONDS, TURN = 0.1, 2e-3  # of edgec's profile and of a layer of the study, in a round
EVICT = 8 << 20  # bytes to read so that the caches of one core hold nothing else
ISA = "avx512vnni"
Geometry = tuple[str, int, int, int, int, int]  # kind, input height, input and output channels, window, stride
TILE = re.compile(r"(?P<RB>\d+)x(?P<CW>\d+)(?:x(?P<NV>\d+))?(?P<order>[a-z])(?P<rep> rep)?")


@dataclass(frozen=True)
class Program:
    """A layer of the study: its name and what times it, in microseconds; `arguments` are its buffers, from the input to the output."""

    name: str
    bench: Callable[..., float]
    arguments: tuple[Any, ...]

    def hot(self) -> float:
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in self.arguments]
        once = self.bench(*pointers, 1, 3) / 1e9
        return self.bench(*pointers, max(1, int(TURN / 10 / once)), 10) / 1e3

    def cold(self, other: np.ndarray) -> float:
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in self.arguments]
        other.sum()
        for tensor in (self.arguments[-1], self.arguments[0]):
            tensor.sum()
        return self.bench(*pointers, 1, 1) / 1e3


def programs(study: Path) -> dict[Geometry, Program]:
    """What the study has, compiled, each with its best tile. Those whose answers are wrong are left out, and said."""
    sys.path.insert(0, str(study))
    run = importlib.import_module("run")
    tiles = tiles_of((study / "table.md").read_text(encoding="utf-8"))
    found = {}
    for layer in run.L:
        name, kind, height, _, inputs, outputs, window, stride, _, occurrences = layer
        if not occurrences:
            continue
        _, right, _, (library, *buffers) = (run.run_dw if kind == "dw" else run.run_conv)(layer, "int8", "avx512", **tiles[name])
        if not right:
            print(f"the study's {name} is wrong", file=sys.stderr)
            continue
        found[kind, height, inputs, outputs, window, stride] = Program(name, library.bench, tuple(buffers))
    return found


def tiles_of(table: str) -> dict[str, dict[str, Any]]:
    """Of the first table, which is the one for int8; the last column says them, as 1x7x2m."""
    tiles = {}
    for line in table.split("\nfp32")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if match := TILE.fullmatch(cells[-1]):
            numbers = {name: int(text) for name in ("RB", "CW", "NV") if (text := match[name])}
            tiles[cells[0]] = {**numbers, "order": match["order"], **({"rep": True} if match["rep"] else {})}
    return tiles


def geometries(package: edgec.Package) -> Iterator[tuple[int, Geometry]]:
    """Of each call that computes a convolution or a dense layer in int8: its number and geometry, with the height that its work implies."""
    model = onnx.load(str(package.directory / "model.int8.onnx"))
    shapes = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    made = {output: node for node in model.graph.node for output in node.output}
    nodes = {node.name: node for node in model.graph.node if node.op_type in ("Conv", "Gemm", "MatMul")}
    for index, call in enumerate(package.manifest.calls):
        node = next((nodes[name] for name in call.nodes if name in nodes), None)
        if node is None or "int8" not in call.kernel:
            continue
        shape = shapes[made[node.input[1]].input[0]]
        if node.op_type != "Conv":
            yield index, ("fc", 1, max(shape), min(shape), 1, 1)
            continue
        outputs, inputs, window, _ = shape
        attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        stride = attributes.get("strides", [1])[0]
        height = round((call.macs / (outputs * inputs * window**2)) ** 0.5) * stride
        deep = attributes.get("group", 1) > 1
        yield index, ("dw" if deep else "conv", height, outputs if deep else inputs, outputs, window, stride)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path)
    parser.add_argument("--study", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.core})
    package, study = edgec.Package(options.package), programs(options.study.resolve())
    layers = [(index, geometry) for index, geometry in geometries(package) if geometry in study]
    other = np.ones(EVICT, np.uint8)
    ours = np.full(len(package.manifest.calls), np.inf)
    hot, cold = ({geometry: float("inf") for _, geometry in layers} for _ in range(2))
    for _ in range(options.rounds):
        ours = np.minimum(ours, [us for _, _, us in package.profile(SECONDS, isa=ISA)])
        for geometry in hot:
            hot[geometry] = min(hot[geometry], study[geometry].hot())
            cold[geometry] = min(cold[geometry], study[geometry].cold(other))
    print("| layer | times | MMAC | edgec us | study us, hot | cold | edgec / hot | / cold |\n" + "|---" * 8 + "|")
    total = np.zeros(3)
    for geometry in hot:
        indices = [index for index, other_geometry in layers if other_geometry == geometry]
        us, macs = float(np.mean(ours[indices])), package.manifest.calls[indices[0]].macs
        figures = np.array([us, hot[geometry], cold[geometry]])
        total += len(indices) * figures
        print(f"| {study[geometry].name} | {len(indices)} | {macs / 1e6:.2f} | {cells(figures)} |")
    print(f"| all | {len(layers)} | | {cells(total)} |")


def cells(figures: np.ndarray) -> str:
    us, hot, cold = figures
    return f"{us:.1f} | {hot:.1f} | {cold:.1f} | {us / hot:.2f} | {us / cold:.2f}"


if __name__ == "__main__":
    main()
