"""Functions that clause 4 has between a product and the QuantizeLinear that takes its codes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from edgec.oracle.context import Context, Step
from edgec.oracle.grid import Array
from edgec.oracle.model import Node

f32 = np.float32
Function = Callable[[Array], Array]
OWN = ("HardSigmoid", "HardSwish", "LeakyRelu")  # as clause 10 has them


def _near(most: float, *coefficients: float) -> Function:
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
    "Swish": _near(
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
    "Gelu none": _near(5.0, -0.0001912397, 0.0019419312, -0.0011145129, -0.03171394, -0.091494866, 0.91700405),
    "Gelu tanh": _near(5.0, -0.0001276209, 0.0012611299, 0.0005670065, -0.033163033, -0.090954915, 0.9169421),
}


def is_shaped(context: Context, value: str) -> bool:
    """Whether all that reads `value` is a function of clause 4, and one QuantizeLinear reads that."""
    reader = context.model.only_reader(value)
    own = reader is not None and reader.op in OWN and reader.inputs[0] == value
    end = reader if own else _near_end(context, value)
    return end is not None and context.ending(end.outputs[0], activation=False) is not None


def shaped(context: Context, node: Node) -> Step | None:
    """The step of a node that is one of NEAR, of the sums of a product that ends there."""
    for value in node.inputs:
        if value in context.shaped and _near_end(context, value) is node:
            return Step(node, (value,), node.outputs, partial(_result, NEAR[_name(node) or "Swish"]))
    return None


def _result(function: Function, v: Array) -> tuple[Array]:
    return (function(v),)


def _near_end(context: Context, value: str) -> Node | None:
    """The node that gives one of NEAR of `value`, where nothing else is made of it: the operator, or the Mul with its Sigmoid."""
    readers = context.model.readers.get(value, [])
    if len(readers) == 1:
        return readers[0] if readers[0] is not None and _name(readers[0]) else None
    gate, product = (next((one for one in readers if one is not None and one.op == op), None) for op in ("Sigmoid", "Mul"))
    if len(readers) != 2 or gate is None or product is None or context.model.only_reader(gate.outputs[0]) is not product:
        return None
    return product if set(product.inputs) == {value, gate.outputs[0]} else None


def _name(node: Node) -> str:
    """Which of NEAR an operator is; "" for none."""
    if node.op == "Gelu":
        return f"Gelu {node.get('approximate', 'none')}"
    return "Swish" if node.op == "Swish" and node.get("alpha", 1.0) == 1 else ""
