"""What removed channels did is handed to those that stay: each of them as a linear function of these, folded into the readers' weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.prune.moments import RIDGE, Moments, input_axis
from edgec.prune.shrink import Kept
from edgec.prune.ties import groups_of


def merge(graph: Graph, readers: Sequence[Node], kept: Kept, moments: Mapping[str, Moments]) -> Graph:
    """A graph of the same shapes whose layers need only what stays of their inputs."""
    merged, names = graph.copy(), {node.outputs[0] for node in readers if node.inputs[0] in kept}
    for node in merged.nodes:
        if node.outputs[0] in names:
            _reader(merged, node, kept[node.inputs[0]][1], moments[node.inputs[0]])
    merged.touched()
    return merged


def takes_bias(node: Node) -> bool:
    return node.op != "MatMul"


def set_bias(graph: Graph, node: Node, bias: np.ndarray) -> None:
    """Of a layer that may have none; `graph` must be told that it was touched."""
    node.inputs = [*node.inputs[:2], graph.add_constant(node.input(2) or f"{node.outputs[0]}_bias", bias.astype(np.float32))]


def bias_of(graph: Graph, node: Node, count: int) -> np.ndarray:
    """float64, one number for each output channel."""
    if not node.input(2):
        return np.zeros(count)
    return np.broadcast_to(graph.constants[node.inputs[2]].astype(np.float64).reshape(-1), (count,)).copy()


def simple_bias(graph: Graph, node: Node) -> bool:
    """Whether a bias is one number, or one for each output channel."""
    bias = graph.constant(node.input(2)) if node.input(2) else None
    return bias is None or bias.size in (1, bias.shape[-1])


def _reader(graph: Graph, node: Node, stays: np.ndarray, moments: Moments) -> None:
    old, axis, groups = graph.constants[node.inputs[1]], input_axis(node), groups_of(node)
    weights = np.moveaxis(old.astype(np.float64), axis, 0).copy()  # [input channels (of a group in a Conv), ...]
    centred = takes_bias(node) and simple_bias(graph, node)
    shifts = []
    for number, mask in enumerate(np.split(stays, groups)):
        places = number * len(mask) + np.arange(len(mask))
        part = _part(weights, node, number, groups)
        shares = _shares(moments, places[mask], places[~mask], centred)
        lost = part[~mask]
        part[mask] += np.tensordot(shares, lost, 1)
        mean = moments.mean[places[~mask]] - moments.mean[places[mask]] @ shares
        shifts.append(np.tensordot(mean, lost, 1))
    if not any(shift.any() for shift in shifts) and np.array_equal(np.moveaxis(weights, 0, axis), old.astype(np.float64)):
        return
    node.inputs[1] = graph.add_constant(node.inputs[1], np.moveaxis(weights, 0, axis).astype(np.float32))
    if centred:
        total = _by_output(node, shifts)
        set_bias(graph, node, bias_of(graph, node, len(total)) + total)


def _part(weights: np.ndarray, node: Node, number: int, groups: int) -> np.ndarray:
    """A view of the weights of one group, its input channels first."""
    if node.op == "Conv":
        size = weights.shape[1] // groups
        return weights[:, number * size : (number + 1) * size]
    size = len(weights) // groups
    return weights[number * size : (number + 1) * size]


def _by_output(node: Node, shifts: Sequence[np.ndarray]) -> np.ndarray:
    """What the bias of each output channel gains: [output channels of a group, window] of each group, the window summed.

    Of a transposed window each result sees a part.
    """
    parts = prod(node.attributes["strides"]) if node.op == "ConvTranspose" else 1
    return np.concatenate([shift.reshape(len(shift), -1).sum(axis=1) for shift in shifts]) / parts


def _shares(moments: Moments, stays: np.ndarray, gone: np.ndarray, centred: bool) -> np.ndarray:
    """[those that stay, those that go]: the coefficients that make up the latter best."""
    if not moments.full or not len(gone) or not len(stays):
        return np.zeros((len(stays), len(gone)))
    products = moments.products if centred else moments.raw()
    stiff = products[np.ix_(stays, stays)].copy()
    stiff[np.diag_indices_from(stiff)] += RIDGE * max(float(np.diagonal(products).mean()), 1e-30)
    return np.asarray(np.linalg.solve(stiff, products[np.ix_(stays, gone)]))
