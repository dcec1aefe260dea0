"""Translations of convolutions and pools: every window attribute explicit, automatic padding computed."""

from __future__ import annotations

from math import prod
from typing import Any

from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import operand
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.frontend.windows.columns import computed_convolution, computed_transposed
from edgec.frontend.windows.depth import convolve, convolve_transposed, pooled
from edgec.ir.types import Symbol


def extents(b: Builder, s: Source) -> list[int]:
    """Spatial extents of the data, which must be numbers."""
    found = b.shape(s.inputs[0])[2:]
    if not found:
        raise ModelError("needs data with spatial axes")
    if any(isinstance(extent, Symbol) for extent in found):
        raise ModelError("spatial extents must be numbers", hint="only the batch dimension may be symbolic")
    return list(found)


def window(b: Builder, s: Source) -> dict[str, Any]:
    """kernel_shape, strides, dilations and pads, with auto_pad resolved; ModelError when their lengths do not fit the data."""
    image = extents(b, s)
    kernel = s.get("kernel_shape") or [int(extent) for extent in b.shape(s.inputs[1])[2:]]
    found: dict[str, Any] = {
        "kernel_shape": kernel,
        "strides": s.get("strides") or [1] * len(image),
        "dilations": s.get("dilations") or [1] * len(image),
        "pads": s.get("pads") or [0] * (2 * len(image)),
    }
    for name, value in found.items():
        expected = len(image) * (2 if name == "pads" else 1)
        if len(value) != expected or min(value) < (0 if name == "pads" else 1):
            raise ModelError(f"{name} {value} does not fit data with {len(image)} spatial axes")
    return found


def same_pads(s: Source, total: list[int]) -> list[int]:
    """Split the padding; the odd pixel goes to the end for SAME_UPPER, to the beginning for SAME_LOWER."""
    small, large = [max(0, n) // 2 for n in total], [max(0, n) - max(0, n) // 2 for n in total]
    return small + large if s.get("auto_pad") == "SAME_UPPER" else large + small


def auto_pad(s: Source, image: list[int], found: dict[str, Any]) -> None:
    """Replace `auto_pad` by pads: SAME_* keeps ceil(extent / stride), VALID pads nothing."""
    mode = s.get("auto_pad", "NOTSET")
    if mode == "VALID":
        found["pads"] = [0] * (2 * len(image))
    elif mode in ("SAME_UPPER", "SAME_LOWER"):
        rows = zip(image, found["strides"], found["kernel_shape"], found["dilations"], strict=True)
        found["pads"] = same_pads(s, [(-(-n // stride) - 1) * stride + (k - 1) * d + 1 - n for n, stride, k, d in rows])
    elif mode != "NOTSET":
        raise ModelError(f"auto_pad {mode!r} does not exist")


@rule("Conv")
def conv(b: Builder, s: Source) -> None:
    found = window(b, s)
    auto_pad(s, extents(b, s), found)
    way = computed_convolution if b.inputs_behind(s.inputs[1]) else convolve
    way(operand(b, s, 0), operand(b, s, 1), s.input(2), found, s.attributes["group"], s.outputs)


@rule("ConvTranspose")
def conv_transpose(b: Builder, s: Source) -> None:
    """`output_shape` and automatic padding become pads: what the full result has too much is cut off."""
    found, image = window(b, s), extents(b, s)
    extra = s.get("output_padding") or [0] * len(image)
    rows = list(zip(image, found["strides"], found["kernel_shape"], found["dilations"], extra, strict=True))
    full = [(n - 1) * stride + (k - 1) * d + 1 + e for n, stride, k, d, e in rows]
    mode, wanted = s.get("auto_pad", "NOTSET"), s.get("output_shape") or []
    if wanted or mode.startswith("SAME"):
        wanted = list(wanted)[-len(image) :] or [n * stride for n, stride, *_ in rows]
        total = [have - want for have, want in zip(full, wanted, strict=True)]
        if min(total) < 0 and not s.get("output_shape"):
            b.misread.append(s.where)  # it makes the full result
        # a result larger than the full one is reached by padding the output's end
        extra = [e + max(0, -t) for e, t in zip(extra, total, strict=True)]
        small, large = [max(0, t) // 2 for t in total], [max(0, t) - max(0, t) // 2 for t in total]
        found["pads"] = small + large if mode == "SAME_UPPER" else large + small
    elif mode == "VALID":
        found["pads"] = [0] * (2 * len(image))
    found["output_padding"] = extra
    way = computed_transposed if b.inputs_behind(s.inputs[1]) else convolve_transposed
    way(operand(b, s, 0), operand(b, s, 1), s.input(2), found, s.attributes["group"], s.outputs)


@rule("MaxPool", "AveragePool")
def pool(b: Builder, s: Source) -> None:
    """`ceil_mode` becomes padding at the end (which neither wins a maximum nor counts in an average), except where padding counts.

    Nor where it would be as wide as the kernel, which ONNX Runtime refuses of a file: that of a dilated window may.
    """
    found, image = window(b, s), extents(b, s)
    auto_pad(s, image, found)
    counted = s.get("count_include_pad", 0)
    ceil = bool(s.get("ceil_mode", 0)) and s.get("auto_pad", "NOTSET") in ("NOTSET", "VALID")
    if ceil and not (counted and any(found["pads"])):
        ends = partial_pads(image, found)
        wide = any(end >= extent for end, extent in zip(ends, found["kernel_shape"], strict=True))
        ceil = wide or (bool(counted) and any(ends))
        if not ceil:
            found["pads"] = [*found["pads"][: len(image)], *ends]
    attributes: dict[str, Any] = {"ceil_mode": int(ceil)}
    if s.op == "AveragePool":
        attributes["count_include_pad"] = counted
    if not any(s.outputs[1:]):
        pooled(operand(b, s, 0), s.op, found, attributes, s.outputs[:1])
    elif not s.get("storage_order", 0):
        b.emit(s, s.op, s.inputs, s.outputs, {**found, **attributes})
    else:
        places = b.fresh(f"{s.outputs[1]}_by_rows")
        b.emit(s, s.op, s.inputs, [s.outputs[0] or b.fresh(f"{s.name}_unused"), places], {**found, **attributes})
        by_columns(b, s, places, image)


def by_columns(b: Builder, s: Source, places: str, image: list[int]) -> None:
    """Places in planes whose last axis goes fastest as those in planes whose first one does."""

    def number(op: str, name: str, value: int) -> str:
        attributes = {"fmod": 0} if op == "Mod" else {}
        return b.emit(s, op, [name, b.constant(f"{s.outputs[1]}_{op}", value)], attributes=attributes)[0]

    inside = number("Mod", places, prod(image))
    (total,) = b.emit(s, "Sub", [places, inside])
    for d, extent in enumerate(image):
        digit = number("Mod", number("Div", inside, prod(image[d + 1 :])), extent)
        (total,) = b.emit(s, "Add", [total, number("Mul", digit, prod(image[:d]))])
    b.emit(s, "Identity", [total], s.outputs[1:2])


def partial_pads(image: list[int], found: dict[str, Any]) -> list[int]:
    """Padding at the end that makes room for last partial windows; those that would start inside the padding do not count."""
    result = []
    for d, extent in enumerate(image):
        before, after = found["pads"][d], found["pads"][d + len(image)]
        reach, stride = (found["kernel_shape"][d] - 1) * found["dilations"][d] + 1, found["strides"][d]
        positions = -(-(extent + before + after - reach) // stride) + 1
        if (positions - 1) * stride >= extent + before:
            positions -= 1
        result.append(max(after, (positions - 1) * stride + reach - extent - before))
    return result
