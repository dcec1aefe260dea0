"""A node as ONNX writes it, and what the operator's schema says of it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import defs, helper, numpy_helper

from edgec.base.errors import ModelError
from edgec.ir.graph import Node
from edgec.ir.types import DType

# The opset of exported models: it has every operator of OPERATORS but Swish, and ONNX Runtime has run it since 1.20.
OPSET = 21
IR_VERSION = 10


def tensor_code(dtype: DType) -> int:
    """ONNX's number for an element type."""
    return int(helper.np_dtype_to_tensor_dtype(dtype.numpy))


def type_word(code: int) -> str:
    """ONNX's word for an element type, of which a damaged file may name some that do not exist."""
    return str(onnx.TensorProto.DataType.Name(code)).lower() if code in onnx.TensorProto.DataType.values() else f"type {code}"


def coded_type(code: int) -> DType:
    """The element type of that number; ModelError for one that a Graph has not."""
    try:
        return DType(np.dtype(helper.tensor_dtype_to_np_dtype(code)).name)
    except (ValueError, KeyError, TypeError):
        raise ModelError(f"element type {type_word(code)} is not supported") from None


@cache
def schema(op: str) -> Any:
    """The schema of `op` in OPSET, or, for operators younger than that, in their first opset; None for unknown ones."""
    try:
        return defs.get_schema(op, OPSET)
    except defs.SchemaError:
        try:
            return defs.get_schema(op)
        except defs.SchemaError:
            return None


def default_attributes(op: str) -> dict[str, Any]:
    """The defaults that the schema gives to absent attributes, as Python values."""
    found = schema(op)
    if found is None:
        return {}
    values = {name: item.default_value for name, item in found.attributes.items() if item.default_value.type}
    return {name: plain(helper.get_attribute_value(value)) for name, value in values.items()}


def plain(value: Any) -> Any:
    """An attribute of ONNX as a Graph holds it: strings as str, tensors as arrays, lists as list."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, (list, tuple)) or type(value).__name__.startswith("Repeated"):
        return [plain(item) for item in value]
    return value


def attribute_proto(name: str, value: Any) -> onnx.AttributeProto:
    """What `plain` read, as ONNX writes it."""
    if isinstance(value, np.ndarray):
        return helper.make_attribute(name, numpy_helper.from_array(value))
    if isinstance(value, list) and not value:
        return helper.make_attribute(name, value, attr_type=onnx.AttributeProto.INTS)
    return helper.make_attribute(name, value)


def node_proto(node: Node) -> onnx.NodeProto:
    """`node` with its attributes in alphabetical order, so that bytes do not depend on history; `to`, a name in a Graph, is a number."""
    proto = onnx.NodeProto(op_type=node.op, name=node.name, input=node.inputs, output=node.outputs)
    told = {name: tensor_code(DType(value)) if name == "to" else value for name, value in sorted(node.attributes.items())}
    proto.attribute.extend(attribute_proto(name, value) for name, value in told.items())
    return proto


# Attributes that a canonical node never carries: what they say is in the inputs, in other attributes, or of no effect when a model
# only runs. The value is the only one that may be dropped silently; None marks those without effect.
DROPPED: dict[str, Any] = {
    "auto_pad": "NOTSET", "output_shape": [], "storage_order": 0, "training_mode": 0, "momentum": None, "spatial": 1, "saturate": None,
    "block_size": 0, "output_dtype": None, "precision": 0, "keep_aspect_ratio_policy": "stretch", "axes": [], "noop_with_empty_axes": 0,
    "stash_type": None, "num_outputs": None, "round_mode": None,
}  # fmt: skip


def canonical_attributes(op: str, given: dict[str, Any]) -> dict[str, Any]:
    """`given` completed by the schema's defaults; ValueError for an attribute that the canonical operator does not have."""
    blocked = op == "DequantizeLinear" and given.get("block_size", 0) != 0  # constants only, so it is rarely there
    known = set(schema(op).attributes) - set(DROPPED) | ({"dilations"} if op == "AveragePool" else set())
    known |= {"block_size"} if blocked else set()
    for name, value in given.items():
        if name not in known and (name not in DROPPED or DROPPED[name] not in (None, value)):
            raise ValueError(f"{name}={value}")
    defaults = {name: value for name, value in default_attributes(op).items() if name in known}
    return dict(sorted({**defaults, **{name: value for name, value in given.items() if name in known}}.items()))
