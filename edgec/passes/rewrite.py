"""What every rewrite is made of: the Rewrite record, `why_not`, and the few graph edits that keep names and types honest.

A rule works at the last node of its pattern, the root: the root *becomes* the fused operator, so that the output keeps its
name, and what fed it dies by itself when nobody else reads it (edgec.passes.duplicates.remove_dead).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.ir.types import Shape
from edgec.ops.infer import infer_node
from edgec.ops.proto import canonical_attributes

log = logging.getLogger("edgec.passes")

Function = Callable[[Graph, Node], bool]


@dataclass(frozen=True)
class Rewrite:
    """One rule: tried on every node whose operator is in `ops` (on all nodes when it is empty); True when it changed the graph."""

    function: Function
    ops: frozenset[str]

    @property
    def name(self) -> str:
        return self.function.__name__

    def __call__(self, graph: Graph, node: Node) -> bool:
        return (not self.ops or node.op in self.ops) and self.function(graph, node)


def rewrites(*ops: str) -> Callable[[Function], Rewrite]:
    """Declare a function to be a rule for these operators; without any, for all."""
    return lambda function: Rewrite(function, frozenset(ops))


def why_not(node: Node, reason: str) -> bool:
    """False, after a line in the debug log on why `node` stays as it is."""
    log.debug("%s %s stays: %s", node.op, node.name or node.outputs[0], reason)
    return False


# Edits


def become(
    graph: Graph, node: Node, op: str, inputs: Sequence[str], attributes: Mapping[str, Any] | None = None, *, name: str | None = None,
    outputs: Sequence[str] | None = None,
) -> bool:  # fmt: skip
    """Turn `node` into another operator that computes the same outputs, or `outputs` of them. True, so that a rule can return it."""
    node.op, node.attributes = op, canonical_attributes(op, dict(attributes or {}))
    node.name = node.name if name is None else name
    graph.rewire(node, inputs, outputs)
    inferred, known = infer_node(graph, node), [graph.types[output] for output in node.outputs]
    if inferred != known:
        raise RuntimeError(f"a rewrite changed the type of {node.outputs}: {known} became {inferred} ({op} {node.name})")
    return True


def emit(
    graph: Graph, before: Node, op: str, inputs: Sequence[str], attributes: Mapping[str, Any] | None = None, *, hint: str, name: str = ""
) -> str:
    """Insert a node of one output before another and return the output, named near `hint`."""
    node = Node(op, list(inputs), [graph.fresh(hint)], canonical_attributes(op, dict(attributes or {})), name)
    graph.insert(node, infer_node(graph, node), before=before)
    return node.outputs[0]


def derived(name: str, op: str) -> str:
    """The name of a helper node beside the main node of that name."""
    return f"{name}/{op}" if name else ""


def bypass(graph: Graph, node: Node, value: str) -> bool:
    """Let the readers of `node`'s only used output read `value`, which equals it, and drop the node.

    A graph output that is a graph input, a constant or another graph output stays as an Identity; False when it was one already.
    """
    output = node.outputs[0]
    if output in graph.outputs and (graph.producer(value) is None or value in graph.outputs):
        readers = graph.readers(output)
        if node.op == "Identity" and not readers:
            return False
        for reader in readers:
            graph.rewire(reader, [value if name == output else name for name in reader.inputs])
        return become(graph, node, "Identity", [value], outputs=[output])
    graph.replace_uses(output, value)
    graph.remove([node])
    return True


# Questions


def sole_producer(graph: Graph, value: str, *ops: str) -> Node | None:
    """The producer of `value` when it is one of `ops` and nobody else reads the value; else None."""
    node = graph.producer(value)
    return node if node is not None and node.op in ops and graph.reader_count(value) == 1 else None


def scalar(graph: Graph, value: str) -> float | None:
    """The number of a constant that has one element; else None."""
    array = graph.constant(value) if value else None
    return float(array.reshape(())) if array is not None and array.size == 1 else None


def is_near(value: float | None, expected: float) -> bool:
    """Whether a constant is `expected`, to the precision that exporters write it with."""
    return value is not None and abs(value - expected) <= 1e-4 * abs(expected)


def constant_operand(graph: Graph, node: Node) -> tuple[str, np.ndarray, int] | None:
    """(computed operand, constant operand, index of the constant) of a binary node with exactly one constant; else None."""
    for index in (1, 0):
        constant = graph.constant(node.inputs[index])
        if constant is not None and graph.constant(node.inputs[1 - index]) is None:
            return node.inputs[1 - index], constant, index
    return None


def fixed_shape(graph: Graph, value: str) -> tuple[int, ...] | None:
    """The shape of `value` when it holds no symbol."""
    type_ = graph.types[value]
    return type_.static_shape if type_.is_static else None


def per_channel(constant: np.ndarray, shape: Shape, axis: int) -> np.ndarray | None:
    """The float64 vector over `axis` that `constant` adds up to when it broadcasts to `shape`; None when it varies elsewhere."""
    rank, axis = len(shape), axis % len(shape)
    channels = shape[axis]
    if constant.ndim > rank or not isinstance(channels, int):
        return None
    padded = constant.reshape((1,) * (rank - constant.ndim) + constant.shape)
    if any(extent != 1 for index, extent in enumerate(padded.shape) if index != axis) or padded.shape[axis] not in (1, channels):
        return None
    return np.broadcast_to(padded.reshape(-1), (channels,)).astype(np.float64)


def axes_of(graph: Graph, node: Node, index: int = 1) -> tuple[int, ...] | None:
    """The normalized, sorted axes that input `index` of a reduction names; every axis when it names none, None when computed."""
    rank = len(graph.shape(node.inputs[0]))
    if not node.input(index):
        return tuple(range(rank))
    axes = graph.constant(node.input(index))
    return None if axes is None else tuple(sorted(int(axis) % rank for axis in axes.reshape(-1))) or tuple(range(rank))


def integers(graph: Graph, hint: str, values: Sequence[int]) -> str:
    """A fresh int64 vector constant."""
    return graph.add_constant(hint, np.asarray(list(values), np.int64))
