"""Algebra on elementwise operators."""

from __future__ import annotations

from math import frexp, inf

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.passes.rewrite import become, bypass, constant_operand, rewrites, scalar, why_not

NEUTRAL: dict[str, tuple[float, frozenset[int]]] = {  # operator: the neutral number, and where it may stand
    "Mul": (1.0, frozenset({0, 1})),
    "Add": (0.0, frozenset({0, 1})),
    "Div": (1.0, frozenset({1})),
    "Sub": (0.0, frozenset({1})),
    "Pow": (1.0, frozenset({1})),
}


@rewrites(*NEUTRAL)
def remove_neutral(graph: Graph, node: Node) -> bool:
    """x*1, x+0, x/1, x-0, x^1 -> x, unless the constant broadcasts x to a larger shape."""
    operand = constant_operand(graph, node)
    number, places = NEUTRAL[node.op]
    if operand is None or operand[2] not in places or not np.all(operand[1] == number):
        return False
    if graph.types[operand[0]] != graph.types[node.outputs[0]]:
        return why_not(node, "the constant broadcasts the other operand")
    return bypass(graph, node, operand[0])


@rewrites("Div")
def divide_by_power_of_two(graph: Graph, node: Node) -> bool:
    """x / c -> x * (1/c) when every c is a power of two, so that 1/c is exact."""
    constant = graph.constant(node.inputs[1])
    if constant is None or not graph.dtype(node.inputs[1]).is_float or constant.size == 0:
        return False
    if not all(abs(frexp(number)[0]) == 0.5 and abs(frexp(number)[1]) < 100 for number in constant.reshape(-1).tolist()):
        return why_not(node, "1/c would round")
    return become(graph, node, "Mul", [node.inputs[0], graph.add_constant(f"{node.inputs[1]}_inverse", 1 / constant)])


@rewrites("Neg")
def remove_double_negation(graph: Graph, node: Node) -> bool:
    """-(-x) -> x."""
    first = graph.producer(node.inputs[0], "Neg")
    return first is not None and bypass(graph, node, first.inputs[0])


@rewrites("Pow")
def simplify_power(graph: Graph, node: Node) -> bool:
    """x^2 -> x*x, x^0.5 -> sqrt(x), x^-1 -> 1/x, for a scalar exponent that adds no axes."""
    exponent = scalar(graph, node.inputs[1])
    if exponent not in (2.0, 0.5, -1.0) or graph.types[node.inputs[0]] != graph.types[node.outputs[0]]:
        return False
    x = node.inputs[0]
    if exponent == 2.0:
        return become(graph, node, "Mul", [x, x])
    return graph.dtype(x).is_float and become(graph, node, "Sqrt" if exponent == 0.5 else "Reciprocal", [x])


@rewrites("Mul", "Add")
def merge_constants(graph: Graph, node: Node) -> bool:
    """(x*c)*d -> x*(c*d), (x+c)+d -> x+(c+d), for float constants, when nobody else reads the first."""
    outer = constant_operand(graph, node)
    first = graph.producer(outer[0], node.op) if outer is not None else None
    inner = constant_operand(graph, first) if first is not None else None
    if outer is None or inner is None or not graph.dtype(node.outputs[0]).is_float:
        return False
    if graph.reader_count(outer[0]) > 1:
        return why_not(node, "the first result has another reader")
    a, b = inner[1].astype(np.float64), outer[1].astype(np.float64)
    merged = (a * b if node.op == "Mul" else a + b).astype(outer[1].dtype)
    if merged.size > max(a.size, b.size):
        return why_not(node, "the merged constant would grow")
    if not np.all(np.isfinite(merged)):
        return why_not(node, "the merged constant overflows")
    return become(graph, node, node.op, [inner[0], graph.add_constant(f"{node.outputs[0]}_constant", merged)])


@rewrites("Relu", "Clip")
def merge_bounds(graph: Graph, node: Node) -> bool:
    """clip(clip(x, a, b), c, d) -> clip(x, min(max(a, c), d), min(max(b, c), d)), where relu is clip(x, 0, inf)."""
    outer = bounds(graph, node)
    first = graph.producer(node.inputs[0])
    inner = bounds(graph, first) if first is not None else None
    if first is None or outer is None or inner is None or not graph.dtype(node.outputs[0]).is_float:
        return False
    if inner[0] > inner[1] or outer[0] > outer[1]:
        return why_not(node, "a lower bound lies above the upper one")
    low, high = (min(max(bound, outer[0]), outer[1]) for bound in inner)
    return _bound(graph, node, first.inputs[0], low, high)


@rewrites("Clip")
def clip_to_relu(graph: Graph, node: Node) -> bool:
    """clip(x, 0, inf) -> relu(x)."""
    return bounds(graph, node) == (0.0, inf) and graph.dtype(node.inputs[0]).is_float and become(graph, node, "Relu", node.inputs[:1])


@rewrites("Max", "Min")
def extreme_to_clip(graph: Graph, node: Node) -> bool:
    """max(x, c) -> clip(x, c, inf), min(x, c) -> clip(x, -inf, c), for a scalar c that adds no axes."""
    operand = constant_operand(graph, node) if len(node.inputs) == 2 else None
    if operand is None or operand[1].size != 1 or not graph.dtype(node.outputs[0]).is_float:
        return False
    if graph.types[operand[0]] != graph.types[node.outputs[0]]:
        return why_not(node, "the constant adds axes")
    number = float(operand[1].reshape(()))
    return _bound(graph, node, operand[0], *((number, inf) if node.op == "Max" else (-inf, number)))


def bounds(graph: Graph, node: Node) -> tuple[float, float] | None:
    """The bounds of a Relu or of a Clip with constant bounds; the largest finite number, which stands for none, is infinity here."""
    if node.op == "Relu":
        return 0.0, inf
    low, high = (scalar(graph, node.input(index)) for index in (1, 2)) if node.op == "Clip" else (None, None)
    if low is None or high is None:
        return None
    largest = _largest(graph, node.inputs[0])
    return (-inf if low <= -largest else low), (inf if high >= largest else high)


def _largest(graph: Graph, value: str) -> float:
    dtype = graph.dtype(value)
    return float(np.finfo(dtype.value).max) if dtype.is_float else inf


def _bound(graph: Graph, node: Node, x: str, low: float, high: float) -> bool:
    """Let `node` become clip(x, low, high), an infinite bound written as the largest finite number."""
    largest, hint = _largest(graph, x), node.outputs[0]
    limits = (np.asarray(min(max(limit, -largest), largest), graph.dtype(x).numpy) for limit in (low, high))
    names = [graph.add_constant(f"{hint}_{word}", limit) for word, limit in zip(("min", "max"), limits, strict=True)]
    return become(graph, node, "Clip", [x, *names])
