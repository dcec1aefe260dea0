"""Functions of one number that have a finite result for each finite one: clause 9 of docs/int8.md chains them."""

from __future__ import annotations

from edgec.ir.graph import Graph, Node

TOTAL = frozenset({
    "Relu", "LeakyRelu", "Clip", "Elu", "Selu", "Sigmoid", "HardSigmoid", "HardSwish", "Swish", "Gelu", "Tanh", "Erf", "Abs", "Neg",
    "Softplus", "Softsign", "Mish", "Floor", "Ceil", "Round", "Add", "Sub", "Mul", "Min", "Max",
})  # fmt: skip


def is_total(graph: Graph, node: Node) -> bool:
    """Whether `node`, a unary function or an operator with one scalar constant, is such a function."""
    divisor = graph.constant(node.inputs[1]) if node.op == "Div" else None
    return node.op in TOTAL or (divisor is not None and bool((divisor != 0).all()))
