"""Which rule lowers which operator. Rules that return a bool are tried first; True means that they computed the node."""

from __future__ import annotations

from collections.abc import Callable

from edgec.ir.graph import Node
from edgec.lower.builder import Lowering
from edgec.lower.elementwise import elementwise
from edgec.lower.matmul import product_node
from edgec.lower.movement import lift
from edgec.lower.moves import MOVES, concat
from edgec.lower.normalization import batch_normalization, instance_normalization, layer_normalization, local_response, softmax
from edgec.lower.pooling import average_pool, global_average, global_max, max_pool
from edgec.lower.quantized import add_pattern, concat_pattern, dequantize_node, mul_pattern, quantize_node
from edgec.lower.reduction import arg_extreme, reduce_
from edgec.lower.resize import resize
from edgec.lower.unary_int8 import swish_pattern, table_pattern
from edgec.ops.registry import OPERATORS

Rule = Callable[[Lowering, Node], None]
Pattern = Callable[[Lowering, Node], bool]


def identity(lowering: Lowering, node: Node) -> None:
    lowering.define(node.outputs[0], lift(lowering.value(node.inputs[0]), lambda value: value))


RULES: dict[str, Rule] = {
    **MOVES,
    "Concat": concat, "Identity": identity, "Resize": resize,
    "Conv": product_node, "ConvTranspose": product_node, "Gemm": product_node, "MatMul": product_node,
    "MaxPool": max_pool, "AveragePool": average_pool, "GlobalAveragePool": global_average, "GlobalMaxPool": global_max,
    "QuantizeLinear": quantize_node, "DequantizeLinear": dequantize_node,
    "Softmax": softmax, "LogSoftmax": softmax, "LayerNormalization": layer_normalization, "LRN": local_response,
    "InstanceNormalization": instance_normalization, "BatchNormalization": batch_normalization,
    "ArgMax": arg_extreme, "ArgMin": arg_extreme,
    **dict.fromkeys(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"), reduce_),
}  # fmt: skip

PATTERNS: dict[str, tuple[Pattern, ...]] = {
    "Add": (add_pattern,), "Sub": (add_pattern,), "Mul": (swish_pattern, mul_pattern), "Concat": (concat_pattern,),
}  # fmt: skip


def rule_of(op: str) -> Rule | None:
    """The rule of an operator, None when it has none."""
    known = OPERATORS.get(op)
    return RULES.get(op) or (elementwise if known is not None and known.scalar is not None else None)


def lower_node(lowering: Lowering, node: Node) -> None:
    """Try the integer patterns, then the operator's own rule."""
    for pattern in (table_pattern, *PATTERNS.get(node.op, ())):
        if pattern(lowering, node):
            return
    rule = rule_of(node.op)
    assert rule is not None
    rule(lowering, node)
