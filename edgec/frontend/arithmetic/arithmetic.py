"""Translations of elementwise operators, constants, normalizations and reductions."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from onnx import helper

from edgec.budget import spend_constant
from edgec.errors import ModelError
from edgec.frontend.translation.builder import FLOATS, Builder
from edgec.frontend.translation.formula import Value
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.ir.types import DType
from edgec.ops.rules import axis_of

LARGEST = 2**31  # elements of a tensor that a model makes


def chain(b: Builder, s: Source, op: str, inputs: tuple[str, ...], output: str) -> None:
    """op(op(a, b), c)...; a single operand is passed on."""
    if len(inputs) == 1:
        b.emit(s, "Identity", inputs, [output])
        return
    total = inputs[0]
    for operand in inputs[1:-1]:
        (total,) = b.emit(s, op, [total, operand])
    b.emit(s, op, [total, inputs[-1]], [output])


@rule("Sum", "Min", "Max")
def variadic(b: Builder, s: Source) -> None:
    chain(b, s, "Add" if s.op == "Sum" else s.op, s.inputs, s.outputs[0])


@rule("Mean")
def mean(b: Builder, s: Source) -> None:
    total = b.fresh(f"{s.outputs[0]}_sum")
    chain(b, s, "Add", s.inputs, total)
    count = b.constant(f"{s.outputs[0]}_count", len(s.inputs), b.type(total).dtype.value)
    b.emit(s, "Div", [total, count], s.outputs)


@rule("Clip")
def clip(b: Builder, s: Source) -> None:
    """Both bounds present, as scalars: an absent one is the type's largest or smallest finite value, as ONNX defines it."""
    dtype = b.type(s.input(0)).dtype
    limits: Any = (np.finfo if dtype.is_float else np.iinfo)(dtype.value)
    bounds = []
    for index, (name, default) in enumerate((("min", limits.min), ("max", limits.max)), 1):
        given = s.get(name, default)
        bounds.append(s.input(index) or b.constant(f"{s.outputs[0]}_{name}", np.array(given, dtype.numpy)))
    b.emit(s, "Clip", [s.inputs[0], *(scalar(b, s, name) for name in bounds)], s.outputs)


def scalar(b: Builder, s: Source, name: str) -> str:
    """`name`, without the axes of extent 1 that some exporters leave on scalars."""
    array = b.value(name)
    return name if array is None or array.ndim == 0 or array.size != 1 else b.constant(f"{name}_scalar", array.reshape(()))


def element_type(code: int) -> str:
    """Our name of ONNX's element type."""
    try:
        return DType(np.dtype(helper.tensor_dtype_to_np_dtype(code)).name).value
    except (ValueError, KeyError, TypeError):
        raise ModelError(f"element type {code} is not supported") from None


@rule("Cast")
def cast(b: Builder, s: Source) -> None:
    convert(b, s, element_type(s.attributes["to"]))


def convert(b: Builder, s: Source, to: str) -> None:
    """The first operand as the file's type `to`. What is computed with as float32 is rounded to it, and float32 again."""
    (x,) = s.inputs[:1]
    if to not in {kind.value for kind in DType}:
        raise ModelError(f"element type {to} is not supported")
    if x in b.graph.constants and b.file_type(x) != to:
        b.emit(s, "Cast", [x], s.outputs, {"to": to})
    elif b.file_type(x) == to or (to == "float64" and b.type(x).dtype.is_float):
        b.emit(s, "Identity", [x], s.outputs)
    elif to in FLOATS:
        (x,) = b.emit(s, "Cast", [x], attributes={"to": to}) if to != "float64" else (x,)
        b.emit(s, "Cast", [x], s.outputs, {"to": "float32"})
    elif b.type(x).dtype.value == to:
        b.emit(s, "Identity", [x], s.outputs)
    else:
        b.emit(s, "Cast", [x], s.outputs, {"to": to})
    if to in FLOATS:
        b.kinds[s.outputs[0]] = to
    else:
        b.kinds.pop(s.outputs[0], None)


@rule("BitCast")
def bit_cast(b: Builder, s: Source) -> None:
    """Between whole numbers it is a Cast, which keeps the low bits."""
    to, (x,) = element_type(s.attributes["to"]), s.inputs
    kind = b.file_type(x)
    if np.dtype(DType(kind).numpy).itemsize != np.dtype(DType(to).numpy).itemsize:
        raise ModelError(f"the bits of {kind} are none of {to}", hint="export the model again")
    if kind in FLOATS and b.type(x).dtype is DType.FLOAT32:
        (x,) = b.emit(s, "Cast", [x], attributes={"to": kind})
    floats = DType(kind).is_float or DType(to).is_float
    op = "Identity" if kind == to else "BitCast" if floats else "Cast"
    b.emit(s, op, [x], s.outputs, None if op == "Identity" else {"to": to})


