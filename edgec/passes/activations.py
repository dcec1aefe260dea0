"""Activations that exporters write out in primitive operators, found again as ONNX's fused ones.

A product is matched as the collection of its factors, so that the order and grouping that an exporter chose does not matter.
"""

from __future__ import annotations

from math import isfinite, pi, sqrt

from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType
from edgec.passes.arithmetic import bounds
from edgec.passes.rewrite import become, constant_operand, is_near, rewrites, scalar, sole_producer

Factors = tuple[float, tuple[str, ...]]
DEEPEST = 6  # nested products that are looked through: no pattern has more


def factors(graph: Graph, value: str, root: bool = False, depth: int = DEEPEST) -> Factors:
    """(number, values) such that `value` = number * product of values; goes through Mul, Div and Pow that only this product reads."""
    number = scalar(graph, value)
    if number is not None:
        return number, ()
    node = graph.producer(value)
    if node is None or not depth or (not root and graph.reader_count(value) > 1):
        return 1.0, (value,)
    if node.op == "Mul":
        (a, left), (b, right) = (factors(graph, name, depth=depth - 1) for name in node.inputs)
        return a * b, (*left, *right)
    if node.op == "Div" and scalar(graph, node.inputs[1]):
        a, left = factors(graph, node.inputs[0], depth=depth - 1)
        return a / (scalar(graph, node.inputs[1]) or 1.0), left
    if node.op == "Pow" and scalar(graph, node.inputs[1]) in (2.0, 3.0):
        return 1.0, (node.inputs[0],) * int(scalar(graph, node.inputs[1]) or 1)
    return 1.0, (value,)


def plus_constant(graph: Graph, value: str) -> tuple[str, float] | None:
    """(x, c) when `value` = x + c for a scalar constant c."""
    node = graph.producer(value, "Add")
    operand = constant_operand(graph, node) if node is not None else None
    return (operand[0], float(operand[1].reshape(()))) if operand is not None and operand[1].size == 1 else None


def _keeps_shape(graph: Graph, node: Node, x: str) -> bool:
    return graph.types[x] == graph.types[node.outputs[0]]


@rewrites("Mul")
def fuse_swish(graph: Graph, node: Node) -> bool:
    """x * sigmoid(alpha * x) -> swish(x; alpha)."""
    for x, gate in (node.inputs, node.inputs[::-1]):
        sigmoid = sole_producer(graph, gate, "Sigmoid")
        if sigmoid is None or not _keeps_shape(graph, node, x):
            continue
        alpha, values = factors(graph, sigmoid.inputs[0], root=sigmoid.inputs[0] != x)
        if sigmoid.inputs[0] == x or values == (x,):
            alpha = 1.0 if sigmoid.inputs[0] == x else alpha
            return become(graph, node, "Swish", [x], {"alpha": alpha}, name=sigmoid.name)
    return False


@rewrites("PRelu")
def unify_slope(graph: Graph, node: Node) -> bool:
    """prelu(x, slope) -> leakyrelu(x; slope), for one finite slope of all elements."""
    slope = scalar(graph, node.inputs[1])
    known = slope is not None and isfinite(slope) and graph.dtype(node.inputs[0]) is DType.FLOAT32
    if not known or not _keeps_shape(graph, node, node.inputs[0]):
        return False
    return become(graph, node, "LeakyRelu", [node.inputs[0]], {"alpha": slope})


@rewrites("Mul", "Div")
def fuse_hard_sigmoid(graph: Graph, node: Node) -> bool:
    """clip(x + 3, 0, 6) / 6 -> hardsigmoid(x; 1/6, 1/2), for any a > 0: clip(x + b, 0, 1/a) * a -> hardsigmoid(x; a, a*b)."""
    alpha, values = factors(graph, node.outputs[0], root=True)
    gate = _clipped_sum(graph, values[0]) if len(values) == 1 else None
    if gate is None or not is_near(gate[2] * alpha, 1.0) or not _keeps_shape(graph, node, gate[0]):
        return False
    return become(graph, node, "HardSigmoid", [gate[0]], {"alpha": alpha, "beta": alpha * gate[1]})


