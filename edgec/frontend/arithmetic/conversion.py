"""Translations of conversions between types of elements."""

from __future__ import annotations

import numpy as np
import onnx

from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import FLOATS, Builder
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.ir.types import DType
from edgec.ops.proto import coded_type


@rule("Cast")
def cast(b: Builder, s: Source) -> None:
    if s.attributes["to"] == onnx.TensorProto.STRING and s.inputs[0] in b.texts:
        b.emit(s, "Identity", s.inputs, s.outputs)
        return
    convert(b, s, coded_type(s.attributes["to"]).value)


@rule("CastLike")
def cast_like(b: Builder, s: Source) -> None:
    convert(b, s, b.file_type(s.inputs[1]))


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
    to, (x,) = coded_type(s.attributes["to"]).value, s.inputs
    kind = b.file_type(x)
    if np.dtype(DType(kind).numpy).itemsize != np.dtype(DType(to).numpy).itemsize:
        raise ModelError(f"the bits of {kind} are none of {to}", hint="export the model again")
    if kind in FLOATS and b.type(x).dtype is DType.FLOAT32:
        (x,) = b.emit(s, "Cast", [x], attributes={"to": kind})
    floats = DType(kind).is_float or DType(to).is_float
    op = "Identity" if kind == to else "BitCast" if floats else "Cast"
    b.emit(s, op, [x], s.outputs, None if op == "Identity" else {"to": to})
