"""Clause 9: unary functions of q as tables of 256 entries."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from edgec.oracle.context import Context, Step
from edgec.oracle.functions import (
    GELU,
    INFINITE,
    MINUS_INFINITE,
    PLAIN,
    UNDEFINED,
    Function,
    Real,
    Special,
    clip,
    divide,
    elu,
    hard_sigmoid,
    power,
    swish,
)
from edgec.oracle.grid import Array, Grid, exact
from edgec.oracle.model import Node


def table(function: Function, source: Grid, target: Grid) -> Array:
    """The target's q for every q of the source, in order from the least."""
    scale, step = exact(source.scale), exact(target.scale)
    entries = []
    for q in range(source.low, source.high + 1):
        y = function((q - source.zero) * scale)
        if isinstance(y, Special):
            entries.append({UNDEFINED: target.zero, INFINITE: target.high, MINUS_INFINITE: target.low}[y])
        else:
            entries.append(min(max(round(y / step) + target.zero, target.low), target.high))
    return np.array(entries, target.dtype)


_named = lru_cache(maxsize=512)(lambda name, source, target: table(_FIXED[name], source, target))
_FIXED: dict[str, Function] = {**PLAIN, **{f"Gelu {form}": function for form, function in GELU.items()}}


def table_step(context: Context, node: Node) -> Step | None:
    """The step of a node that matches clause 9, perhaps with others behind it, else None."""
    found, last = _function(context, node), node
    source = found and context.grid(found[0])
    if found is None or source is None:
        return None
    name, function = found
    while (end := context.ending(last.outputs[0], activation=False)) is None:
        reader = context.model.only_reader(last.outputs[0])
        following = _function(context, reader) if reader is not None and _total(context, last) else None
        if reader is None or following is None or following[0] != last.outputs[0]:
            return None
        function, last = _composed(function, following[1]), reader
    entries = _named(function, source, end.grid) if isinstance(function, str) else table(function, source, end.grid)
    return Step(last, (name,), (end.output,), lambda q: (entries[q.astype(np.int64) - source.low],), raw=True)


Found = tuple[str, Function | str]  # the operand, and the function or its name in _FIXED
TOTAL = frozenset(
    {
        *("Relu", "LeakyRelu", "Clip", "Elu", "Selu", "Sigmoid", "HardSigmoid", "HardSwish", "Swish", "Gelu", "Tanh", "Erf", "Abs", "Neg"),
        *("Softplus", "Softsign", "Mish", "Floor", "Ceil", "Round", "Add", "Sub", "Mul", "Min", "Max"),
    }
)  # a finite result for each finite number


def _total(context: Context, node: Node) -> bool:
    return node.op in TOTAL or (node.op == "Div" and bool(_fraction(context.scalar(node.inputs[1]))))


def _composed(first: Function | str, second: Function | str) -> Function:
    before, after = (_FIXED[one] if isinstance(one, str) else one for one in (first, second))

    def both(v: Fraction) -> Real:
        inner = before(v)
        return inner if isinstance(inner, Special) else after(inner)

    return both


def _function(context: Context, node: Node) -> Found | None:
    return _fixed(context, node) or _parametric(context, node) or _with_scalar(context, node)


def _fixed(context: Context, node: Node) -> Found | None:
    if node.op == "Gelu":
        return node.inputs[0], f"Gelu {node.get('approximate', 'none')}"
    if node.op == "Mul":
        return _product_with_itself(context, node)
    return (node.inputs[0], node.op) if node.op in PLAIN else None


def _product_with_itself(context: Context, node: Node) -> Found | None:
    """x * Sigmoid(x), x * Sigmoid(alpha x) and x * HardSigmoid(x, 1/6, 1/2)."""
    for x, factor in (node.inputs, node.inputs[::-1]):
        inner = context.model.producers.get(factor)
        if inner is None or context.model.only_reader(factor) is None or context.grid(x) is None:
            continue
        if inner.op == "Sigmoid":
            alpha = _multiple(context, inner.inputs[0], x)
            if alpha is not None:
                return x, _swish(alpha)
        sixth, half = np.float32(1 / 6), np.float32(0.5)
        slope = (_attribute(inner, "alpha", 0.2), _attribute(inner, "beta", 0.5))
        if inner.op == "HardSigmoid" and inner.inputs[0] == x and slope == (sixth, half):
            return x, "HardSwish"
    return None


