"""Quantization by what the numbers turn out to be, and products of codes as whole numbers (docs/int8.md, clause 19)."""

from __future__ import annotations

import numpy as np

from edgec.base.budget import spend_constant
from edgec.base.errors import ModelError
from edgec.frontend.quantized.linear import number, to_codes, whole
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.frontend.windows.window import auto_pad, extents, window


@rule("DynamicQuantizeLinear")
def dynamic_quantize_linear(b: Builder, s: Source) -> None:
    """outputs: codes, scale, zero point. The range holds 0; where it holds nothing else the scale is 1."""
    (flat,) = b.emit(s, "Reshape", [s.inputs[0], b.constant(f"{s.outputs[0]}_all", [-1])])
    axes, nothing = b.constant(f"{s.outputs[0]}_axes", [0]), number(b, s, 0)
    ends = [b.emit(s, f"Reduce{end}", [flat, axes], attributes={"keepdims": 0})[0] for end in ("Min", "Max")]
    low, high = (b.emit(s, end, [found, nothing])[0] for end, found in zip(("Min", "Max"), ends, strict=True))
    (span,) = b.emit(s, "Sub", [high, low])
    (step,) = b.emit(s, "Div", [span, number(b, s, 255)])
    (scale,) = b.emit(s, "Where", [*b.emit(s, "Equal", [span, nothing]), number(b, s, 1), step])
    (zero,) = b.emit(s, "Clip", [*b.emit(s, "Div", [*b.emit(s, "Neg", [low]), scale]), nothing, number(b, s, 255)])
    (zero,) = b.emit(s, "Cast", b.emit(s, "Round", [zero]), attributes={"to": "uint8"})
    b.emit(s, "Identity", [to_codes(b, s, s.inputs[0], scale, zero, "uint8")], s.outputs[:1])
    for name, value in zip(s.outputs[1:], (scale, zero), strict=False):
        if name:
            b.emit(s, "Identity", [value], [name])


@rule("MatMulInteger")
def matmul_integer(b: Builder, s: Source) -> None:
    """inputs: a, b, zero points of a (one, or one for each row) and of b (one, or one for each column)"""
    first = s.input(2)
    if first and b.rank(first) == 1 and b.type(first).elements > 1:
        (first,) = b.emit(s, "Unsqueeze", [first, b.constant(f"{first}_axis", [1])])
    b.emit(s, "MatMul", [whole(b, s, s.inputs[0], first), whole(b, s, s.inputs[1], s.input(3))], s.outputs)


@rule("ConvInteger")
def conv_integer(b: Builder, s: Source) -> None:
    """inputs: x, w, their zero points (of w one, or one for each channel of the result).

    All that a window sees becomes a row of a matrix. What is padded is the zero point, 0 as a whole number.
    """
    found, image = window(b, s), extents(b, s)
    auto_pad(s, image, found)
    rank, groups, out = len(image), s.attributes["group"], b.type(s.inputs[1]).static_shape
    zero = s.input(3)
    if zero and b.type(zero).elements > 1:
        (zero,) = b.emit(s, "Reshape", [zero, b.constant(f"{zero}_shape", [-1] + [1] * (rank + 1))])
    x, w = whole(b, s, s.inputs[0], s.input(2)), whole(b, s, s.inputs[1], zero)
    batch, channels = b.type(x).static_shape[:2]
    if out[0] % groups or channels != out[1] * groups:
        raise ModelError(f"{groups} groups of weights {list(out)} do not fit {channels} channels")
    pads = found["pads"]
    padded = [n + pads[d] + pads[d + rank] for d, n in enumerate(image)]
    if any(pads):
        around = b.constant(f"{s.outputs[0]}_pads", [0, 0, *pads[:rank], 0, 0, *pads[rank:]])
        (x,) = b.emit(s, "Pad", [x, around, number(b, s, 0, "int32")], attributes={"mode": "constant"})
    places, sizes = seen(b, s, found, padded)
    (x,) = b.emit(s, "Reshape", [x, b.constant(f"{s.outputs[0]}_flat", [batch, channels, int(np.prod(padded))])])
    (x,) = b.emit(s, "Gather", [x, b.constant(f"{s.outputs[0]}_places", places)], attributes={"axis": 2})
    inner, count = out[1] * places.shape[0], places.shape[1]
    shape = [batch, inner, count] if groups == 1 else [batch, groups, inner, count]
    (x,) = b.emit(s, "Reshape", [x, b.constant(f"{s.outputs[0]}_seen", shape)])
    (w,) = b.emit(s, "Reshape", [w, b.constant(f"{s.outputs[0]}_rows", [groups, out[0] // groups, inner][groups == 1 :])])
    if groups == 1:
        turned = [b.emit(s, "Transpose", [name], attributes={"perm": perm})[0] for name, perm in ((x, [0, 2, 1]), (w, [1, 0]))]
        (y,) = b.emit(s, "Transpose", b.emit(s, "MatMul", turned), attributes={"perm": [0, 2, 1]})
    else:
        (y,) = b.emit(s, "MatMul", [w, x])
    b.emit(s, "Reshape", [y, b.constant(f"{s.outputs[0]}_image", [batch, out[0], *sizes])], s.outputs)


def seen(b: Builder, s: Source, found: dict[str, list[int]], image: list[int]) -> tuple[np.ndarray, list[int]]:
    """For each place of the window, and each of the result, the pixel of the flat image; and the result's extents."""
    steps = list(zip(image, found["kernel_shape"], found["strides"], found["dilations"], strict=True))
    sizes = [(n - (k - 1) * d - 1) // stride + 1 for n, k, stride, d in steps]
    if min(sizes) < 1:
        raise ModelError("the window is larger than the image")
    spend_constant(8 * int(np.prod(found["kernel_shape"])) * int(np.prod(sizes)), s.where)
    taps = np.indices(found["kernel_shape"]).reshape(len(image), -1, 1)
    pixels = np.indices(sizes).reshape(len(image), 1, -1)
    strides, dilations = (np.array(found[name]).reshape(-1, 1, 1) for name in ("strides", "dilations"))
    return np.ravel_multi_index(tuple(taps * dilations + pixels * strides), image), sizes
