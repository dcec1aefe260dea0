"""What the samples say of the channels that layers read: means, variances, and how they go together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.prune.channels import FIXED, Cells
from edgec.prune.ties import depthwise, groups_of, weighs
from edgec.quant.given.options import Progress, Samples
from edgec.quant.runs.float_run import Probe, watched
from edgec.quant.scope.patches import spread

MOST = 2048  # channels whose products are kept; of more the variances alone
RIDGE = 1e-4  # of the mean variance: what no two channels have together


@dataclass(frozen=True)
class Moments:
    """Of one value: mean [channels], and the products of the centred channels [channels, channels], or their variances alone."""

    mean: np.ndarray
    products: np.ndarray

    @property
    def full(self) -> bool:
        return self.products.ndim == 2

    @property
    def variances(self) -> np.ndarray:
        return np.diagonal(self.products) if self.full else self.products

    def raw(self) -> np.ndarray:
        """The products of channels that are not centred."""
        assert self.full
        return np.asarray(self.products + np.outer(self.mean, self.mean))


def readers_of(graph: Graph, cells: Cells) -> list[Node]:
    """The layers that sum over channels that can be removed."""
    roots = cells.roots()
    found = [node for node in graph.nodes if weighs(graph, node) and not depthwise(graph, node) and node.inputs[0] in cells.of]
    return [node for node in found if (roots[cells.of[node.inputs[0]].cells] != FIXED).any()]


def gather_moments(
    graph: Graph, cells: Cells, values: Sequence[str], samples: Samples, count: int, progress: Progress | None
) -> Mapping[str, Moments]:
    """Of `values`, over some numbers of each sample."""
    sums, products, rows = dict[str, np.ndarray](), dict[str, np.ndarray](), dict.fromkeys(values, 0)
    probe = Probe(graph, values)
    for sample in watched(samples, "channels", progress, count):
        for value, array in probe.each(sample):
            channels = array.shape[cells.of[value].axis]
            flat = np.moveaxis(array, cells.of[value].axis, -1).reshape(-1, channels)
            flat = flat[spread(len(flat), channels)].astype(np.float64)
            flat = flat[np.isfinite(flat).all(axis=1)]
            rows[value] += len(flat)
            sums[value] = sums.get(value, 0.0) + flat.sum(axis=0)
            products[value] = products.get(value, 0.0) + (flat.T @ flat if channels <= MOST else np.square(flat).sum(axis=0))
    return {value: _moments(sums[value], products[value], rows[value]) for value in values}


def _moments(sums: np.ndarray, products: np.ndarray, rows: int) -> Moments:
    """Few rows overrate what two channels have together."""
    rows = max(rows, 1)
    mean = sums / rows
    if products.ndim == 1:
        return Moments(mean, np.maximum(products / rows - mean**2, 0.0))
    centred = products / rows - np.outer(mean, mean)
    variances = np.maximum(np.diagonal(centred), 0.0)
    centred *= rows / (rows + len(mean))
    np.fill_diagonal(centred, variances)
    return Moments(mean, centred)


def weight_products(graph: Graph, node: Node, *, full: bool) -> np.ndarray:
    """Of the weights that each two input channels meet, summed over outputs and places: [channels, channels], or the diagonal of that."""
    weights, groups = graph.constants[node.inputs[1]].astype(np.float64), groups_of(node)
    found = [_by_channel(node, part) for part in (np.split(weights, groups, 0 if node.op in ("Conv", "ConvTranspose") else 1))]
    if not full:
        return np.concatenate([np.square(part).sum(axis=1) for part in found])
    total = sum(len(part) for part in found)
    products, start = np.zeros((total, total)), 0
    for part in found:
        products[start : start + len(part), start : start + len(part)] = part @ part.T
        start += len(part)
    return products


def _by_channel(node: Node, weights: np.ndarray) -> np.ndarray:
    """[input channels, everything else]."""
    axis = input_axis(node)
    return np.moveaxis(weights, axis, 0).reshape(weights.shape[axis], -1)


def input_axis(node: Node) -> int:
    """The axis of the weights that counts input channels (of a group, in a Conv)."""
    if node.op == "Conv":
        return 1
    return 1 if node.op == "Gemm" and node.attributes.get("transB", 0) else 0
