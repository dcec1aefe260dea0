"""Clause 18: LayerNormalization and RMSNormalization from codes to codes."""

from __future__ import annotations

import numpy as np

from edgec.integer.operators import LayerNorm
from edgec.kernels import LayerNormInt8
from edgec.lower.builder import Lowering
from edgec.lower.coding import limits
from edgec.lower.comment import quantization, tensor
from edgec.lower.convolution import labelled
from edgec.lower.quantized import codes_of, finish, params_of
from edgec.lower.softmax_int8 import dense_result, dense_rows
from edgec.program.expr import product


def layer_norm_codes(lowering: Lowering, operator: LayerNorm) -> None:
    """Clause 18."""
    node, (source,), tail = operator.node, operator.operands, operator.end
    x = dense_rows(lowering, source.name, codes_of(lowering, source))
    y = dense_result(lowering, tail.name, x)
    assert x.view is not None and y.view is not None
    begin, end, (low, high) = params_of(lowering, source.grid), params_of(lowering, tail.grid), limits(lowering.activation)
    arguments = LayerNormInt8(
        x.view.pointer, lowering.pointer(f"{node.name}_epsilon", np.array([operator.epsilon], np.int64)),
        lowering.weights(f"{node.name}_scale", operator.scale),
        lowering.weights(f"{node.name}_offset", operator.offset),
        y.view.pointer, product(x.shape[:-1]), operator.count, int(operator.centered), begin.zero, end.zero, low, high,
    )  # fmt: skip
    line = f"{quantization('x', float(source.grid.scale), source.grid.zero)}   {quantization('y', float(end.scale), end.zero)}"
    lowering.template(arguments, tail.name, labelled(y, operator.nodes), 0, tensor(x.dtype, x.shape), (line,))
    finish(lowering, tail, y)
