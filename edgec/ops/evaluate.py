"""The value of one node on known inputs: by its own rule where arithmetic is open, else by ONNX's reference implementation."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

from edgec.base.errors import ModelError
from edgec.ir.graph import Node
from edgec.ir.types import Symbol, TensorType
from edgec.ops.corrected import CORRECTED, RESTATED
from edgec.ops.elementwise import evaluate_rule
from edgec.ops.proto import IR_VERSION, OPSET, node_proto, schema

SHAPE_LIKE = 64  # elements of an operand that may be a shape


def evaluate(node: Node, inputs: Sequence[np.ndarray | None]) -> list[np.ndarray]:
    """Outputs of `node`; absent optional inputs are None. ModelError when it cannot be computed."""
    corrected = CORRECTED[node.op](node.attributes, inputs) if node.op in CORRECTED else None
    if corrected is not None:
        return corrected[: len(node.outputs)]
    if node.op in RESTATED:
        inputs = RESTATED[node.op](node.attributes, inputs)
    found = evaluate_rule(node, inputs)
    return evaluate_reference(node, inputs) if found is None else [found]


def evaluate_reference(node: Node, inputs: Sequence[np.ndarray | None]) -> list[np.ndarray]:
    """The same by onnx's reference alone."""
    model, feeds = _alone(node, inputs)
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(array) for array in ReferenceEvaluator(model).run(None, feeds)]
    except MemoryError:
        raise
    except Exception as error:  # the reference raises whatever numpy raises
        raise ModelError(f"cannot be evaluated: {error}", where=f"{node.name} ({node.op})") from error


def has_types(arrays: Sequence[np.ndarray], types: Sequence[TensorType]) -> bool:
    """Whether the reference's answers have the types that our rules give, of what is counted at most as many."""
    return len(arrays) >= len(types) and all(_has_type(array, kind) for array, kind in zip(arrays, types, strict=False))


def _has_type(array: np.ndarray, kind: TensorType) -> bool:
    if array.dtype.name != kind.dtype.value or array.ndim != len(kind.shape):
        return False
    extents = zip(array.shape, kind.shape, kind.static_shape, strict=True)
    return all(found <= most if isinstance(extent, Symbol) and extent.counted else found == most for found, extent, most in extents)


def expected_bytes(node: Node, inputs: Sequence[np.ndarray | None]) -> int:
    """How large ONNX's own shape inference says that the outputs of `node` will be; 0 where it does not know."""
    model, feeds = _alone(node, inputs)
    for value in model.graph.input:
        array = feeds[value.name]
        value.CopyFrom(helper.make_tensor_value_info(value.name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
        if array.size <= SHAPE_LIKE:
            model.graph.initializer.append(numpy_helper.from_array(array, value.name))
    try:
        found = shape_inference.infer_shapes(model, data_prop=True).graph.output
        kinds = [value.type.tensor_type for value in found]
        return sum(prod(d.dim_value for d in kind.shape.dim) * helper.tensor_dtype_to_np_dtype(kind.elem_type).itemsize for kind in kinds)
    except Exception:  # of a node that does not fit its schema it says nothing; the evaluation will
        return 0


def _alone(node: Node, inputs: Sequence[np.ndarray | None]) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A model of one node, and its inputs by name."""
    found = schema(node.op)
    if found is None:
        raise ModelError("ONNX has no such operator", where=f"{node.name} ({node.op})")
    names = [f"x{index}" if array is not None else "" for index, array in enumerate(inputs)]
    outputs = [name or f"unused{index}" for index, name in enumerate(node.outputs)]
    proto = node_proto(Node(node.op, names, outputs, node.attributes))
    feeds = {name: array for name, array in zip(names, inputs, strict=True) if array is not None}
    # the reference reads only names from these declarations
    graph = helper.make_graph(
        [proto], "one_node", [helper.make_empty_tensor_value_info(name) for name in feeds],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
    )  # fmt: skip
    opset = helper.make_opsetid("", max(OPSET, found.since_version))
    return helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION), feeds
