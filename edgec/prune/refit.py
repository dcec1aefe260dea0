"""The weights of a pruned network fitted once more, layer after layer: least squares against what the original computes.

Each layer reads what the layers before it have become, so that it makes up for their errors too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.prune.merge import bias_of, set_bias, simple_bias, takes_bias
from edgec.prune.shrink import Kept
from edgec.prune.ties import weighs
from edgec.quant.decisions.apply import drop_unused_constants
from edgec.quant.given.options import Progress, Samples
from edgec.quant.runs.float_run import Probe, watched
from edgec.quant.scope.patches import grouped_rows, patches, spread, supported, ungrouped

ROWS, FOR_EACH = 2048, 32  # rows that a layer is fitted to, and more where it has more weights: so many for each
FEWEST = 2  # rows for each weight of an output, with less the bias alone is fitted
RIDGE, CAUTION = 1e-3, 2.0  # of the mean variance of what is read, always and times weights by rows: how firmly weights stay as they are
ALIKE = 1e-10  # of the energy: no error
LARGEST = 1 << 12  # terms of a row


@dataclass(frozen=True)
class _Rows:
    """Which of the rows of `patches` a layer is fitted to, and what the original computes there, [groups, rows, channels]."""

    every: int
    wanted: np.ndarray


def refit(
    graph: Graph, small: Graph, kept: Kept, samples: Samples, count: int, progress: Progress | None
) -> Graph:  # fmt: skip
    """small: `graph` without the channels that `kept` leaves out. The same shapes, other numbers."""
    found = small.copy()
    changed = _behind(found, kept)
    wanted = _wanted(graph, found, changed, kept, samples, count, progress)
    for number, node in enumerate(changed):
        if progress:
            progress("refitting", number, len(changed))
        _layer(found, node, wanted[node.outputs[0]], samples)
    drop_unused_constants(found)
    return found


def _behind(small: Graph, kept: Kept) -> list[Node]:
    """The layers whose input is another one than it was."""
    other, found = set[str](), list[Node]()
    for node in small.nodes:
        if any(name in other or name in kept for name in node.inputs if name not in small.constants):
            other |= set(node.outputs)
            fits = weighs(small, node) and supported(small, node) and simple_bias(small, node)
            if fits and small.constants[node.inputs[1]][0].size <= LARGEST:
                found.append(node)
    return found


def _wanted(
    graph: Graph, small: Graph, nodes: Sequence[Node], kept: Kept, samples: Samples, count: int, progress: Progress | None
) -> Mapping[str, _Rows]:
    by_output = {node.outputs[0]: node for node in nodes}
    found: dict[str, list[np.ndarray]] = {output: [] for output in by_output}
    every = dict[str, int]()
    probe = Probe(graph, list(by_output))
    for sample in watched(samples, "answers of layers", progress, count):
        for output, array in probe.each(sample):
            node = by_output[output]
            terms = _terms(small, node)
            rows = _rows(node, array if output not in kept else np.compress(kept[output][1], array, kept[output][0]), terms)
            every[output] = max(1, len(rows) * count // max(ROWS, FOR_EACH * terms))
            found[output].append(rows[:: every[output]].copy())
    return {output: _Rows(every[output], _grouped(by_output[output], np.concatenate(parts))) for output, parts in found.items()}


def _terms(graph: Graph, node: Node) -> int:
    return int(grouped_rows(graph, node).shape[2])


def _rows(node: Node, array: np.ndarray, terms: int) -> np.ndarray:
    """[rows, channels]: what a layer computes where `patches` looks."""
    flat = np.moveaxis(array, 1 if node.op == "Conv" else -1, -1).reshape(-1, array.shape[1 if node.op == "Conv" else -1])
    return np.asarray(flat[spread(len(flat), terms)])


def _grouped(node: Node, rows: np.ndarray) -> np.ndarray:
    groups = int(node.attributes.get("group", 1))
    return rows.reshape(len(rows), groups, -1).transpose(1, 0, 2)


def _layer(graph: Graph, node: Node, rows: _Rows, samples: Samples) -> None:
    probe, source = Probe(graph, [node.inputs[0]]), node.inputs[0]
    parts = [patches(graph, node, probe(sample)[source])[:, :: rows.every] for sample in samples()]
    read, wanted = np.concatenate(parts, axis=1).astype(np.float64), rows.wanted.astype(np.float64)
    weights = grouped_rows(graph, node)  # [groups, channels, terms]
    groups, channels, terms = weights.shape
    centred, count = takes_bias(node), read.shape[1]
    bias = bias_of(graph, node, groups * channels).reshape(groups, 1, channels)
    if not (np.isfinite(read).all() and np.isfinite(wanted).all()):
        return
    error = wanted - read @ weights.transpose(0, 2, 1) - bias
    if np.square(error).sum() <= ALIKE * np.square(wanted).sum():
        return
    mean = read.mean(axis=1, keepdims=True) if centred else np.zeros((groups, 1, terms))
    shift = error.mean(axis=1, keepdims=True) if centred else np.zeros((groups, 1, channels))
    if count >= FEWEST * terms:
        read = read - mean
        products = read.transpose(0, 2, 1) @ read / count
        firm = (RIDGE + CAUTION * terms / count) * np.trace(products, axis1=1, axis2=2) / terms
        products += np.maximum(firm, 1e-30)[:, None, None] * np.eye(terms)
        gained = np.linalg.solve(products, read.transpose(0, 2, 1) @ (error - shift) / count)  # [groups, terms, channels]
        weights = weights + gained.transpose(0, 2, 1)
        shift = shift - mean @ gained
    node.inputs[1] = graph.add_constant(node.inputs[1], ungrouped(weights, graph, node).astype(np.float32))
    if centred:
        set_bias(graph, node, (bias + shift).ravel())
    graph.touched()
