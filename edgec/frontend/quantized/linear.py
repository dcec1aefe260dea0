"""QuantizeLinear and DequantizeLinear: nodes of the Graph where their parameters are constants, else arithmetic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from onnx import helper

from edgec.base.errors import ModelError
from edgec.frontend.quantized.channel_codes import channels_of, decode, is_known
from edgec.frontend.translation.builder import WIDENED, Builder
from edgec.frontend.translation.rules import MICROSOFT, rule
from edgec.frontend.translation.source import Source
from edgec.ir.types import DType
from edgec.ops.rules import axis_of

LIMITS = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}  # codes that a Graph holds in 8 bits
CODES = frozenset({DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.INT32})


def number(b: Builder, s: Source, value: float, dtype: str = "float32") -> str:
    return b.constant(f"{s.outputs[0]}_number", value, dtype)


@rule("QuantizeLinear", "DequantizeLinear")
def quantize_linear(b: Builder, s: Source) -> None:
    """The zero point is explicit for 8-bit data, absent for int32; a scale of one element is a scalar; the axis is non-negative.

    What has other parameters (computed ones, scales of blocks or of an axis of numbers) or codes than 8, 16 or 32 bits becomes arithmetic;
    constants stay codes also in blocks and of four bits: weights. An axis beyond data of one is their only one: converters give a bias that
    of its convolution's weights.
    """
    if len(b.shape(s.inputs[0])) == len(b.shape(s.inputs[1])) == 1 and s.get("axis", 1) > 0:
        s = replace(s, attributes={**s.attributes, "axis": 0})
        b.misread.append(s.where)  # ONNX Runtime takes it where it fuses the node, and refuses it elsewhere
    data, scale = s.inputs[0], b.scalar(s.inputs[1])
    zero = b.scalar(s.input(2)) if s.input(2) else ""
    kind = b.file_type(data) if s.op == "DequantizeLinear" else b.file_type(zero) if zero else output_type(s)
    if _is_pair(b, s, scale, zero, kind):
        return
    if is_arithmetic(b, s, scale, zero, kind):
        scaled(b, s, kind)
        return
    stored = DType(WIDENED.get(kind, kind))
    if stored == DType.INT32:
        values = b.value(zero)
        if zero and (values is None or values.any()):
            raise ModelError("a zero point of int32 data must be 0")
        zero = ""
    elif not zero:
        zero = b.constant(f"{s.outputs[0]}_zero_point", np.zeros(b.type(scale).static_shape, stored.numpy))
    axis = axis_of(s.get("axis", 1), b.rank(data)) if b.shape(scale) else 1
    block = s.get("block_size", 0) if b.shape(scale) else 0
    b.emit(s, s.op, [data, scale, zero], s.outputs, {"axis": axis, **({"block_size": block} if block else {})})


def _is_pair(b: Builder, s: Source, scale: str, zero: str, kind: str) -> bool:
    """Whether a DequantizeLinear reads what a QuantizeLinear with the same scales for each channel gives, and is translated with it.
    Such a QuantizeLinear is remembered."""
    found = None if is_known(b, s.inputs[0]) else channels_of(b, s, scale, zero, kind)
    if found is None:
        return False
    if s.op == "QuantizeLinear":
        b.channels[s.outputs[0]] = found
        return False
    written = b.channels.get(s.inputs[0])
    return written is not None and written.takes(found) and decode(b, s, written)


@rule("QuantizeLinear", "DequantizeLinear", domain=MICROSOFT)
def contributed_linear(b: Builder, s: Source) -> None:
    """ONNX Runtime's own had 16 bits before the standard's."""
    quantize_linear(b, s)


def output_type(s: Source) -> str:
    """What a QuantizeLinear without a zero point gives."""
    code = s.get("output_dtype", 0)
    return str(np.dtype(helper.tensor_dtype_to_np_dtype(code)).name) if code else "uint8"


def is_arithmetic(b: Builder, s: Source, scale: str, zero: str, kind: str) -> bool:
    """Whether the node's parameters, or its codes, are none that a node of the Graph has."""
    known = b.value(scale) is not None and (not zero or b.value(zero) is not None)
    constant = b.value(s.inputs[0]) is not None
    if not known or kind not in {code.value for code in CODES} | (set(LIMITS) if s.op == "DequantizeLinear" else set()):
        return True
    if s.op == "DequantizeLinear":
        return bool(s.get("block_size", 0)) and not constant
    return bool(s.get("block_size", 0)) or (bool(b.shape(scale)) and not constant)


