"""Translations of normalizations."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import Value
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.ops.rules import axis_of


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


@rule("GroupNormalization")
def group_normalization(b: Builder, s: Source) -> None:
    """Each group of channels is normalized as one instance, as PyTorch writes it; then each channel has its scale and bias."""
    x, *parameters = (Value(b, s, name) for name in s.inputs)
    shape, groups = x.shape, int(s.attributes["num_groups"])
    if groups < 1 or len(shape) < 2 or shape[1] % groups:
        raise ModelError(f"has {groups} groups for the shape {list(shape)}", hint="num_groups must divide the channels, which are axis 1")
    one, zero = (x.numbers(np.full(groups, number)) for number in (1, 0))
    rows = x.reshaped(shape[0], groups, -1).of("InstanceNormalization", one, zero, epsilon=s.attributes["epsilon"])
    scale, bias = (value.reshaped(-1, *[1] * (len(shape) - 2)) for value in parameters)
    (rows.reshaped(*shape) * scale + bias).end()


def layer_normalization(b: Builder, s: Source) -> None:
    """The fused form, which has one output; RMSNormalization likewise."""
    axis = axis_of(s.attributes["axis"], b.rank(s.inputs[0]))
    b.emit(s, s.op, s.inputs, s.outputs[:1], {**s.attributes, "axis": axis})


def power_sum(b: Builder, s: Source, axes: list[int]) -> str:
    """The sum of |x|^p, its axes kept."""
    axes_name = b.constant(f"{s.outputs[0]}_axes", axes)
    return b.emit(s, "ReduceSum", [powers(b, s), axes_name], attributes={"keepdims": 1})[0]


def powers(b: Builder, s: Source) -> str:
    """|x|^p"""
    x, p = s.inputs[0], s.get("p", 2)
    if p == 2:
        return b.emit(s, "Mul", [x, x])[0]
    (size,) = b.emit(s, "Abs", [x])
    return size if p == 1 else b.emit(s, "Pow", [size, b.constant(f"{s.outputs[0]}_p", p, b.type(x).dtype.value)])[0]


def root(b: Builder, s: Source, x: str, outputs: Any = 1) -> list[str]:
    """x^(1/p)"""
    p = s.get("p", 2)
    if p in (1, 2):
        return b.emit(s, {1: "Identity", 2: "Sqrt"}[p], [x], outputs)
    return b.emit(s, "Pow", [x, b.constant(f"{s.outputs[0]}_root", 1 / p, b.type(x).dtype.value)], outputs)


@rule("LpNormalization")
def lp_normalization(b: Builder, s: Source) -> None:
    """Where all is 0 it stays so."""
    (norm,) = root(b, s, power_sum(b, s, [axis_of(s.attributes["axis"], b.rank(s.inputs[0]))]))
    zero = b.constant(f"{s.outputs[0]}_zero", 0, b.type(norm).dtype.value)
    (quotient,) = b.emit(s, "Div", [s.inputs[0], norm])
    b.emit(s, "Where", [*b.emit(s, "Equal", [norm, zero]), zero, quotient], s.outputs)
