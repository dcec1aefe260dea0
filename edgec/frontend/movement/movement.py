"""Translations of data movement: shape-like operands become complete, non-negative constants."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from edgec.base.errors import ModelError
from edgec.frontend.movement.blend import blended, is_blended, placed
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import operand
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.ir.types import Dim, DType, Symbol, static
from edgec.ops.extents import counts
from edgec.ops.legal import LARGEST
from edgec.ops.move import reshaped
from edgec.ops.rules import axis_of, broadcast, text


def given_axes(b: Builder, s: Source) -> list[int] | None:
    """Axes from the attribute (before opset 13) or the operand; None when neither is there."""
    given: list[int] | None = s.get("axes")
    return b.known(s, 1, "the list of axes") if given is None and s.input(1) else given


@rule("Reshape")
def reshape(b: Builder, s: Source) -> None:
    """A static shape is written out in full; with a symbol, the model's 0 and -1 stay, and what a run counts is one of these."""
    extents, counted = b.shape(s.inputs[0]), counts(b.graph, s.inputs[1])
    wanted = b.known(s, 1, "the new shape") if counted is None else _in_numbers(counted, extents)
    result = reshaped(extents, wanted, counted is None and bool(s.get("allowzero", 0)))
    if not any(isinstance(extent, Symbol) for extent in result):
        wanted = list(result)  # type: ignore[arg-type]
    operand = b.constant(f"{s.outputs[0]}_shape", wanted)
    b.emit(s, "Reshape", [s.inputs[0], operand], s.outputs, {"allowzero": int(0 in wanted and 0 in result)})


def _in_numbers(wanted: Sequence[Dim], extents: Sequence[Dim]) -> list[int]:
    """A shape in which extents that a run counts are copied from the same place, and one of them is the rest."""
    copied = [isinstance(dim, Symbol) and extents[d : d + 1] == (dim,) for d, dim in enumerate(wanted)]
    if sum(isinstance(dim, Symbol) and not copied[d] for d, dim in enumerate(wanted)) > 1:
        raise ModelError(f"{text(tuple(extents))} becomes {text(tuple(wanted))}: more than one extent is only known when the model runs")
    return [0 if copied[d] else -1 if isinstance(dim, Symbol) else dim for d, dim in enumerate(wanted)]


@rule("Flatten")
def flatten(b: Builder, s: Source) -> None:
    axis, rank = s.attributes["axis"], b.rank(s.inputs[0])
    b.emit(s, "Flatten", s.inputs, s.outputs, {"axis": axis + rank if axis < 0 else axis})


@rule("Transpose")
def transpose(b: Builder, s: Source) -> None:
    b.emit(s, "Transpose", s.inputs, s.outputs, {"perm": s.get("perm") or list(range(b.rank(s.inputs[0])))[::-1]})


@rule("Squeeze")
def squeeze(b: Builder, s: Source) -> None:
    """Of no axes none, of which ONNX Runtime makes all."""
    extents, given = b.shape(s.inputs[0]), given_axes(b, s)
    every = [d for d, extent in enumerate(extents) if extent == 1]
    axes = every if given is None else sorted(axis_of(axis, len(extents)) for axis in given)
    if every and not axes:
        b.misread.append(s.where)
        b.emit(s, "Identity", s.inputs[:1], s.outputs)
        return
    b.emit(s, "Squeeze", [s.inputs[0], b.constant(f"{s.outputs[0]}_axes", axes)], s.outputs)


@rule("Unsqueeze")
def unsqueeze(b: Builder, s: Source) -> None:
    given = given_axes(b, s) or []
    axes = sorted(axis_of(axis, b.rank(s.inputs[0]) + len(given)) for axis in given)
    b.emit(s, "Unsqueeze", [s.inputs[0], b.constant(f"{s.outputs[0]}_axes", axes)], s.outputs)


@rule("Expand")
def expand(b: Builder, s: Source) -> None:
    if counts(b.graph, s.inputs[1]):
        b.emit(s, "Expand", s.inputs, s.outputs)
        return
    result = broadcast([b.shape(s.inputs[0]), tuple(b.known(s, 1, "the new shape"))])
    wanted = [1 if isinstance(extent, Symbol) else extent for extent in result]
    b.emit(s, "Expand", [s.inputs[0], b.constant(f"{s.outputs[0]}_shape", wanted)], s.outputs)


@rule("Tile")
def tile(b: Builder, s: Source) -> None:
    b.emit(s, "Tile", [s.inputs[0], b.constant(f"{s.outputs[0]}_repeats", b.known(s, 1, "the list of repeats"))], s.outputs)