def _swish(alpha: Fraction) -> Function:
    return lambda v: swish(v, alpha)


def _multiple(context: Context, name: str, x: str) -> Fraction | None:
    """alpha when `name` is alpha * x and nobody else reads it."""
    if name == x:
        return Fraction(1)
    node = context.model.producers.get(name)
    if node is None or node.op != "Mul" or x not in node.inputs or context.model.only_reader(name) is None:
        return None
    return _fraction(context.scalar(node.inputs[1 - node.inputs.index(x)]))


def _attribute(node: Node, name: str, default: float) -> np.float32:
    return np.float32(node.get(name, default))


# the numbers that a function takes of attributes, with ONNX's defaults, and the function
PARAMETRIC: dict[str, tuple[dict[str, float], Callable[..., Real]]] = {
    "LeakyRelu": ({"alpha": 0.01}, lambda v, alpha: v if v >= 0 else alpha * v), "Elu": ({"alpha": 1.0}, elu),
    "Selu": ({"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875}, elu),
    "HardSigmoid": ({"alpha": 0.2, "beta": 0.5}, hard_sigmoid), "Swish": ({"alpha": 1.0}, swish),
}  # fmt: skip


def _parametric(context: Context, node: Node) -> Found | None:
    if node.op == "Clip":
        return _clip(context, node)
    if node.op not in PARAMETRIC:
        return None
    defaults, function = PARAMETRIC[node.op]
    numbers = [exact(_attribute(node, name, default)) for name, default in defaults.items()]
    return node.inputs[0], lambda v: function(v, *numbers)


def _clip(context: Context, node: Node) -> Found | None:
    bounds = [context.scalar(node.input(index)) for index in (1, 2)]
    for index, bound in enumerate(bounds, 1):
        if node.input(index) if bound is None else np.isnan(bound):
            return None
    low, high = (None if bound is None else _bound(bound) for bound in bounds)
    return node.inputs[0], lambda v: clip(v, low, high)


# A bound of +-2^200 lies beyond every value that 8 bits stand for.
FAR = Fraction(2) ** 200


def _bound(value: np.float32) -> Fraction:
    return (FAR if value > 0 else -FAR) if np.isinf(value) else exact(value)


def _fraction(value: np.float32 | None) -> Fraction | None:
    return exact(value) if value is not None and np.isfinite(value) else None


def _with_scalar(context: Context, node: Node) -> Found | None:
    """One quantized operand, one scalar constant; the result keeps the operand's shape."""
    if node.op not in ("Add", "Sub", "Mul", "Div", "Pow", "Min", "Max") or len(node.inputs) != 2:
        return None
    first = 0 if context.constant(node.inputs[0]) is None else 1
    x, other = node.inputs[first], node.inputs[1 - first]
    raw, value = context.scalar(other), context.constant(other)
    if raw is None or value is None or value.ndim > (context.rank(x) or 0):
        return None
    if node.op in ("Min", "Max") and not np.isnan(raw):
        bound = _bound(raw)
        return x, (lambda v: min(v, bound)) if node.op == "Min" else (lambda v: max(v, bound))
    c = _fraction(raw)
    if c is None:
        return None
    forward: dict[str, Function] = {
        "Add": lambda v: v + c, "Sub": lambda v: v - c, "Mul": lambda v: v * c, "Div": lambda v: divide(v, c), "Pow": lambda v: power(v, c),
    }  # fmt: skip
    backward: dict[str, Function] = {"Sub": lambda v: c - v, "Div": lambda v: divide(c, v), "Pow": lambda v: power(c, v)}
    return x, forward[node.op] if first == 0 else backward.get(node.op, forward[node.op])
