"""Functions that clause 4 has between a product and the QuantizeLinear that takes its codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from edgec.oracle.context import Context, Ending, Step
from edgec.oracle.grid import Array, settle, usable
from edgec.oracle.model import Node

f32 = np.float32
Function = Callable[[Array], Array]
OWN = ("HardSigmoid", "HardSwish", "LeakyRelu")  # as clause 10 has them


def _fit(most: float, *coefficients: float) -> Function:
    """max(v, 0) - t p(t)^8 for t = min(|v|, most), p by Horner, each operation rounded to binary32."""

    def function(v: Array) -> Array:
        t = np.minimum(np.abs(v), f32(most))
        p = np.full_like(t, f32(coefficients[0]))
        for coefficient in coefficients[1:]:
            p = p * t + f32(coefficient)
        square = p * p
        fourth = square * square
        result: Array = np.maximum(v, f32(0)) - t * (fourth * fourth)
        return result

    return function


NEAR: dict[str, Function] = {
    "Swish": _fit(
        14.0,
        -3.7804244e-09,
        2.0405271e-07,
        -4.5572606e-06,
        5.398712e-05,
        -0.0003529858,
        0.0010685318,
        0.00079755986,
        -0.012842539,
        -0.057072513,
        0.9169578,
    ),
    "Gelu none": _fit(5.0, -0.0001912397, 0.0019419312, -0.0011145129, -0.03171394, -0.091494866, 0.91700405),
    "Gelu tanh": _fit(5.0, -0.0001276209, 0.0012611299, 0.0005670065, -0.033163033, -0.090954915, 0.9169421),
}


@dataclass(frozen=True)
class Shaping:
    """value: what the function gives, m: what this is multiplied by, where a Mul does so before the QuantizeLinear."""

    value: str
    m: Array | None


def shaping(context: Context, node: Node) -> Shaping | None:
    """What is made of a product's result where all that reads it is a function of clause 4, and one QuantizeLinear reads that, perhaps
    times a number for each channel."""
    function = _function(context, node.outputs[0])
    if function is None:
        return None
    found = _factor(context, node, function.outputs[0])
    end = context.ending(found[0].outputs[0] if found else function.outputs[0], activation=False)
    if end is None:
        return None
    with np.errstate(over="ignore"):
        m = np.asarray((found[1] if found else f32(1)) * (f32(1) / end.grid.scale))
    return Shaping(function.outputs[0], m if found else None) if usable(m) else None


def shaped(context: Context, node: Node) -> Step | None:
    """The step of a node that is one of NEAR, of the sums of a product that ends there; or of a Mul behind such a function, to codes."""
    for value in node.inputs:
        near = _near(context, node) if value in context.shaped and _function(context, value) is node else ""
        if near:
            return Step(node, (value,), node.outputs, partial(_result, NEAR[near]))
        end = context.ending(node.outputs[0], activation=False) if value in context.behind else None
        if end is not None:
            return Step(node, (value,), (end.output,), partial(_codes, context.behind[value], end))
    return None


def _codes(m: Array, end: Ending, v: Array) -> tuple[Array]:
    return (settle(v * m, end.grid, end.grid.low, end.grid.high),)


def _factor(context: Context, product: Node, value: str) -> tuple[Node, Array] | None:
    """The Mul that alone reads a function's result, with a finite positive constant for each of several channels, and this constant."""
    reader, rank = context.model.only_reader(value), context.rank(product.outputs[0])
    if reader is None or reader.op != "Mul" or rank is None:
        return None
    others = [name for name in reader.inputs if name != value]
    k = context.constant(others[0]) if others and others[0] not in context.weights else None
    if k is None or k.dtype != np.float32 or k.ndim > rank or not (k.size > 1 and (k > 0).all() and (k < np.inf).all()):
        return None
    behind = rank - 2 if product.op in ("Conv", "ConvTranspose") else 0  # axes that follow the channels
    return (reader, k) if k.ndim > behind and k.shape[k.ndim - 1 - behind] == k.size == _channels(context, product) else None


def _channels(context: Context, product: Node) -> int:
    """Of a product's result."""
    shape = context.weights[product.inputs[1]].q.shape
    if product.op == "Conv" or (product.op == "Gemm" and product.get("transB", 0)):
        return int(shape[0])
    return int(shape[1]) * (product.get("group", 1) if product.op == "ConvTranspose" else 1)


def _result(function: Function, v: Array) -> tuple[Array]:
    return (function(v),)


def _function(context: Context, value: str) -> Node | None:
    """The node that gives a function of `value`, where nothing else is made of it: the operator, or the Mul with its gate."""
    readers = [one for one in context.model.readers.get(value, []) if one is not None]
    if len(readers) != len(context.model.readers.get(value, [])) or len(readers) > 2:
        return None
    if len(readers) == 1:
        return readers[0] if readers[0].op in OWN or _name(readers[0]) else None
    gate, product = (next((one for one in readers if one.op in ops), None) for ops in (("Sigmoid", "HardSigmoid"), ("Mul",)))
    if gate is None or product is None or context.model.only_reader(gate.outputs[0]) is not product:
        return None
    sixth = gate.op == "Sigmoid" or (f32(gate.get("alpha", 0.2)), f32(gate.get("beta", 0.5))) == (f32(1 / 6), f32(0.5))
    return product if sixth and set(product.inputs) == {value, gate.outputs[0]} else None


def _near(context: Context, function: Node) -> str:
    """Which of NEAR a function is, "" for none."""
    gates = [context.model.producers.get(name) for name in function.inputs] if function.op == "Mul" else []
    return "Swish" if any(gate is not None and gate.op == "Sigmoid" for gate in gates) else _name(function)


def _name(node: Node) -> str:
    """Which of NEAR an operator is, "" for none."""
    if node.op == "Gelu":
        return f"Gelu {node.get('approximate', 'none')}"
    return "Swish" if node.op == "Swish" and node.get("alpha", 1.0) == 1 else ""
