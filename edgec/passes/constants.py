"""Constant folding."""

from __future__ import annotations

import numpy as np

from edgec.base.budget import spend_constant
from edgec.base.errors import ModelError
from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType, TensorType
from edgec.ops.corrected import BEYOND
from edgec.ops.evaluate import evaluate, has_types
from edgec.passes.codes import feeds_quantized, is_dense_weight
from edgec.passes.rewrite import become, rewrites, why_not

ALWAYS_FOLDED_BYTES = 1 << 16
GROWTH = 4  # int8 weights behind a DequantizeLinear grow by four


@rewrites("Shape", "Size")
def fold_shape(graph: Graph, node: Node) -> bool:
    """shape(x) -> constant, when the extents that are asked for are known."""
    shape = graph.shape(node.inputs[0])
    if node.op == "Shape":
        shape = shape[slice(node.attributes.get("start", 0), node.attributes.get("end", None))]
    extents = [extent for extent in shape if isinstance(extent, int)]
    if len(extents) < len(shape):
        return why_not(node, "an extent is a symbol")
    array = np.asarray(extents, np.int64)
    return _define(graph, node, [array if node.op == "Shape" else np.asarray(np.prod(array), np.int64)])


@rewrites()
def fold_constants(graph: Graph, node: Node) -> bool:
    """f(c, d...) -> constant, unless that takes much more room than the operands, or undoes the quantization of a weight."""
    if not all(name in graph.constants for name in node.inputs if name):
        return False
    if node.op in BEYOND:
        return why_not(node, "onnx's reference does not compute it rightly")
    if node.op == "Identity" and node.outputs[0] in graph.outputs:
        return False
    if any(graph.types[name].is_counted for name in node.outputs if name):
        return why_not(node, "others behind it are made for what a run counts")
    if node.op == "DequantizeLinear" and feeds_quantized(graph, node.outputs[0]):
        return why_not(node, "it is the weight of a quantized operator")
    if is_dense_weight(graph, node.outputs[0]):
        return why_not(node, "it is the matrix of products, which can read codes")
    room = GROWTH * sum(graph.constants[name].nbytes for name in node.inputs if name)
    size = sum(graph.types[name].bytes for name in node.outputs if name)
    if size > max(room, ALWAYS_FOLDED_BYTES):
        return why_not(node, f"the constant would grow to {size} bytes")
    spend_constant(size, f"{node.name} ({node.op})")
    try:
        arrays = evaluate(node, [graph.constants[name] if name else None for name in node.inputs])
    except ModelError as error:
        return why_not(node, str(error))
    if not has_types(arrays, [graph.types[name] for name in node.outputs if name]):
        return why_not(node, "the reference computes something of another type")
    return _define(graph, node, arrays)


def _define(graph: Graph, node: Node, arrays: list[np.ndarray]) -> bool:
    """Let the outputs of `node` be these constants."""
    outputs = [name for name in node.outputs if name]
    exposed = [name for name in outputs if name in graph.outputs]
    if exposed and len(outputs) > 1:
        return why_not(node, "several outputs, one of them the graph's")
    if exposed:
        constant = graph.add_constant(f"{exposed[0]}_value", np.asarray(arrays[0]))
        return become(graph, node, "Identity", [constant], outputs=exposed)
    pairs = [(name, np.asarray(array)) for name, array in zip(node.outputs, arrays, strict=False) if name]
    graph.remove([node])
    for name, array in pairs:
        graph.constants[name] = np.ascontiguousarray(array) if array.ndim else array
        graph.types[name] = TensorType(DType.of(array), tuple(int(extent) for extent in array.shape))
    return True
