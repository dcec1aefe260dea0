"""Which rule lowers which integer operator, and which node that belongs to none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edgec.integer.operators import (
    DotProduct,
    IntegerOperator,
    Join,
    LayerNorm,
    Mean,
    Move,
    Multiplication,
    PairProduct,
    Quantize,
    Requantize,
    Softmax,
    Sum,
    Table,
    WideDotProduct,
)
from edgec.ir.graph import Node
from edgec.lower.attention import attention, attention_of
from edgec.lower.builder import Lowering
from edgec.lower.compaction import compress, non_zero
from edgec.lower.convolution_int8 import dot_product
from edgec.lower.convolution_int16 import wide_dot_product
from edgec.lower.counts import constant_of_shape, range_, shape, told
from edgec.lower.elementwise import cast_node, elementwise
from edgec.lower.extremes import extreme_node
from edgec.lower.gating import multiply_codes
from edgec.lower.layer_norm_int8 import layer_norm_codes
from edgec.lower.matmul import product_node
from edgec.lower.movement import lift
from edgec.lower.moves import MOVES, concat
from edgec.lower.non_max import non_max_suppression
from edgec.lower.normalization import (
    batch_normalization,
    instance_normalization,
    layer_normalization,
    local_response,
    root_normalization,
    softmax,
)
from edgec.lower.pair_product import pair_product
from edgec.lower.pooling import average_codes, average_pool, global_average, global_max, max_pool
from edgec.lower.quantized import (
    add,
    concatenate,
    dequantize_node,
    look_up,
    quantize_numbers,
    requantize_codes,
    unmatched_quantize,
)
from edgec.lower.recurrent import recurrent
from edgec.lower.reduction import arg_extreme, reduce_
from edgec.lower.resize import resize
from edgec.lower.scatter import scatter_nd
from edgec.lower.selection import top_k
from edgec.lower.softmax_int8 import softmax_codes
from edgec.lower.unique import unique
from edgec.ops.registry import OPERATORS

Rule = Callable[[Lowering, Node], None]


def identity(lowering: Lowering, node: Node) -> None:
    lowering.define(node.outputs[0], lift(lowering.value(node.inputs[0]), lambda value: value))


def matmul(lowering: Lowering, node: Node) -> None:
    """The end of attention, or a product."""
    found = attention_of(lowering, node)
    if found is not None:
        attention(lowering, found)
    else:
        product_node(lowering, node)


RULES: dict[str, Rule] = {
    **MOVES,
    "Concat": concat, "Identity": identity, "Cast": cast_node, "Resize": resize,
    "Conv": product_node, "ConvTranspose": product_node, "Gemm": product_node, "MatMul": matmul,
    "MaxPool": max_pool, "AveragePool": average_pool, "GlobalAveragePool": global_average, "GlobalMaxPool": global_max,
    "QuantizeLinear": unmatched_quantize, "DequantizeLinear": dequantize_node,
    "Softmax": softmax, "LogSoftmax": softmax, "LRN": local_response,
    "LayerNormalization": layer_normalization, "RMSNormalization": root_normalization,
    "InstanceNormalization": instance_normalization, "BatchNormalization": batch_normalization,
    **dict.fromkeys(("RNN", "GRU", "LSTM"), recurrent),
    "Unique": unique, "NonZero": non_zero, "Compress": compress, "NonMaxSuppression": non_max_suppression, "Shape": shape,
    "ConstantOfShape": constant_of_shape, "Range": range_,
    "ScatterND": scatter_nd, "TopK": top_k, "ArgMax": arg_extreme, "ArgMin": arg_extreme,
    **dict.fromkeys(("ReduceSum", "ReduceMean", "ReduceProd"), reduce_), **dict.fromkeys(("ReduceMin", "ReduceMax"), extreme_node),
}  # fmt: skip

CLAUSES: dict[type[IntegerOperator], Callable[[Lowering, Any], None]] = {
    Quantize: quantize_numbers, DotProduct: dot_product, WideDotProduct: wide_dot_product, PairProduct: pair_product, Sum: add,
    Multiplication: multiply_codes, Requantize: requantize_codes, Join: concatenate, Mean: average_codes, Table: look_up,
    Softmax: softmax_codes, LayerNorm: layer_norm_codes,
    Move: lambda lowering, operator: RULES[operator.node.op](lowering, operator.node),  # of codes as of numbers
}  # fmt: skip


def rule_of(op: str) -> Rule | None:
    """The rule of an operator, None when it has none."""
    known = OPERATORS.get(op)
    return RULES.get(op) or (elementwise if known is not None and known.scalar is not None else None)


def lower_node(lowering: Lowering, node: Node) -> None:
    """By the clause of its integer operator, which is lowered where its heart is, else by the operator's own rule."""
    operator = lowering.matched.at.get(node)
    if node in lowering.matched.failed:
        raise lowering.matched.failed[node]
    if operator is None:
        if told(lowering, node):
            return
        rule = rule_of(node.op)
        assert rule is not None
        rule(lowering, node)
    elif operator.node is node:
        CLAUSES[type(operator)](lowering, operator)
