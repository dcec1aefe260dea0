"""How many channels each stream gives: where the outputs lose least for the work that goes.

Work is multiply-accumulates as kernels do them, in blocks of channels: a block that is not full costs as much as a full one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.prune.channels import Cells
from edgec.prune.order import Path
from edgec.prune.ties import depthwise, weighs

AHEAD = (1, 2, 4, 8, 16, 32)  # steps that are looked at together: a dear one may hide cheap ones
WRITTEN, READ = 16, 4  # channels of a block
UNFELT = 0.3  # of a multiply-accumulate that goes from a block that stays
TRIED = (1 / 3, 1.0)  # of a path: where the outputs' error is measured


def products_of(graph: Graph, node: Node) -> int:
    """Multiply-accumulates of a layer with constant weights; 0 for any other node."""
    if not weighs(graph, node):
        return 0
    weights, data, output = graph.constants[node.inputs[1]], graph.types[node.inputs[0]], graph.types[node.outputs[0]]
    if node.op == "ConvTranspose":  # each number that is read meets the weights of its channel
        return data.elements // int(weights.shape[0]) * weights.size
    if node.op == "Conv":
        return output.elements // int(weights.shape[0]) * weights.size
    return prod(output.static_shape[:-1]) * weights.size


@dataclass(frozen=True)
class _Side:
    """The channels that a layer reads or writes: how many, in which blocks, and of each path how many go with each step."""

    count: int
    block: int
    lost: Mapping[int, np.ndarray]

    def left(self, levels: Sequence[int]) -> int:
        return self.count - sum(int(lost[levels[path]]) for path, lost in self.lost.items())

    def blocks(self, levels: Sequence[int]) -> int:
        return -(-self.left(levels) // self.block)


class Costs:
    """Multiply-accumulates of a network whose streams have given so many steps."""

    def __init__(self, graph: Graph, cells: Cells, paths: Sequence[Path]) -> None:
        roots = cells.roots()
        level = [np.full(len(roots), len(path.steps) + 1) for path in paths]
        for found, path in zip(level, paths, strict=True):
            for step, gone in enumerate(path.steps, 1):
                found[gone] = step
        self._layers: list[tuple[int, tuple[_Side, ...]]] = []
        self._touching: dict[int, list[int]] = {number: [] for number in range(len(paths))}
        for node in graph.nodes:
            if count := products_of(graph, node):
                values = {node.outputs[0]: WRITTEN} | ({} if depthwise(graph, node) else {node.inputs[0]: READ})
                known = {value: block for value, block in values.items() if value in cells.of}
                sides = [self._side(roots[cells.of[value].cells], block, paths, level) for value, block in known.items()]
                for number in {number for side in sides for number in side.lost}:
                    self._touching[number].append(len(self._layers))
                self._layers.append((count, tuple(sides)))
        self.whole = sum(count for count, _ in self._layers)

    def _side(self, labels: np.ndarray, block: int, paths: Sequence[Path], level: Sequence[np.ndarray]) -> _Side:
        lost = {}
        for number, path in enumerate(paths):
            steps = level[number][labels[np.isin(labels, path.stream.cells)]]
            if len(steps):
                lost[number] = np.cumsum(np.bincount(steps, minlength=len(path.steps) + 2))
        return _Side(len(labels), block, lost)

    def __call__(self, levels: Sequence[int]) -> float:
        return sum(count * prod(side.left(levels) / side.count for side in sides) for count, sides in self._layers)

    def work(self, levels: Sequence[int], path: int) -> float:
        """Of the layers that one path is about, in whole blocks; and a little for what leaves them."""
        found = 0.0
        for count, sides in (self._layers[place] for place in self._touching[path]):
            felt = prod(side.blocks(levels) * side.block / side.count for side in sides)
            found += count * ((1 - UNFELT) * felt + UNFELT * prod(side.left(levels) / side.count for side in sides))
        return found


def choose(paths: Sequence[Path], errors: Sequence[np.ndarray], costs: Costs, target: float) -> list[int]:
    """Steps of each path until no more than `target` multiply-accumulates are left. errors: of the outputs after each step."""
    levels = [0] * len(paths)
    while costs(levels) > target:
        best: tuple[float, int, int] | None = None
        for number, path in enumerate(paths):
            before = costs.work(levels, number)
            for level in sorted({min(levels[number] + ahead, len(path.steps)) for ahead in AHEAD} - {levels[number]}):
                saved = before - costs.work(_other(levels, number, level), number)
                price = float(errors[number][level] - errors[number][levels[number]]) / max(saved, 1e-9)
                if best is None or price < best[0]:
                    best = (price, number, level)
        if best is None:
            break
        levels[best[1]] = best[2]
    return _given_back(levels, errors, costs, target)


def _other(levels: Sequence[int], path: int, level: int) -> list[int]:
    return [*levels[:path], level, *levels[path + 1 :]]


def _given_back(levels: list[int], errors: Sequence[np.ndarray], costs: Costs, target: float) -> list[int]:
    """Without the steps that turned out not to be needed: those that bring the outputs most for the work that comes back."""
    while True:
        best: tuple[float, list[int]] | None = None
        for number, level in enumerate(levels):
            for fewer in range(level):
                other = _other(levels, number, fewer)
                if costs(other) <= target:
                    work = costs.work(other, number) - costs.work(levels, number)
                    gain = float(errors[number][level] - errors[number][fewer]) / max(work, 1e-9)
                    best = max(best, (gain, other)) if best is not None else (gain, other)
        if best is None:
            return levels
        levels = best[1]


def tried_levels(path: Path) -> list[int]:
    return sorted({max(1, round(len(path.steps) * share)) for share in TRIED})


def scaled(path: Path, measured: Mapping[int, float]) -> np.ndarray:
    """The outputs' error after each step: as measured at some, in between as the readers' errors go; it never falls."""
    levels = np.arange(len(path.steps) + 1)
    floor = 1e-12
    known = sorted(measured)
    ratios = [measured[level] / max(float(path.errors[level]), floor) for level in known]
    found = np.maximum(path.errors, 0.0) * np.interp(levels, known, ratios)
    return np.asarray(np.maximum.accumulate(found))
