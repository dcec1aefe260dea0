"""Translations of operators that go element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgec.base.budget import spend_constant
from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source


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
    b.emit(s, "Clip", [s.inputs[0], *map(b.scalar, bounds)], s.outputs)


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


@rule("Dropout")
def dropout(b: Builder, s: Source) -> None:
    training = b.value(s.input(2))
    if s.input(2) and (training is None or training.any()):
        raise ModelError("is in training mode", hint="export the model for inference")
    b.emit(s, "Identity", s.inputs[:1], s.outputs[:1])
    if len(s.outputs) > 1 and s.outputs[1]:
        mask = "bool" if s.version >= 10 else b.type(s.inputs[0]).dtype.value
        spend_constant(b.type(s.inputs[0]).bytes, s.where)
        b.define(s.outputs[1], np.ones(b.type(s.inputs[0]).static_shape, mask))
