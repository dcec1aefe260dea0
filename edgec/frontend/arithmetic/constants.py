"""Translations of what is known while the model is read: constants, shapes, sizes."""

from __future__ import annotations

from math import prod

import numpy as np

from edgec.base.budget import spend_constant
from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.ops.extents import counts
from edgec.ops.proto import coded_type

LARGEST = 2**31  # elements of a tensor that a model makes


@rule("Constant")
def constant(b: Builder, s: Source) -> None:
    if len(s.attributes) != 1:
        raise ModelError(f"has {len(s.attributes)} values, needs one")
    kinds = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}
    for name, value in s.attributes.items():
        if name != "value" and name not in kinds:
            raise ModelError(f"a constant given as {name} is not supported", hint="only dense numeric tensors are")
        array = value if name == "value" else np.array(value, kinds[name])
        spend_constant(array.nbytes, s.where)  # in a loop each turn has it anew
        b.define(s.outputs[0], array)


@rule("ConstantOfShape")
def constant_of_shape(b: Builder, s: Source) -> None:
    value = s.get("value", np.zeros(1, np.float32))
    if counts(b.graph, s.inputs[0]):
        b.emit(s, s.op, s.inputs, s.outputs, {"value": value})
        return
    wanted = b.known(s, 0, "the shape")
    if min(wanted, default=0) < 0 or prod(wanted) > LARGEST:
        raise ModelError(f"the shape {wanted} is not possible")
    spend_constant(prod(wanted) * value.dtype.itemsize, s.where)
    b.define(s.outputs[0], np.full(wanted, value.reshape(-1)[0], value.dtype))


@rule("Shape")
def shape(b: Builder, s: Source) -> None:
    extents = b.shape(s.inputs[0])[s.get("start", 0) : s.get("end")]
    if all(isinstance(extent, int) for extent in extents):
        b.define(s.outputs[0], np.array(extents, np.int64))
    else:
        b.emit(s, "Shape", s.inputs, s.outputs, s.attributes)


@rule("Size")
def size(b: Builder, s: Source) -> None:
    if b.type(s.inputs[0]).is_counted:
        (extents,) = b.emit(s, "Shape", s.inputs)
        b.emit(s, "ReduceProd", [extents, b.constant(f"{s.outputs[0]}_axes", [0])], s.outputs, {"keepdims": 0})
        return
    if not b.type(s.inputs[0]).is_static:
        raise ModelError("of a symbolic shape is not supported")
    b.define(s.outputs[0], np.array(b.type(s.inputs[0]).elements, np.int64))


@rule("EyeLike")
def eye_like(b: Builder, s: Source) -> None:
    """Only the operand's shape and type say anything."""
    shape = b.type(s.inputs[0]).static_shape
    if len(shape) != 2:
        raise ModelError(f"needs a matrix, has {len(shape)} axes")
    kind = coded_type(s.attributes["dtype"]).value if "dtype" in s.attributes else b.type(s.inputs[0]).dtype.value
    spend_constant(prod(shape) * np.dtype(kind).itemsize, s.where)
    b.define(s.outputs[0], np.eye(*shape, s.get("k", 0), dtype=kind))
