"""How much a run of a node computes, as a budget counts it: elements that are read and made, and for each sum as many as it has terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from edgec.ir.graph import Node
from edgec.ir.loop import loop_of
from edgec.ir.types import TensorType

Types = Mapping[str, TensorType]


def _product(node: Node, types: Types) -> int:
    """Terms of a sum over the last axis of the first operand, or of a Gemm over its first."""
    return types[node.inputs[0]].static_shape[-2 if node.attributes.get("transA") else -1]


def _filter(node: Node, types: Types) -> int:
    """Elements of what is laid over the image for one channel."""
    return prod(types[node.inputs[1]].static_shape[1:])


def _recurrent(node: Node, types: Types) -> int:
    """Products for each input, which is one gate's."""
    return int(node.attributes["hidden_size"])


def _window(node: Node, types: Types) -> int:
    return prod(node.attributes["kernel_shape"])


# Of each element that is made; of those in BY_INPUT, of each that is read.
TERMS: dict[str, Callable[[Node, Types], int]] = {
    "MatMul": _product,
    "Gemm": _product,
    "Conv": _filter,
    "ConvTranspose": _filter,
    "MaxPool": _window,
    "AveragePool": _window,
    **dict.fromkeys(("RNN", "GRU", "LSTM"), _recurrent),
    "Unique": lambda node, types: types[node.inputs[0]].static_shape[node.attributes["axis"]],  # each is compared with each
    "NonMaxSuppression": lambda node, types: types[node.inputs[0]].static_shape[1],
    "LRN": lambda node, types: int(node.attributes["size"]),
}
BY_INPUT = ("ConvTranspose", "RNN", "GRU", "LSTM")


def operations(node: Node, types: Types) -> int:
    """Those of one run, a symbol counted as its bound; `types` has all the node's values."""
    read, made = (sum(types[name].elements for name in names if name) for names in (node.inputs, node.outputs))
    loop = loop_of(node)
    if loop is not None:
        return loop.turns * sum(operations(inner, loop.body.types) for inner in loop.body.nodes)
    terms = TERMS.get(node.op)
    if terms is None:
        return read + made
    return read + terms(node, types) * (types[node.inputs[0]].elements if node.op in BY_INPUT else made)
