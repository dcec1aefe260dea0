"""Which nodes are a unary function of one 8-bit operand (clause 9), and their lowering: a table look-up."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.lower import tables
from edgec.lower.builder import Lowering
from edgec.lower.quantized import Ending, coded_params, deferred, ending, finish
from edgec.lower.tables import Function
from edgec.lower.values import Value
from edgec.program.expr import INT, cast, load

_FAR = Fraction(2) ** 200  # beyond every value that 8 bits stand for
Found = tuple[str, Function | str]  # the operand, and the function or its name in tables.FUNCTIONS


def table_pattern(lowering: Lowering, node: Node) -> bool:
    """Compute `node` and its QuantizeLinear by a table; False when it is no unary function of codes."""
    found = _plain(node) or _parametric(lowering, node) or _with_scalar(lowering, node)
    return found is not None and _look_up(lowering, node, found, ())


def swish_pattern(lowering: Lowering, node: Node) -> bool:
    """x * Sigmoid(x), x * Sigmoid(alpha * x) or x * HardSigmoid(x, 1/6, 1/2) as one table; `node` is the inner function or its Mul."""
    found = _product_with_itself(lowering, node)
    return found is not None and _look_up(lowering, node, found[0], found[1])


def _look_up(lowering: Lowering, node: Node, found: Found, inner: tuple[Node, ...]) -> bool:
    name, function = found
    x = lowering.value(name)
    source, end = coded_params(x), ending(lowering, node.outputs[0], activation=False)
    if source is None or x.coded is None or end is None:
        return False
    if isinstance(function, str):
        entries = tables.named_table(function, source, end.params, lowering.activation)
    else:
        entries = tables.table(function, source, end.params, lowering.activation)
    finish(lowering, end, _indexed(lowering, x.coded.value, entries, node, inner, end))
    return True


def _indexed(lowering: Lowering, codes: Value, entries: np.ndarray, node: Node, inner: tuple[Node, ...], end: Ending) -> Value:
    buffer = lowering.constant(f"{node.name or end.name}_table", entries)
    first = 128 if lowering.activation == DType.INT8 else 0
    result = deferred(lowering, codes, lambda index: load(buffer, cast(codes.at(index), INT) + first, lowering.activation))
    for item in (*inner, node):
        result = result.by(codes if not result.nodes else result, node=item.name, op=item.op)
    return result


def _plain(node: Node) -> Found | None:
    if node.op == "Gelu":
        return node.inputs[0], f"Gelu {node.attributes.get('approximate', 'none')}"
    return (node.inputs[0], node.op) if node.op in tables.FUNCTIONS else None


def _parametric(lowering: Lowering, node: Node) -> Found | None:
    x = node.inputs[0]

    def number(name: str) -> Fraction:
        return Fraction(float(np.float32(node.attributes[name])))

    if node.op == "LeakyRelu":
        slope = number("alpha")
        return x, lambda v: v if v >= 0 else slope * v
    if node.op == "Elu":
        alpha = number("alpha")
        return x, lambda v: tables.elu(v, alpha)
    if node.op == "Selu":
        alpha, gamma = number("alpha"), number("gamma")
        return x, lambda v: tables.elu(v, alpha, gamma)
    if node.op == "HardSigmoid":
        alpha, beta = number("alpha"), number("beta")
        return x, lambda v: tables.hard_sigmoid(v, alpha, beta)
    if node.op == "Swish":
        alpha = number("alpha")
        return x, lambda v: tables.swish(v, alpha)
    return _clip(lowering, node) if node.op == "Clip" else None


def _clip(lowering: Lowering, node: Node) -> Found | None:
    bounds: list[Fraction | None] = [None, None]
    for index in (1, 2):
        if node.input(index):
            raw = _scalar(lowering, node.input(index))
            if raw is None or np.isnan(raw):
                return None
            bounds[index - 1] = _bound(raw)
    low, high = bounds
    return node.inputs[0], lambda v: tables.clip(v, low, high)


def _bound(value: float) -> Fraction:
    return Fraction(value) if np.isfinite(value) else _FAR if value > 0 else -_FAR


def _scalar(lowering: Lowering, name: str) -> float | None:
    """The value of a float32 constant of one element."""
    array = lowering.graph.constant(name)
    return float(array.item()) if array is not None and array.size == 1 and array.dtype == np.float32 else None


_FORWARD: dict[str, Callable[[Fraction], Function]] = {
    "Add": lambda c: lambda v: v + c, "Sub": lambda c: lambda v: v - c, "Mul": lambda c: lambda v: v * c,
    "Div": lambda c: lambda v: tables.divide(v, c), "Pow": lambda c: lambda v: tables.power(v, c),
}  # fmt: skip
_BACKWARD: dict[str, Callable[[Fraction], Function]] = {
    **_FORWARD, "Sub": lambda c: lambda v: c - v,
    "Div": lambda c: lambda v: tables.divide(c, v), "Pow": lambda c: lambda v: tables.power(c, v),
}  # fmt: skip


def _with_scalar(lowering: Lowering, node: Node) -> Found | None:
    """One coded operand and one scalar constant; the result keeps the operand's shape."""
    if node.op not in (*_FORWARD, "Min", "Max") or len(node.inputs) != 2:
        return None
    graph = lowering.graph
    first = 0 if graph.constant(node.inputs[0]) is None else 1
    x, other = node.inputs[first], node.inputs[1 - first]
    raw = _scalar(lowering, other)
    if raw is None or len(graph.shape(other)) > len(graph.shape(x)):
        return None
    if node.op in ("Min", "Max"):
        if np.isnan(raw):
            return None
        bound = _bound(raw)
        return x, (lambda v: min(v, bound)) if node.op == "Min" else (lambda v: max(v, bound))
    if not np.isfinite(raw):
        return None
    return x, (_FORWARD if first == 0 else _BACKWARD)[node.op](Fraction(raw))


def _product_with_itself(lowering: Lowering, node: Node) -> tuple[Found, tuple[Node, ...]] | None:
    graph = lowering.graph
    if node.op != "Mul" or len(node.inputs) != 2:
        return None
    for x, factor in (node.inputs, node.inputs[::-1]):
        inner = graph.producer(factor)
        if inner is None or graph.reader_count(factor) != 1 or coded_params(lowering.values.get(x)) is None:
            continue
        if inner.op == "Sigmoid":
            alpha = _multiple(lowering, inner.inputs[0], x)
            if alpha is not None:
                return (x, partial(tables.swish, alpha=alpha)), (inner,)
        sixth, half = np.float32(1 / 6), np.float32(0.5)
        if inner.op == "HardSigmoid" and inner.inputs[0] == x:
            given = np.float32(inner.attributes["alpha"]), np.float32(inner.attributes["beta"])
            if given == (sixth, half):
                return (x, "HardSwish"), (inner,)
    return None


def _multiple(lowering: Lowering, name: str, x: str) -> Fraction | None:
    """alpha when `name` is alpha * x and nobody else reads it."""
    if name == x:
        return Fraction(1)
    node = lowering.graph.producer(name, "Mul")
    if node is None or x not in node.inputs or lowering.graph.reader_count(name) != 1:
        return None
    raw = _scalar(lowering, node.inputs[1 - node.inputs.index(x)])
    return Fraction(raw) if raw is not None and np.isfinite(raw) else None
