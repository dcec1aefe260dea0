"""Operators that the file's operator set or ONNX Runtime lacks, in those that they have; docs/int8.md means the same by both."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType


def expansion_constants(graph: Graph) -> dict[str, np.ndarray]:
    """The constants that expanded nodes read besides the graph's own."""
    found: dict[str, np.ndarray] = {}
    for node in graph.nodes:
        if node.op not in EXPANSIONS and not is_whole_relu(graph, node):
            continue
        result, kind = node.outputs[0], graph.types[node.inputs[0]]
        if node.op == "Relu":
            found[f"{result}/zero"] = np.array(0, kind.dtype.numpy)
        elif node.op == "RMSNormalization":
            found[f"{result}/axes"] = np.array([len(kind.shape) - 1], np.int64)
            found[f"{result}/epsilon"] = np.array(node.attributes["epsilon"], kind.dtype.numpy)
        elif node.attributes["alpha"] != 1:
            found[f"{result}/alpha"] = np.array(node.attributes["alpha"], kind.dtype.numpy)
    return found


def is_whole_relu(graph: Graph, node: Node) -> bool:
    """Whether it is a Relu of integers that ONNX Runtime has none for."""
    return node.op == "Relu" and graph.dtype(node.inputs[0]) is DType.INT64


def whole_relu(node: Node) -> Node:
    """The larger one of x and 0."""
    return Node("Max", [*node.inputs, f"{node.outputs[0]}/zero"], node.outputs, {}, node.name)


def swish(node: Node) -> list[Node]:
    """x * Sigmoid(alpha * x)"""
    (x,), (y,) = node.inputs, node.outputs
    gate, scaled = f"{y}/sigmoid", f"{y}/scaled"
    if node.attributes["alpha"] == 1:
        return [Node("Sigmoid", [x], [gate], {}, f"{node.name}/sigmoid"), Node("Mul", [x, gate], [y], {}, node.name)]
    return [
        Node("Mul", [x, f"{y}/alpha"], [scaled], {}, f"{node.name}/scale"),
        Node("Sigmoid", [scaled], [gate], {}, f"{node.name}/sigmoid"),
        Node("Mul", [x, gate], [y], {}, node.name),
    ]


def root_norm(node: Node) -> list[Node]:
    """x * (1 / sqrt(mean(x * x) + epsilon)) * scale"""
    (x, scale), (y,) = node.inputs, node.outputs
    steps = (
        ("Mul", [x, x], "square"), ("ReduceMean", [f"{y}/square", f"{y}/axes"], "mean"), ("Add", [f"{y}/mean", f"{y}/epsilon"], "sum"),
        ("Sqrt", [f"{y}/sum"], "root"), ("Reciprocal", [f"{y}/root"], "inverse"), ("Mul", [x, f"{y}/inverse"], "normalized"),
    )  # fmt: skip
    inner = [
        Node(op, names, [f"{y}/{part}"], {"keepdims": 1} if op == "ReduceMean" else {}, f"{node.name}/{part}") for op, names, part in steps
    ]
    return [*inner, Node("Mul", [f"{y}/normalized", scale], [y], {}, node.name)]


EXPANSIONS: dict[str, Callable[[Node], list[Node]]] = {"Swish": swish, "RMSNormalization": root_norm}
