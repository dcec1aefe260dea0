"""Clause 17: Softmax from codes to codes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from edgec.integer.operators import Softmax
from edgec.kernels import SoftmaxInt8
from edgec.lower.builder import Lowering
from edgec.lower.coding import limits
from edgec.lower.comment import quantization, tensor
from edgec.lower.convolution import labelled
from edgec.lower.quantized import codes_of, finish, params_of
from edgec.lower.values import Value, packed_strides, row_major
from edgec.ops.exact import exp
from edgec.program.expr import product

UNIT = 2**16  # what the largest number of a row counts


def softmax_codes(lowering: Lowering, operator: Softmax) -> None:
    """Clause 17."""
    node, (source,), tail = operator.node, operator.operands, operator.end
    x = dense_rows(lowering, source.name, codes_of(lowering, source))
    y = dense_result(lowering, tail.name, x)
    assert x.view is not None and y.view is not None
    end, (low, high) = params_of(lowering, tail.grid), limits(lowering.activation)
    arguments = SoftmaxInt8(
        x.view.pointer, lowering.pointer(f"{node.name}_table", powers(source.grid.scale)), y.view.pointer, product(x.shape[:-1]),
        x.shape[-1], float(operator.inverse), end.zero, low, high,
    )  # fmt: skip
    line = f"{quantization('x', float(source.grid.scale), source.grid.zero)}   {quantization('y', float(end.scale), end.zero)}"
    lowering.template(arguments, tail.name, labelled(y, operator.nodes), 0, tensor(x.dtype, x.shape), (line,))
    finish(lowering, tail, y)


def powers(scale: np.float32) -> np.ndarray:
    """rint(UNIT * exp(-d * scale)) for d from 255 down to 0."""
    step = Fraction(float(scale))
    return np.array([round(UNIT * exp(-d * step)) for d in range(255, -1, -1)], np.int32)


def dense_result(lowering: Lowering, name: str, x: Value) -> Value:
    """Memory for as many codes as `x` has, one row behind the other."""
    order = row_major(x.rank)
    y = lowering.place(name, lowering.activation, x.shape, order)
    if y.view is None or y.view.strides != packed_strides(x.shape, order):
        return lowering.dense(name, lowering.activation, x.shape, order)
    return y


def dense_rows(lowering: Lowering, name: str, value: Value) -> Value:
    """`value` in memory, one row behind the other."""
    order = row_major(value.rank)
    if value.view is not None and value.view.strides == packed_strides(value.shape, order):
        return value
    stored = lowering.materialize(value, name, order)
    lowering.keep(name, value, stored)
    return stored