@rule("Slice")
def slice_(b: Builder, s: Source) -> None:
    """starts, ends, axes and steps all present, clamped to the extents; a backward slice through element 0 ends at -extent - 1."""
    extents = b.shape(s.inputs[0])
    old = s.version < 10
    starts = s.attributes["starts"] if old else b.known(s, 1, "starts")
    ends = s.attributes["ends"] if old else b.known(s, 2, "ends")
    axes = s.get("axes") or (b.known(s, 3, "axes") if s.input(3) else list(range(len(starts))))
    steps = b.known(s, 4, "steps") if s.input(4) else [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise ModelError(f"starts {starts}, ends {ends}, axes {axes} and steps {steps} do not fit together")
    rows = []
    for start, end, axis, step in zip(starts, ends, (axis_of(axis, len(extents)) for axis in axes), steps, strict=True):
        extent = extents[axis]
        if isinstance(extent, Symbol):
            if start == 0 and step == 1 and end >= extent.bound:
                continue
            if extent.counted:
                rows.append((start, max(min(end, extent.bound), -LARGEST), axis, step))
                continue
            raise ModelError(f"cuts the symbolic axis {axis}")
        first, last, step = slice(start, None if step < 0 and end < -extent else end, step).indices(extent)
        if step < 0 and start < -extent:
            first = 0  # ONNX clamps it to the first element, Python starts before it
        rows.append((first, -extent - 1 if last < 0 else last, axis, step))
    names = ("starts", "ends", "axes", "steps")
    operands = [b.constant(f"{s.outputs[0]}_{what}", [row[column] for row in rows]) for column, what in enumerate(names)]
    b.emit(s, "Slice", [s.inputs[0], *operands], s.outputs)


@rule("Split")
def split(b: Builder, s: Source) -> None:
    axis = axis_of(s.attributes["axis"], b.rank(s.inputs[0]))
    extent, count = b.shape(s.inputs[0])[axis], len(s.outputs)
    if s.get("num_outputs", count) != count:
        raise ModelError(f"num_outputs is {s.get('num_outputs')}, but it has {count} outputs")
    if s.get("split") or s.input(1):
        parts = s.get("split") or b.known(s, 1, "the list of parts")
    elif isinstance(extent, Symbol):
        raise ModelError(f"splits the symbolic axis {axis}")
    else:
        if s.version < 18 and extent % count:
            raise ModelError(f"{extent} does not split into {count} equal parts")
        size = -(-extent // count)
        parts = [size] * (count - 1) + [extent - size * (count - 1)]
    if len(parts) != count:
        raise ModelError(f"has {count} outputs for {len(parts)} parts")
    split_into(b, s, parts, axis, [name or b.fresh(f"{s.name}_unused") for name in s.outputs])


def split_into(b: Builder, s: Source, parts: Sequence[int], axis: int, outputs: Sequence[str]) -> None:
    """The operand in parts of these extents along an axis; one that holds nothing is a constant."""
    for name in [name for name, part in zip(outputs, parts, strict=True) if not part]:
        shape = b.type(s.inputs[0]).static_shape
        b.define(name, np.zeros((*shape[:axis], 0, *shape[axis + 1 :]), b.type(s.inputs[0]).dtype.numpy))
    outputs = [name for name, part in zip(outputs, parts, strict=True) if part]
    if outputs:
        b.emit(s, "Split", [s.inputs[0], b.constant(f"{s.outputs[0]}_split", [part for part in parts if part])], outputs, {"axis": axis})


@rule("Concat")
def concat(b: Builder, s: Source) -> None:
    """Of operands that hold nothing only the last is kept, where all do."""
    axis = axis_of(s.attributes["axis"], b.rank(s.inputs[0]))
    operands = [name for name in s.inputs if b.rank(name) <= axis or b.shape(name)[axis] != 0] or s.inputs[-1:]
    b.emit(s, "Concat", operands, s.outputs, {"axis": axis})


@rule("Gather")
def gather(b: Builder, s: Source) -> None:
    """Constant indices are made non-negative; those before the axis stay, for the shape rule to refuse."""
    axis = axis_of(s.attributes["axis"], b.rank(s.inputs[0]))
    indices, extent, name = b.value(s.inputs[1]), b.shape(s.inputs[0])[axis], s.inputs[1]
    if indices is not None and isinstance(extent, int):
        from_end = (indices < 0) & (indices >= -extent)
        if from_end.any():
            name = b.constant(f"{s.outputs[0]}_indices", np.where(from_end, indices + extent, indices).astype(np.int64))
    b.emit(s, "Gather", [s.inputs[0], name], s.outputs, {"axis": axis})


@rule("SpaceToDepth")
def space_to_depth(b: Builder, s: Source) -> None:
    if s.get("mode", "DCR") == "CRD":
        x, block = operand(b, s, 0), s.attributes["blocksize"]
        (n, c, height, width) = x.shape
        parts = x.reshaped(n, c, height // block, block, width // block, block).turned(0, 1, 3, 5, 2, 4)
        parts.reshaped(n, c * block * block, height // block, width // block).end()
        return
    b.emit(s, s.op, s.inputs, s.outputs, {"blocksize": s.attributes["blocksize"]})


@rule("Trilu")
def trilu(b: Builder, s: Source) -> None:
    """A diagonal beyond the matrix is the one beside it."""
    rows, columns = static(b.shape(s.inputs[0])[-2:] if b.rank(s.inputs[0]) > 1 else (1, 1))
    k = min(max(b.known(s, 1, "k")[0], -rows), columns) if s.input(1) else 0
    b.emit(s, "Trilu", [s.inputs[0], b.constant(f"{s.outputs[0]}_k", k)], s.outputs, {"upper": s.attributes["upper"]})


@rule("Pad")
def pad(b: Builder, s: Source) -> None:
    """pads for every axis as an operand; in constant mode the value is explicit."""
    rank, mode = b.rank(s.inputs[0]), s.attributes["mode"]
    given = s.attributes["pads"] if s.version < 11 else b.known(s, 1, "the padding")
    axes = [axis_of(axis, rank) for axis in b.known(s, 3, "axes")] if s.input(3) else list(range(rank))
    if len(given) != 2 * len(axes):
        raise ModelError(f"{len(given)} pads for {len(axes)} axes")
    pads = [0] * (2 * rank)
    for place, axis in enumerate(axes):
        pads[axis], pads[axis + rank] = given[place], given[place + len(axes)]
    inputs = [s.inputs[0], b.constant(f"{s.outputs[0]}_pads", pads)]
    if mode == "constant":
        zero = np.array(s.get("value", 0), b.type(s.inputs[0]).dtype.numpy)
        inputs.append(b.scalar(s.input(2)) or b.constant(f"{s.outputs[0]}_value", zero))
    b.emit(s, "Pad", inputs, s.outputs, {"mode": mode})


@rule("Upsample")
def upsample(b: Builder, s: Source) -> None:
    """Resize in its first meaning: asymmetric coordinates, nearest rounds down."""
    scales = s.attributes["scales"] if s.version < 9 else b.value(s.inputs[1])
    resize_by(b, s, scales, {"mode": s.attributes["mode"], "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"})


@rule("Resize")
def resize(b: Builder, s: Source) -> None:
    """Either sizes or scales, for every axis. Aspect-ratio policies are resolved into sizes."""
    s = placed(s)
    attributes = {name: value for name, value in s.attributes.items() if name not in ("axes", "keep_aspect_ratio_policy")}
    if s.version < 11:
        asymmetric = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        resize_by(b, s, b.value(s.inputs[1]), {**attributes, **asymmetric})
        return
    extents = b.shape(s.inputs[0])
    axes = [axis_of(axis, len(extents)) for axis in s.get("axes") or range(len(extents))]
    scales = b.value(s.input(2))
    if not s.input(3) or (scales is not None and scales.size):
        full = np.ones(len(extents), np.float32)
        if scales is None or scales.size != len(axes):
            raise ModelError("needs known scales for its axes", hint="edgec needs static shapes")
        full[axes] = scales
        if is_blended(attributes):
            made = [int(np.floor(np.float32(extent) * scale)) for extent, scale in zip(operand(b, s, 0).shape, full, strict=True)]
            blended(b, s, attributes, made, axes, [Fraction(float(scale)) for scale in full])
            return
        resize_by(b, s, full, attributes)
        return
    wanted = b.known(s, 3, "the list of sizes")
    policy = s.get("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        pick = min if policy == "not_larger" else max
        factor = pick(want / extents[axis] for want, axis in zip(wanted, axes, strict=True))
        wanted = [int(np.floor(extents[axis] * factor + 0.5)) for axis in axes]
    sizes: list[Any] = [extent.bound if isinstance(extent, Symbol) else extent for extent in extents]
    for axis, want in zip(axes, wanted, strict=True):
        if not isinstance(extents[axis], Symbol):
            sizes[axis] = want
    if is_blended(attributes):
        blended(b, s, attributes, sizes, axes, [None] * len(sizes))
        return
    _resize(b, s, ["", b.constant(f"{s.outputs[0]}_sizes", sizes)], attributes)


def resize_by(b: Builder, s: Source, scales: Any, attributes: dict[str, Any]) -> None:
    if scales is None:
        raise ModelError("scales are computed while the model runs", hint="edgec needs static shapes: make them a constant in the exporter")
    _resize(b, s, [b.constant(f"{s.outputs[0]}_scales", np.asarray(scales, np.float32))], attributes)


def _resize(b: Builder, s: Source, extents: list[str], attributes: dict[str, Any]) -> None:
    """extents: names of scales, or of nothing and sizes.

    A mean of codes is cut towards zero, as by ONNX Runtime, whose quantizer leaves such nodes. ModelError for one of other whole numbers:
    ONNX says nothing of how it becomes one.
    """
    kind, mode = b.type(s.inputs[0]).dtype, attributes["mode"]
    if mode == "nearest" or kind.is_float:
        b.emit(s, "Resize", [s.inputs[0], "", *extents], s.outputs, attributes)
    elif mode == "linear" and kind in (DType.INT8, DType.UINT8):
        numbers = b.emit(s, "Cast", [s.inputs[0]], attributes={"to": "float32"})
        means = b.emit(s, "Resize", [*numbers, "", *extents], attributes=attributes)
        b.emit(s, "Cast", means, s.outputs, {"to": kind.value})
    else:
        raise ModelError(f"mode {mode} of {kind.value} is not supported", hint="cast to float32 before it and back behind it")
