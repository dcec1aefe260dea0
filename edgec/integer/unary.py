"""Which nodes are a unary function of one operand (clause 9), and which function."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from edgec.integer.operators import Function
from edgec.integer.tails import sole_reader
from edgec.ir.graph import Graph, Node
from edgec.ops import OPERATORS, Role

WITH_SCALAR = frozenset({"Add", "Sub", "Mul", "Div", "Pow", "Min", "Max"})  # one operand and one scalar constant
FAR = Fraction(2) ** 200  # beyond every value that 8 bits stand for
Line = tuple[Fraction, Fraction]  # a and b of a * x + b

LINES: dict[str, Callable[[Fraction], Line]] = {
    **dict.fromkeys(("Mul", "Mul of"), lambda number: (number, Fraction(0))),
    **dict.fromkeys(("Add", "Add of"), lambda number: (Fraction(1), number)),
    "Sub": lambda number: (Fraction(1), -number),
    "Div": lambda number: (1 / number if number else Fraction(0), Fraction(0)),
}

Found = tuple[str, Function]  # the operand, and what is computed of it


def function_of(graph: Graph, node: Node) -> Found | None:
    """What a single node computes."""
    known = OPERATORS.get(node.op)
    if node.op == "Clip":
        return _clip(graph, node)
    if known is not None and known.role is Role.TABLE:
        if node.op == "Gelu":
            return node.inputs[0], Function(f"Gelu {node.attributes.get('approximate', 'none')}")
        return node.inputs[0], Function(node.op, tuple(_attribute(node, name) for name in known.numbers))
    return _with_scalar(graph, node) if node.op in WITH_SCALAR else None


def following_of(graph: Graph, node: Node) -> tuple[Node, Function] | None:
    """The node that alone reads what `node`, a unary function, gives, and what it computes of it; None where that may be infinite."""
    reader = sole_reader(graph, node.outputs[0])
    found = function_of(graph, reader) if reader is not None and is_total(graph, node) else None
    return (reader, found[1]) if reader is not None and found is not None and found[0] == node.outputs[0] else None


def rising_line(graph: Graph, node: Node) -> Line | None:
    """`node` and the unary functions that follow it, where each is a line that rises: a > 0 and b of the whole."""
    slope, offset, found = Fraction(1), Fraction(0), function_of(graph, node)
    following: tuple[Node, Function] | None = (node, found[1]) if found is not None else None
    if following is None:
        return None
    while following is not None:
        node, function = following
        a, b = LINES[function.name](function.numbers[0]) if function.name in LINES else (Fraction(0), Fraction(0))  # type: ignore[arg-type]
        if a <= 0:
            return None
        slope, offset = slope * a, offset * a + b
        following = following_of(graph, node)
    return slope, offset


def is_total(graph: Graph, node: Node) -> bool:
    """Whether `node`, a unary function or an operator with one scalar constant, has a finite result for each finite number."""
    divisor = graph.constant(node.inputs[1]) if node.op == "Div" else None
    return (node.op in OPERATORS and OPERATORS[node.op].total) or (divisor is not None and bool((divisor != 0).all()))


def _attribute(node: Node, name: str) -> Fraction:
    return Fraction(float(np.float32(node.attributes[name])))


def _clip(graph: Graph, node: Node) -> Found | None:
    bounds: list[Fraction | None] = [None, None]
    for index in (1, 2):
        if node.input(index):
            raw = scalar(graph, node.input(index))
            if raw is None or np.isnan(raw):
                return None
            bounds[index - 1] = _bound(raw)
    return node.inputs[0], Function("Clip", tuple(bounds))


def _bound(value: float) -> Fraction:
    return Fraction(value) if np.isfinite(value) else FAR if value > 0 else -FAR


def scalar(graph: Graph, name: str) -> float | None:
    """The value of a float32 constant of one element."""
    array = graph.constant(name)
    return float(array.item()) if array is not None and array.size == 1 and array.dtype == np.float32 else None


def _with_scalar(graph: Graph, node: Node) -> Found | None:
    """One operand and one scalar constant; the result keeps the operand's shape."""
    if len(node.inputs) != 2:
        return None
    first = 0 if graph.constant(node.inputs[0]) is None else 1
    x, other = node.inputs[first], node.inputs[1 - first]
    raw = scalar(graph, other)
    if raw is None or len(graph.shape(other)) > len(graph.shape(x)):
        return None
    if node.op in ("Min", "Max"):
        return None if np.isnan(raw) else (x, Function(node.op, (_bound(raw),)))
    if not np.isfinite(raw):
        return None
    return x, Function(node.op if first == 0 else f"{node.op} of", (Fraction(raw),))


def product_with_itself(graph: Graph, node: Node, x: str, factor: str) -> tuple[Function, tuple[Node, ...]] | None:
    """x * Sigmoid(x), x * Sigmoid(alpha * x) or x * HardSigmoid(x, 1/6, 1/2) as one function, and the nodes before the Mul.

    `factor` is the inner function's result, which nobody else reads.
    """
    inner = graph.producer(factor)
    if inner is None or graph.reader_count(factor) != 1:
        return None
    if inner.op == "Sigmoid":
        return _swish(graph, inner, x)
    if inner.op != "HardSigmoid" or inner.inputs[0] != x:
        return None
    given = np.float32(inner.attributes["alpha"]), np.float32(inner.attributes["beta"])
    return (Function("HardSwish"), (inner,)) if given == (np.float32(1 / 6), np.float32(0.5)) else None


def _swish(graph: Graph, sigmoid: Node, x: str) -> tuple[Function, tuple[Node, ...]] | None:
    name = sigmoid.inputs[0]
    if name == x:
        return Function("Swish", (Fraction(1),)), (sigmoid,)
    node = graph.producer(name, "Mul")
    if node is None or x not in node.inputs or graph.reader_count(name) != 1:
        return None
    raw = scalar(graph, node.inputs[1 - node.inputs.index(x)])
    return None if raw is None or not np.isfinite(raw) else (Function("Swish", (Fraction(raw),)), (node, sigmoid))
