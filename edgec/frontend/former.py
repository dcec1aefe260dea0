"""Operators of the sets 1 to 6, and what old exporters put beside them, in terms of set 7."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import onnx

from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import operand
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source

MODERN = 7  # the first set whose operators broadcast as today's do
DROPPED = ("consumed_inputs", "is_test", "spatial", "broadcast", "output_sequence")  # of no effect in a run, or said otherwise since
EXPERIMENTAL = frozenset({"ImageScaler", "Crop", "Affine", "ParametricSoftplus", "ScaledTanh", "Scale"})  # that schemas no longer know
BROADCASTS = ("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less")


def modern(b: Builder, s: Source) -> Source:
    """The node as one of set 7; its own set's schema was checked already."""
    change = CHANGES.get(s.op)
    s = replace(s, version=MODERN) if change is None else change(b, replace(s, version=MODERN))
    return replace(s, attributes={name: value for name, value in s.attributes.items() if name not in DROPPED})


def _with(s: Source, inputs: tuple[str, ...], gone: tuple[str, ...] = (), **more: Any) -> Source:
    kept = {name: value for name, value in s.attributes.items() if name not in gone}
    return replace(s, inputs=inputs, attributes={**kept, **more})


def _broadcast(b: Builder, s: Source) -> Source:
    """The second operand's axes are some of the first one's, from `axis` on, the last ones without it."""
    axis, (first, second) = s.get("axis"), (len(b.shape(name)) for name in s.inputs)
    if not s.get("broadcast", 0) or axis is None or not second:
        return _with(s, s.inputs, ("axis",))
    behind = first - (axis + first if axis < 0 else axis) - second
    if behind < 0:
        raise ModelError(f"axes of {list(b.shape(s.inputs[1]))} from {axis} on are not those of {list(b.shape(s.inputs[0]))}")
    shaped = operand(b, s, 1).spread(*range(second, second + behind)) if behind else operand(b, s, 1)
    return _with(s, (s.inputs[0], shaped.name), ("axis",))


def _slopes(b: Builder, s: Source) -> Source:
    """One for all, or one a channel."""
    slope, rank = operand(b, s, 1), b.rank(s.inputs[0])
    by_channel = len(slope.shape) == 1 and slope.shape != (1,) and rank > 2
    return _with(s, (s.inputs[0], slope.spread(*range(1, rank - 1)).name)) if by_channel else s


def _known(name: str, attribute: str) -> Callable[[Builder, Source], Source]:
    """What was an attribute is an operand."""

    def change(b: Builder, s: Source) -> Source:
        if attribute not in s.attributes:
            return s
        return _with(s, (*s.inputs, b.constant(f"{s.outputs[0]}_{name}", s.attributes[attribute])), (attribute,))

    return change


def _scales(b: Builder, s: Source) -> Source:
    if "scales" in s.attributes:
        return s
    sides = [1.0, 1.0, s.attributes["height_scale"], s.attributes["width_scale"]]
    return _with(s, s.inputs, ("height_scale", "width_scale"), scales=sides)


def _tiles(b: Builder, s: Source) -> Source:
    """Before set 6 of one axis."""
    if len(s.inputs) < 3:
        return s
    (count,), (axis,) = b.known(s, 1, "the number of tiles"), b.known(s, 2, "the axis")
    repeats = [count if place == axis % b.rank(s.inputs[0]) else 1 for place in range(b.rank(s.inputs[0]))]
    return _with(s, (s.inputs[0], b.constant(f"{s.outputs[0]}_repeats", repeats)))


def _named_type(b: Builder, s: Source) -> Source:
    to = s.attributes["to"]
    if isinstance(to, str):
        known = dict(onnx.TensorProto.DataType.items())
        if to not in known:
            raise ModelError(f"element type {to} does not exist")
        to = known[to]
    return _with(s, s.inputs, to=to)


def _whole(name: str) -> Callable[[Builder, Source], Source]:
    """A number that was a float."""
    return lambda b, s: replace(s, attributes={**s.attributes, name: int(s.attributes[name])}) if name in s.attributes else s


def _pads(b: Builder, s: Source) -> Source:
    return _with(s, s.inputs, ("paddings",), pads=s.attributes["paddings"]) if "paddings" in s.attributes else s


def _parts(b: Builder, s: Source) -> Source:
    given = {"split": b.known(s, 1, "the list of parts")} if s.input(1) else {}
    return replace(s, inputs=s.inputs[:1], attributes={"axis": 0, **s.attributes, **given})


CHANGES: dict[str, Callable[[Builder, Source], Source]] = {
    **dict.fromkeys(BROADCASTS, _broadcast),
    "PRelu": _slopes, "Reshape": _known("shape", "shape"), "Upsample": _scales, "Tile": _tiles, "Cast": _named_type, "Pad": _pads,
    "Split": _parts, "LpPool": _whole("p"), "GlobalLpPool": _whole("p"), "Concat": lambda b, s: _with(s, s.inputs, axis=s.get("axis", 1)),
}  # fmt: skip


@rule("ImageScaler")
def image_scaler(b: Builder, s: Source) -> None:
    """x * scale + bias, a number a channel."""
    x = operand(b, s, 0)
    bias = [float(number) for number in s.get("bias") or [0.0] * x.shape[1]]
    offsets = b.constant(f"{s.outputs[0]}_bias", bias, x.dtype.value)
    b.emit(s, "Add", [(x * s.get("scale", 1.0)).name, operand(b, replace(s, inputs=(offsets,)), 0).reshaped(-1, 1, 1).name], s.outputs)


@rule("Crop")
def crop(b: Builder, s: Source) -> None:
    """border: left, top, right, bottom; scale: height and width of what is kept, in place of right and bottom."""
    x, (left, top, right, bottom) = operand(b, s, 0), s.attributes["border"]
    *_, height, width = x.shape
    kept = s.get("scale") or [height - top - bottom, width - left - right]
    if min(left, top, right, bottom, *(extent - 1 for extent in kept)) < 0 or top + kept[0] > height or left + kept[1] > width:
        raise ModelError(f"a border of {s.attributes['border']} leaves nothing of {list(x.shape)}")
    x.cut(-2, top, top + kept[0]).cut(-1, left, left + kept[1]).end()


@rule("Affine")
def affine(b: Builder, s: Source) -> None:
    (operand(b, s, 0) * s.get("alpha", 1.0) + s.get("beta", 0.0)).end()


@rule("Scale")
def scale(b: Builder, s: Source) -> None:
    (operand(b, s, 0) * s.get("scale", 1.0)).end()


@rule("ParametricSoftplus")
def parametric_softplus(b: Builder, s: Source) -> None:
    """alpha * log(exp(beta x) + 1)"""
    ((operand(b, s, 0) * s.get("beta", 1.0)).of("Softplus") * s.get("alpha", 1.0)).end()


@rule("ScaledTanh")
def scaled_tanh(b: Builder, s: Source) -> None:
    """alpha * tanh(beta x)"""
    ((operand(b, s, 0) * s.get("beta", 1.0)).of("Tanh") * s.get("alpha", 1.0)).end()