@rule("Mod")
def mod(b: Builder, s: Source) -> None:
    """Without fmod the result has the divisor's sign, floats' too."""
    if s.attributes["fmod"] or not b.type(s.inputs[0]).dtype.is_float:
        b.emit(s, "Mod", s.inputs, s.outputs, {"fmod": s.attributes["fmod"]})
        return
    (rest,) = b.emit(s, "Mod", s.inputs, attributes={"fmod": 1})
    zero = b.constant(f"{s.outputs[0]}_zero", 0, b.type(rest).dtype.value)
    signs = [b.emit(s, "Less", [value, zero])[0] for value in (rest, s.inputs[1])]
    (some,) = b.emit(s, "Not", b.emit(s, "Equal", [rest, zero]))
    (wrong,) = b.emit(s, "And", [some, *b.emit(s, "Xor", signs)])
    b.emit(s, "Where", [wrong, *b.emit(s, "Add", [rest, s.inputs[1]]), rest], s.outputs)


@rule("Celu")
def celu(b: Builder, s: Source) -> None:
    """alpha * elu(x / alpha), as ONNX defines it, with alpha a scalar: in ONNX's function body it has an axis."""
    alpha = b.constant(f"{s.outputs[0]}_alpha", s.attributes["alpha"], b.type(s.inputs[0]).dtype.value)
    scaled = b.emit(s, "Div", [s.inputs[0], alpha])
    b.emit(s, "Mul", [*b.emit(s, "Elu", scaled, attributes={"alpha": 1.0}), alpha], s.outputs)


@rule("CastLike")
def cast_like(b: Builder, s: Source) -> None:
    convert(b, s, b.file_type(s.inputs[1]))


@rule("Dropout")
def dropout(b: Builder, s: Source) -> None:
    training = b.value(s.input(2))
    if s.input(2) and (training is None or training.any()):
        raise ModelError("is in training mode", hint="export the model for inference")
    b.emit(s, "Identity", s.inputs[:1], s.outputs[:1])
    if len(s.outputs) > 1 and s.outputs[1]:
        mask = "bool" if s.version >= 10 else b.type(s.inputs[0]).dtype.value
        b.define(s.outputs[1], np.ones(b.type(s.inputs[0]).static_shape, mask))


@rule("Constant")
def constant(b: Builder, s: Source) -> None:
    if len(s.attributes) != 1:
        raise ModelError(f"has {len(s.attributes)} values, needs one")
    kinds = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}
    for name, value in s.attributes.items():
        if name == "value":
            b.define(s.outputs[0], value)
        elif name in kinds:
            b.define(s.outputs[0], np.array(value, kinds[name]))
        else:
            raise ModelError(f"a constant given as {name} is not supported", hint="only dense numeric tensors are")


@rule("ConstantOfShape")
def constant_of_shape(b: Builder, s: Source) -> None:
    value = s.get("value", np.zeros(1, np.float32))
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
    if not b.type(s.inputs[0]).is_static:
        raise ModelError("of a symbolic shape is not supported")
    b.define(s.outputs[0], np.array(b.type(s.inputs[0]).elements, np.int64))


@rule("Softmax", "LogSoftmax")
def softmax(b: Builder, s: Source) -> None:
    """Before opset 13 all axes from `axis` on are one; where just one of them is not 1, that is the axis."""
    extents = b.shape(s.inputs[0])
    axis = s.attributes["axis"]
    if s.version >= 13:
        b.emit(s, s.op, s.inputs, s.outputs, {"axis": axis_of(axis, len(extents))})
        return
    axis = axis_of(axis, len(extents))
    wide = [d for d in range(axis, len(extents)) if extents[d] != 1]
    if len(wide) <= 1:
        b.emit(s, s.op, s.inputs, s.outputs, {"axis": wide[0] if wide else axis})
        return
    if not b.type(s.inputs[0]).is_static:
        raise ModelError("over several axes of a symbolic shape is not supported", hint="export with opset 13 or later")
    (flat,) = b.emit(s, "Flatten", s.inputs, attributes={"axis": axis})
    (result,) = b.emit(s, s.op, [flat], attributes={"axis": 1})
    b.emit(s, "Reshape", [result, b.constant(f"{s.outputs[0]}_shape", list(extents))], s.outputs)


@rule("BatchNormalization")
def batch_normalization(b: Builder, s: Source) -> None:
    if s.get("training_mode", 0) or any(s.outputs[1:]):
        raise ModelError("is in training mode", hint="export the model for inference")
    if all(b.value(name) is not None for name in s.inputs[1:]):
        b.emit(s, s.op, s.inputs, s.outputs[:1], s.attributes)
        return
    x, *parameters = (Value(b, s, name) for name in s.inputs)
    scale, bias, mean, variance = (value.reshaped(-1, *[1] * (len(x.shape) - 2)) for value in parameters)
    ((x - mean) / (variance + s.attributes["epsilon"]).of("Sqrt") * scale + bias).end()


