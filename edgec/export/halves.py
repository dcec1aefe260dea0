"""A float model as float16 storage makes it: every tensor between two operators, and every weight, rounded to half precision.

It tells how much a package's answers may change where a GPU stores its tensors in 16 bits.
"""

from __future__ import annotations

from collections.abc import Collection
from math import frexp

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LARGEST = 65504.0
_WEIGHED = ("Conv", "ConvTranspose", "Gemm", "MatMul")


def rounded(model: onnx.ModelProto, exact: Collection[str] = ()) -> onnx.ModelProto:
    """The model with float tensors rounded to halves, those beyond their range to its ends; outputs stay as they are, and what is `exact`.

    It must know the types of all its tensors. Inputs are rounded since products in float16 round theirs. Weights keep the eleven digits
    of a half whatever their size.
    """
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    kinds = {info.name: info.type.tensor_type.elem_type for info in (*graph.value_info, *graph.output, *graph.input)}
    weights = {node.input[1] for node in graph.node if node.op_type in _WEIGHED and node.output[0] not in exact}
    for tensor in graph.initializer:
        if tensor.name in weights and tensor.data_type == TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(rounded_weights(numpy_helper.to_array(tensor)), tensor.name))
    outputs = {info.name for info in graph.output}
    nodes = []
    inputs = {info.name for info in graph.input if kinds[info.name] == TensorProto.FLOAT}
    for name in sorted(inputs):
        nodes += _rounding(name, name, f"{name}/rounded")
    for node in graph.node:
        nodes.append(node)
        for place, name in enumerate(node.input):
            node.input[place] = f"{name}/rounded" if name in inputs else name
        for place, name in enumerate(node.output):
            if kinds.get(name) == TensorProto.FLOAT and name not in outputs and name not in exact:
                node.output[place] = f"{name}/exact"
                nodes += _rounding(name, f"{name}/exact", name)
    limits = [("half/low", -LARGEST), ("half/high", LARGEST)]
    graph.initializer.extend(numpy_helper.from_array(np.float32(value), name) for name, value in limits)
    kept = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(kept)
    del graph.value_info[:]
    return result


def _rounding(name: str, given: str, result: str) -> list[onnx.NodeProto]:
    return [
        helper.make_node("Clip", [given, "half/low", "half/high"], [f"{name}/limited"]),
        helper.make_node("Cast", [f"{name}/limited"], [f"{name}/half"], to=TensorProto.FLOAT16),
        helper.make_node("Cast", [f"{name}/half"], [result], to=TensorProto.FLOAT),
    ]


def rounded_weights(weights: np.ndarray) -> np.ndarray:
    """Stored as halves times a power of two that leaves the largest its digits."""
    largest = float(np.max(np.abs(weights), initial=0.0))
    scale = np.float32(2.0 ** -frexp(largest)[1])
    return (weights * scale).astype(np.float16).astype(np.float32) / scale
