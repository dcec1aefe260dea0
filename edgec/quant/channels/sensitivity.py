"""How much an error in each channel of each value matters for the outputs, from the weights alone.

With independent errors of variance e, an operator y = W x passes on (W^2) e; read backwards, the weight of input channel c is
sum over o of W[o, c]^2 times the weight of output channel o. Sums, activations and movement pass weights on as they are.
A channel that is large but read with tiny weights then does not decide the range of its value.
"""

from __future__ import annotations

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.quant.scope.patches import grouped_rows

LEAST, MOST = 1e-200, 1e200


def channels_of(graph: Graph, value: str) -> int:
    """The extent of axis 1 where a value has one and a batch of 1, else 1: one weight for all."""
    shape = graph.types[value].static_shape
    return shape[1] if len(shape) >= 2 and shape[0] == 1 else 1


def sensitivities(graph: Graph) -> dict[str, np.ndarray]:
    """Per float value the weight of each channel, float64 [channels_of(value)]; outputs weigh 1, what nobody reads 0."""
    found: dict[str, np.ndarray] = {output: np.ones(channels_of(graph, output)) for output in graph.outputs}
    for node in reversed(graph.nodes):
        for place, name in enumerate(node.inputs):
            if name and name not in graph.constants and graph.dtype(name).is_float:
                share = passed_on(graph, node, place, found)
                known = found.get(name, np.zeros(channels_of(graph, name)))
                found[name] = np.minimum(known + share, MOST)
    return {value: weights if weights.max(initial=0.0) > LEAST else np.ones_like(weights) for value, weights in found.items()}


def passed_on(graph: Graph, node: Node, place: int, found: dict[str, np.ndarray]) -> np.ndarray:
    """What input `place` inherits from the outputs of `node`."""
    name = node.inputs[place]
    channels = channels_of(graph, name)
    known = [found[output] for output in node.outputs if output in found]
    if not known:
        return np.zeros(channels)
    after = known[0]
    weights = graph.constant(node.inputs[1]) if node.op in ("Conv", "Gemm", "MatMul", "ConvTranspose") and place == 0 else None
    if weights is not None and (node.op != "MatMul" or weights.ndim == 2):  # by vectors and stacks of matrices is in float
        return through_matrix(graph, node, channels, after)
    if node.op == "Concat" and node.attributes.get("axis") == 1 and channels > 1:
        begin = sum(channels_of(graph, other) for other in node.inputs[:place])
        return after[begin : begin + channels]
    if len(known) == 1 and len(after) == channels:
        return after
    return np.full(channels, np.mean([np.mean(part) for part in known]))


def through_matrix(graph: Graph, node: Node, channels: int, after: np.ndarray) -> np.ndarray:
    """sum over o of W[o, c]^2 weight[o], a kernel's taps summed up."""
    if node.op == "ConvTranspose":
        squares = (graph.constants[node.inputs[1]].astype(np.float64) ** 2).reshape(channels, -1).sum(axis=1)
        return squares * after.mean() if len(squares) == channels else np.full(channels, after.mean())
    rows = grouped_rows(graph, node) ** 2  # [groups, outputs, terms]
    groups, outputs, terms = rows.shape
    weights = after if len(after) == groups * outputs else np.full(groups * outputs, after.mean())
    sums = np.einsum("gnk,gn->gk", rows, weights.reshape(groups, outputs))
    inner = channels // groups if channels % groups == 0 else 0
    if inner and terms % inner == 0:
        return np.asarray(sums.reshape(groups, inner, -1).sum(axis=2)).ravel()
    return np.full(channels, sums.mean())