@rewrites("Mul", "Div")
def fuse_hard_swish(graph: Graph, node: Node) -> bool:
    """x * clip(x + 3, 0, 6) / 6 -> hardswish(x), x * hardsigmoid(x; 1/6, 1/2) -> hardswish(x)."""
    number, values = factors(graph, node.outputs[0], root=True)
    if len(values) != 2:
        return False
    for x, gate in (values, values[::-1]):
        clipped = _clipped_sum(graph, gate)
        by_clip = clipped is not None and clipped[0] == x and clipped[1:] == (3.0, 6.0) and is_near(number, 1 / 6)
        hard = sole_producer(graph, gate, "HardSigmoid")
        by_gate = hard is not None and hard.inputs[0] == x and is_near(hard.attributes.get("alpha", 0.2), 1 / 6) and number == 1
        by_gate = by_gate and hard is not None and is_near(hard.attributes.get("beta", 0.5), 0.5)
        if (by_clip or by_gate) and _keeps_shape(graph, node, x):
            return become(graph, node, "HardSwish", [x])
    return False


def _clipped_sum(graph: Graph, value: str) -> tuple[str, float, float] | None:
    """(x, b, c) when `value` = clip(x + b, 0, c) and only one node reads it."""
    clip = sole_producer(graph, value, "Clip")
    limits = bounds(graph, clip) if clip is not None else None
    inner = plus_constant(graph, clip.inputs[0]) if clip is not None else None
    return (*inner, limits[1]) if inner is not None and limits is not None and limits[0] == 0 else None


@rewrites("Mul", "Div")
def fuse_gelu(graph: Graph, node: Node) -> bool:
    """0.5 * x * (1 + erf(x / sqrt 2)) -> gelu(x); 0.5 * x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))) -> gelu(x; tanh)."""
    number, values = factors(graph, node.outputs[0], root=True)
    if len(values) != 2 or not is_near(number, 0.5):
        return False
    for x, gate in (values, values[::-1]):
        shifted = plus_constant(graph, gate)
        function = graph.producer(shifted[0]) if shifted is not None else None
        if shifted is None or shifted[1] != 1.0 or function is None or not _keeps_shape(graph, node, x):
            continue
        if function.op == "Erf" and _is_scaled(graph, function.inputs[0], x, sqrt(0.5)):
            return become(graph, node, "Gelu", [x], {"approximate": "none"})
        if function.op == "Tanh" and _is_cubic(graph, function.inputs[0], x):
            return become(graph, node, "Gelu", [x], {"approximate": "tanh"})
    return False


def _is_scaled(graph: Graph, value: str, x: str, number: float) -> bool:
    scale, values = factors(graph, value, root=True)
    return values == (x,) and is_near(scale, number)


def _is_cubic(graph: Graph, value: str, x: str) -> bool:
    """Whether `value` is sqrt(2/pi) * (x + 0.044715 x^3), or sqrt(2/pi) * x * (1 + 0.044715 x^2)."""
    scale, values = factors(graph, value, root=True)
    if not is_near(scale, sqrt(2 / pi)):
        return False
    if len(values) == 1:
        total = graph.producer(values[0], "Add")
        if total is None or x not in total.inputs:
            return False
        term = total.inputs[1 - total.inputs.index(x)]
        coefficient, powers = factors(graph, term, root=True)
        return powers == (x, x, x) and is_near(coefficient, 0.044715)
    if len(values) != 2 or x not in values:
        return False
    shifted = plus_constant(graph, values[1 - values.index(x)])
    if shifted is None or shifted[1] != 1.0:
        return False
    coefficient, powers = factors(graph, shifted[0], root=True)
    return powers == (x, x) and is_near(coefficient, 0.044715)