@rule("MeanVarianceNormalization")
def mean_variance_normalization(b: Builder, s: Source) -> None:
    """(x - mean) / (deviation + 1e-9). ONNX's function body subtracts squares, which leaves nothing of a small variance."""
    x, axes = s.inputs[0], b.constant(f"{s.outputs[0]}_axes", sorted(axis_of(axis, b.rank(s.inputs[0])) for axis in s.attributes["axes"]))
    (centered,) = b.emit(s, "Sub", [x, *b.emit(s, "ReduceMean", [x, axes], attributes={"keepdims": 1})])
    (variance,) = b.emit(s, "ReduceMean", [*b.emit(s, "Mul", [centered, centered]), axes], attributes={"keepdims": 1})
    least = b.constant(f"{s.outputs[0]}_least", 1e-9, b.type(x).dtype.value)
    b.emit(s, "Div", [centered, *b.emit(s, "Add", [*b.emit(s, "Sqrt", [variance]), least])], s.outputs)


def layer_normalization(b: Builder, s: Source) -> None:
    """The fused form, which has one output."""
    axis = axis_of(s.attributes["axis"], b.rank(s.inputs[0]))
    b.emit(s, s.op, s.inputs, s.outputs[:1], {**s.attributes, "axis": axis})


def reduction_axes(b: Builder, s: Source) -> list[int] | None:
    """Sorted axes of a reduction, from the attribute (older versions) or the operand; None when nothing is to be reduced."""
    rank = b.rank(s.inputs[0])
    axes = s.get("axes") if "axes" in s.attributes else b.known(s, 1, "the list of axes") if s.input(1) else []
    if not axes and s.get("noop_with_empty_axes", 0):
        return None
    return sorted({axis_of(axis, rank) for axis in axes}) or list(range(rank))


# reduction -> (elementwise operators before, the primitive reduction, elementwise operator after)
COMPOSITE = {
    "ReduceL1": ("Abs", "ReduceSum", ""), "ReduceL2": ("Square", "ReduceSum", "Sqrt"), "ReduceSumSquare": ("Square", "ReduceSum", ""),
    "ReduceLogSum": ("", "ReduceSum", "Log"),
}  # fmt: skip


@rule("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", *COMPOSITE, "ReduceLogSumExp")
def reduction(b: Builder, s: Source) -> None:
    axes, attributes = reduction_axes(b, s), {"keepdims": s.get("keepdims", 1)}
    if axes is None and s.op not in COMPOSITE:
        b.emit(s, "Identity", s.inputs[:1], s.outputs)
        return
    operand = b.constant(f"{s.outputs[0]}_axes", axes or [])
    if b.type(s.inputs[0]).dtype is DType.BOOL:
        numbers = b.emit(s, s.op, [*b.emit(s, "Cast", s.inputs[:1], attributes={"to": "uint8"}), operand], attributes=attributes)
        b.emit(s, "Cast", numbers, s.outputs, {"to": "bool"})
        return
    if s.op == "ReduceLogSumExp":
        log_sum_exp(b, s, operand, attributes)
        return
    before, primitive, after = COMPOSITE.get(s.op, ("", s.op, ""))
    (data,) = s.inputs[:1] if not before else b.emit(s, *(("Mul", s.inputs[:1] * 2) if before == "Square" else (before, s.inputs[:1])))
    if axes is None:
        b.emit(s, after or "Identity", [data], s.outputs)
    elif after:
        b.emit(s, after, b.emit(s, primitive, [data, operand], attributes=attributes), s.outputs)
    else:
        b.emit(s, primitive, [data, operand], s.outputs, attributes)


def log_sum_exp(b: Builder, s: Source, axes: str, attributes: dict[str, int]) -> None:
    """m + log(sum(exp(x - m))) with m the maximum, so that nothing overflows; m is finite, so that infinities are no NaN."""
    (top,) = b.emit(s, "ReduceMax", [s.inputs[0], axes], attributes={"keepdims": 1})
    dtype = b.type(top).dtype
    if dtype.is_float:
        limits: Any = np.finfo(dtype.value)
        largest = 0.99 * float(limits.max)  # a bound at the very end would count as none
        (top,) = b.emit(s, "Clip", [top, *(b.constant(f"{s.outputs[0]}_bound", bound, dtype.value) for bound in (-largest, largest))])
    (total,) = b.emit(s, "ReduceSum", [*b.emit(s, "Exp", b.emit(s, "Sub", [s.inputs[0], top])), axes], attributes={"keepdims": 1})
    if attributes["keepdims"]:
        b.emit(s, "Add", [*b.emit(s, "Log", [total]), top], s.outputs)
    else:
        b.emit(s, "Squeeze", [*b.emit(s, "Add", [*b.emit(s, "Log", [total]), top]), axes], s.outputs)


@rule("ArgMax", "ArgMin")
def argument(b: Builder, s: Source) -> None:
    b.emit(s, s.op, s.inputs, s.outputs, {**s.attributes, "axis": axis_of(s.attributes["axis"], b.rank(s.inputs[0]))})


@rule("Gelu", domain="com.microsoft")
def gelu(b: Builder, s: Source) -> None:
    b.emit(s, "Gelu", s.inputs, s.outputs, {"approximate": "none"})
