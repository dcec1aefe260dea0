"""Every int8 convolution of a MobileNetV2 package beside a hand-tuned program for that layer alone, on the same core in one run.

    python benchmarks/layers.py PACKAGE --study DIR [--rounds 40] [--core 1]

DIR holds the study: run.py with run_conv and run_dw, layers.py with the list L, table.md with the best tile of each layer. Both take
turns, are timed by the same program, and of both the least counts: "hot", over and over, and "cold", with nothing of its own left in the
caches but inputs and outputs. Then what edgec's call takes in a whole run, as the package's profile has it, beside the study's cold: there
the memory that a layer writes to may have left the caches, too. Neither quantizes: both read codes in NHWC, the study's with their padding
around them in memory. The study adds no residuals. Layers of one geometry are one row, with the mean of edgec's.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from repeated import Calls, Timed, layer

import edgec

SECONDS = 0.1  # of edgec's profile in a round
OPERANDS = 4  # of a layer that adds no residual: input, weights, bias, scale
ISA = "avx512vnni"
Geometry = tuple[str, int, int, int, int, int]  # kind, input height, input and output channels, window, stride
HEADS = ("hot: edgec us", "study us", "ratio", "cold: edgec us", "study us", "ratio", "in a run: edgec us", "/ study, cold")
TILE = re.compile(r"(?P<RB>\d+)x(?P<CW>\d+)(?:x(?P<NV>\d+))?(?P<order>[a-z])(?P<rep> rep)?")


def programs(study: Path) -> dict[Geometry, tuple[str, Timed]]:
    """What the study has, compiled, each with its best tile. Those whose answers are wrong are left out, and said."""
    sys.path.insert(0, str(study))
    run = importlib.import_module("run")
    tiles = tiles_of((study / "table.md").read_text(encoding="utf-8"))
    found = {}
    for one in run.L:
        name, kind, height, _, inputs, outputs, window, stride, _, occurrences = one
        if not occurrences:
            continue
        _, right, _, (library, *buffers) = (run.run_dw if kind == "dw" else run.run_conv)(one, "int8", "avx512", **tiles[name])
        if not right:
            print(f"the study's {name} is wrong", file=sys.stderr)
            continue
        found[kind, height, inputs, outputs, window, stride] = (name, layer(library.run, buffers))
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
    calls = Calls(package, ISA)
    ours, theirs = (np.full((len(package.manifest.calls), count), np.inf) for count in (3, 2))
    for _ in range(options.rounds):
        ours[:, 2] = np.minimum(ours[:, 2], [us for _, _, us in package.profile(SECONDS, isa=ISA)])
        for index, geometry in layers:
            for timed, least in ((calls[index], ours[index]), (study[geometry][1], theirs[index])):
                least[:2] = np.minimum(least[:2], (timed.hot(), timed.cold()))
    print(f"| layer | times | MMAC | {' | '.join(HEADS)} |\n|{'---|' * (3 + len(HEADS))}")
    for geometry in dict.fromkeys(geometry for _, geometry in layers):
        indices = [index for index, other in layers if other == geometry]
        macs = package.manifest.calls[indices[0]].macs
        added = sum(len(package.manifest.calls[index].reads) > OPERANDS for index in indices)
        name = study[geometry][0] + (f", {added} with a residual" if added else "")
        print(f"| {name} | {len(indices)} | {macs / 1e6:.2f} | {cells(ours[indices].mean(0), theirs[indices].min(0))} |")
    indices = [index for index, _ in layers]
    print(f"| all | {len(layers)} | | {cells(ours[indices].sum(0), theirs[indices].sum(0))} |")


def cells(ours: np.ndarray, theirs: np.ndarray) -> str:
    hot, cold = theirs
    ratios = " | ".join(f"{us:.1f} | {other:.1f} | {us / other:.2f}" for us, other in zip(ours, (hot, cold), strict=False))
    return f"{ratios} | {ours[2]:.1f} | {ours[2] / cold:.2f}"


if __name__ == "__main__":
    main()