def scaled(b: Builder, s: Source, kind: str) -> None:
    """As arithmetic. kind: the file's type of the codes."""
    axis, block = s.get("axis", 1), s.get("block_size", 0)
    scale, zero = (along(b, s, name, s.inputs[0], axis, block) if name else "" for name in (s.inputs[1], s.input(2)))
    if s.op == "DequantizeLinear":
        found = of_codes(b, s, s.inputs[0], scale, zero)
    else:
        found = to_codes(b, s, s.inputs[0], scale, zero, kind)
    b.emit(s, "Identity", [found], s.outputs)
    if found in b.kinds:
        b.kinds[s.outputs[0]] = b.kinds[found]


def to_codes(b: Builder, s: Source, x: str, scale: str, zero: str, kind: str) -> str:
    """clamp(rint(x / scale) + zero): parameters that broadcast to x."""
    if kind not in LIMITS and kind not in {code.value for code in CODES}:
        raise ModelError(f"quantizes to {kind}, which is not supported", hint="quantize to whole numbers of 8 or 16 bits")
    low, high = LIMITS[kind] if kind in LIMITS else (np.iinfo(kind).min, np.iinfo(kind).max)
    (steps,) = b.emit(s, "Round", b.emit(s, "Div", [x, scale]))
    if zero:
        (steps,) = b.emit(s, "Add", [steps, *b.emit(s, "Cast", [zero], attributes={"to": "float32"})])
    (inside,) = b.emit(s, "Clip", [steps, number(b, s, low), number(b, s, high)])
    stored = WIDENED.get(kind, kind)
    (codes,) = b.emit(s, "Cast", [inside], attributes={"to": stored})
    if stored != kind:
        b.kinds[codes] = kind
    return codes


def of_codes(b: Builder, s: Source, codes: str, scale: str, zero: str) -> str:
    """(codes - zero) * scale, likewise."""
    steps = whole(b, s, codes, zero) if zero else codes
    (real,) = b.emit(s, "Cast", [steps], attributes={"to": "float32"})
    return b.emit(s, "Mul", [real, scale])[0]


def along(b: Builder, s: Source, parameters: str, data: str, axis: int, block: int = 0) -> str:
    """Scales or zero points so that they broadcast to the data: of all of it, by index of the axis, or by block."""
    shape, found = b.type(data).static_shape, b.type(parameters).static_shape
    if found in ((), (1,)):
        return b.emit(s, "Reshape", [parameters, b.constant(f"{parameters}_shape", np.zeros(0, np.int64))])[0]
    axis = axis_of(axis, len(shape))
    if not block:
        wide = [-1 if place == axis else 1 for place in range(len(shape))]
        return b.emit(s, "Reshape", [parameters, b.constant(f"{parameters}_shape", wide)])[0]
    expected = tuple(-(-extent // block) if place == axis else extent for place, extent in enumerate(shape))
    if found != expected:
        raise ModelError(f"scales {list(found)} do not fit blocks of {block} along axis {axis} of {list(shape)}")
    places = b.constant(f"{parameters}_places", np.arange(shape[axis]) // block)
    return b.emit(s, "Gather", [parameters, places], attributes={"axis": axis})[0]


def whole(b: Builder, s: Source, codes: str, zero: str) -> str:
    """codes - zero as int32."""
    (wide,) = b.emit(s, "Cast", [codes], attributes={"to": "int32"})
    if not zero:
        return wide
    return b.emit(s, "Sub", [wide, *b.emit(s, "Cast", [zero], attributes={"to": "int32"})])[0]
