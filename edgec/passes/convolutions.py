"""Convolutions side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.passes.duplicates import same_attributes, same_value
from edgec.passes.rewrite import emit, integers, rewrites, why_not

PANEL = 16  # output channels that the kernels compute at once


@dataclass(frozen=True)
class Branch:
    """A convolution with constant weights, and the activation that alone reads it, if any."""

    conv: Node
    activation: Node | None
    weight: np.ndarray
    bias: np.ndarray

    @property
    def last(self) -> Node:
        return self.activation or self.conv


@rewrites("Conv")
def join_convolutions(graph: Graph, node: Node) -> bool:
    """conv(x, v, a), conv(x, w, b)... -> split(conv(x, [v w ...], [a b ...])), and the same with a relu or clip after each.

    It pays when the channels together fill fewer panels of 16 than apart: ceil(m/16) + ceil(n/16) > ceil((m + n)/16). The
    results then share one tensor, which quantization gives one range; so only branches that go on alike are joined: all
    with the same activation, or all read by the same operators.
    """
    first = _branch(graph, node)
    if first is None or len(graph.readers(node.inputs[0])) < 2:
        return False
    found = [_branch(graph, other) for other in graph.readers(node.inputs[0]) if other.op == "Conv" and other.inputs[0] == node.inputs[0]]
    alike = [branch for branch in found if branch is not None and _alike(graph, first, branch)]
    counts = [len(branch.weight) for branch in alike]
    if sum(map(_panels, counts)) <= _panels(sum(counts)):
        return len(alike) > 1 and why_not(node, f"{counts} channels fill as many panels together")
    return _join(graph, alike)


def _panels(channels: int) -> int:
    return -(-channels // PANEL)


def _branch(graph: Graph, conv: Node) -> Branch | None:
    weight = graph.constant(conv.inputs[1])
    bias = graph.constant(conv.input(2)) if conv.input(2) else None
    if weight is None or (conv.input(2) and bias is None) or conv.attributes.get("group", 1) != 1:
        return None
    readers = graph.readers(conv.outputs[0])
    alone = len(readers) == 1 and conv.outputs[0] not in graph.outputs
    activation = readers[0] if alone and readers[0].op in ("Relu", "Clip") else None
    return Branch(conv, activation, weight, np.zeros(len(weight), weight.dtype) if bias is None else bias)


def _alike(graph: Graph, first: Branch, second: Branch) -> bool:
    """Whether two convolutions have the same geometry and their results the same use."""
    if first.weight.shape[1:] != second.weight.shape[1:] or first.weight.dtype != second.weight.dtype:
        return False
    if not same_attributes(first.conv.attributes, second.conv.attributes):
        return False
    a, b = first.activation, second.activation
    if a is not None and b is not None:
        pairs = zip(a.inputs[1:], b.inputs[1:], strict=False)
        return a.op == b.op and len(a.inputs) == len(b.inputs) and all(same_value(graph, *pair) for pair in pairs)
    return a is b and _uses(graph, first.conv.outputs[0]) == _uses(graph, second.conv.outputs[0])


def _uses(graph: Graph, value: str) -> tuple[set[str], bool]:
    return {reader.op for reader in graph.readers(value)}, value in graph.outputs


def _join(graph: Graph, branches: list[Branch]) -> bool:
    """Replace the branches by one convolution and a Split, where the first of them stood."""
    first, conv = branches[0], branches[0].conv
    inputs = [
        conv.inputs[0],
        graph.add_constant(conv.inputs[1], np.concatenate([branch.weight for branch in branches])),
        graph.add_constant(conv.input(2) or f"{conv.inputs[1]}_bias", np.concatenate([branch.bias for branch in branches])),
    ]
    joined = emit(graph, conv, "Conv", inputs, conv.attributes, hint=f"{conv.outputs[0]}_joined", name=conv.name)
    if first.activation is not None:
        operands, bound = [joined, *first.activation.inputs[1:]], first.activation
        joined = emit(graph, conv, bound.op, operands, bound.attributes, hint=f"{bound.outputs[0]}_joined", name=bound.name)
    outputs = [branch.last.outputs[0] for branch in branches]
    types = [graph.types[output] for output in outputs]
    sizes = integers(graph, f"{joined}_sizes", [len(branch.weight) for branch in branches])
    graph.insert(Node("Split", [joined, sizes], outputs, {"axis": 1}, conv.name), types, before=conv)
    graph.remove([node for branch in branches for node in {branch.conv, branch.last}])
    graph.types.update(zip(outputs, types, strict=True))
    return True
