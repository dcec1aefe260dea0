"""Operands that say what a shape is, and are computed while the model runs: where the file declares the result's shape, that is its shape.

What else such an operand says, where a slice starts or which of equal axes is summed, is then computed with, or chosen by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, product
from math import prod
from typing import Any

import numpy as np

from edgec.base.budget import spend_constant
from edgec.frontend.movement.blend import CROP, placed
from edgec.frontend.movement.late_resize import resized_late
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import Value, operand
from edgec.frontend.translation.rules import RULES
from edgec.frontend.translation.source import Source
from edgec.ops.extents import extents_of
from edgec.ops.rules import axis_of, broadcast

Shape = tuple[int, ...]
Late = Callable[[Builder, Source, Shape], bool]  # whether it translated the node
MOST = 20  # results of which one is chosen


def is_late(b: Builder, s: Source) -> bool:
    """Whether an operand that a translation of the node must know is not known, nor consists of what a run counts."""
    places, _ = LATE.get(s.op, ((), None))
    return not s.domain and any(name and b.value(name) is None and extents_of(b.graph, name) is None for name in map(s.input, places))


def translated(b: Builder, s: Source) -> bool:
    """Whether the node could be translated by the shape that the file declares for its result."""
    shape = b.declared.get(s.outputs[0])
    done = shape is not None and LATE[s.op][1](b, s, shape)
    if done:
        b.believed.append(s.outputs[0])
        b.notes.append(f"{s.where}: its result is {list(shape or ())}, as the file declares, whatever its operands say")
    return done


def _with_constant(place: int, values: Callable[[Builder, Source, Shape], Any]) -> Late:
    """By the usual rule, the operand being known from the shape."""

    def late(b: Builder, s: Source, shape: Shape) -> bool:
        found = values(b, s, shape)
        if found is None:
            return False
        kind = b.type(s.inputs[place]).dtype.value
        known = b.constant(f"{s.outputs[0]}_declared", np.array(found, kind))
        b.dispatch(b, replace(s, inputs=(*s.inputs[:place], known, *s.inputs[place + 1 :])))
        return True

    return late


def _reshaped(b: Builder, s: Source, shape: Shape) -> bool:
    x = operand(b, s, 0)
    if prod(x.shape) != prod(shape):
        return False
    b.emit(s, "Reshape", [x.name, x.constant(list(shape)).name], s.outputs, {"allowzero": 0})
    return True


def _repeats(b: Builder, s: Source, shape: Shape) -> list[int] | None:
    have = operand(b, s, 0).shape
    fits = len(have) == len(shape) and all(whole % extent == 0 for whole, extent in zip(shape, have, strict=True))
    return [whole // extent for whole, extent in zip(shape, have, strict=True)] if fits else None


def _expanded(b: Builder, s: Source, shape: Shape) -> list[int] | None:
    return list(shape) if broadcast([b.shape(s.inputs[0]), shape]) == shape else None


def _parts(b: Builder, s: Source, shape: Shape) -> list[int] | None:
    axis = axis_of(s.attributes["axis"], len(shape))
    shapes = [b.declared.get(name) for name in s.outputs]
    return None if None in shapes else [found[axis] for found in shapes if found is not None]


def _sizes(b: Builder, s: Source, shape: Shape) -> list[int] | None:
    """Of the axes that the node names."""
    axes = [axis_of(axis, len(shape)) for axis in s.get("axes") or range(len(shape))]
    return [shape[axis] for axis in axes]


def _resized(b: Builder, s: Source, shape: Shape) -> bool:
    """Where only the sizes are not known, they are now."""
    s = placed(s)
    crops = s.get("coordinate_transformation_mode") == CROP and b.value(s.input(1)) is None
    if s.version >= 11 and s.input(3) and b.value(s.input(3)) is None and not crops:
        fixed = replace(s, attributes={**s.attributes, "keep_aspect_ratio_policy": "stretch"}) if s.version >= 18 else s
        return _with_constant(3, _sizes)(b, fixed, shape)
    return resized_late(b, s, shape)


def _blocks(b: Builder, s: Source, shape: Shape) -> bool:
    """Col2Im of an image of this size, by any blocks of which there are as many."""
    x, image, blocks = operand(b, s, 0), shape[2:], operand(b, s, 2)
    if not image or x.shape[1] % shape[1] or prod(image) > MOST**3:
        return False
    rank, area = len(image), x.shape[1] // shape[1]
    pads, strides = s.get("pads") or [0] * (2 * rank), s.get("strides") or [1] * rank
    dilations, wide = s.get("dilations") or [1] * rank, [range(1, extent + 1) for extent in image]

    def count(block: Sequence[int]) -> int:
        reach = [image[d] + pads[d] + pads[d + rank] - dilations[d] * (block[d] - 1) - 1 for d in range(rank)]
        return prod(room // strides[d] + 1 if room >= 0 else 0 for d, room in enumerate(reach))

    found = [block for block in product(*wide) if prod(block) == area and count(block) == x.shape[2]]
    made = x.constant(list(image)).name
    changes = [replace(s, inputs=(s.inputs[0], made, x.constant(list(block)).name)) for block in found]

    def is_it(place: int) -> Value:
        return blocks.of("Equal", blocks.constant(list(found[place]))).cast("int32").summed(0).of("Equal", blocks.constant(np.int32(rank)))

    return _among(b, s, changes, is_it)


def _depth(b: Builder, s: Source, shape: Shape) -> int:
    return shape[axis_of(s.attributes["axis"], len(shape))]


def _indices(like: Value, count: int) -> Value:
    """0, 1, ... in its type; paid for before they are made."""
    spend_constant(count * 8, like.s.where)
    return like.numbers(np.arange(count))


def _count(b: Builder, s: Source, shape: Shape) -> bool:
    start, delta = operand(b, s, 0), operand(b, s, 2)
    steps = _indices(start, shape[0])
    (start.reshaped(1) + steps * delta.reshaped(1)).end()
    return True


def _triangle(b: Builder, s: Source, shape: Shape) -> bool:
    x, k = operand(b, s, 0), operand(b, s, 1).reshaped(1, 1)
    if x.shape != shape:
        return False
    spend_constant(16 * shape[-1] * shape[-2], s.where)
    rows, columns = np.indices(shape[-2:])
    away = k.constant(columns - rows)
    kept = k.of("LessOrEqual", away) if s.attributes["upper"] else away.of("LessOrEqual", k)
    kept.chosen(x, x.number(0)).end()
    return True


# Slices and padding: by axis a place for each index


def _by_axis(b: Builder, s: Source, place: int, numbers: Sequence[Value], rank: int, others: Sequence[int]) -> list[list[Value]]:
    """For each axis the number of each list that the axes at an operand give it, of `others` where they do not name it."""
    count = numbers[0].shape[0]
    axes = operand(b, s, place) if s.input(place) else numbers[0].constant(np.arange(count))
    named = axes.constant(np.arange(rank)).taken(axes.cast("int64"), 0)
    found = []
    for axis in range(rank):
        is_it = named.of("Equal", named.number(axis))
        found.append([
            is_it.chosen(list_ - other, list_.number(0)).summed(0) + other for list_, other in zip(numbers, others, strict=True)
        ])  # fmt: skip
    return found


def _sliced(b: Builder, s: Source, shape: Shape) -> bool:
    x, starts = operand(b, s, 0), operand(b, s, 1).cast("int64")
    steps = operand(b, s, 4).cast("int64") if s.input(4) else starts.numbers(np.ones(starts.shape))
    if s.version < 10 or len(x.shape) != len(shape) or 0 in shape:
        return False
    for axis, (start, step) in enumerate(_by_axis(b, s, 3, [starts, steps], len(shape), [0, 1])):
        size = x.shape[axis]
        if size == 1:
            continue
        first = start.below(0, start + size, start).clipped(0, size - 1)
        places = first.reshaped(1) + _indices(start, shape[axis]) * step.reshaped(1)
        x = x.taken(places.clipped(0, size - 1), axis)
    x.end()
    return True


def _padded(b: Builder, s: Source, shape: Shape) -> bool:
    x, pads, mode = operand(b, s, 0), operand(b, s, 1), s.attributes["mode"]
    if s.version < 11 or len(x.shape) != len(shape) or 0 in shape:
        return False
    inside, before = None, pads.cut(0, 0, pads.shape[0] // 2)
    for axis, (lead,) in enumerate(_by_axis(b, s, 3, [before], len(shape), [0])):
        size = x.shape[axis]
        place = _indices(lead, shape[axis]) - lead.reshaped(1)
        near = _within(place, size, mode)
        x = x.taken(near, axis)
        if mode == "constant":
            here = near.of("Equal", place).reshaped(*(shape[axis] if d == axis else 1 for d in range(len(shape))))
            inside = here if inside is None else inside.of("And", here)
    if inside is not None:
        fill = operand(b, s, 2).reshaped() if s.input(2) else x.number(0)
        x = inside.chosen(x, fill)
    x.end()
    return True


def _within(place: Value, size: int, mode: str) -> Value:
    if mode == "wrap":
        return place.of("Mod", place.number(size), fmod=0)
    if mode != "reflect" or size == 1:
        return place.clipped(0, size - 1)
    rest = place.of("Mod", place.number(2 * size - 2), fmod=0)
    return rest.of("Min", 2 * size - 2 - rest)


# One of several results


def _among(b: Builder, s: Source, changes: Sequence[Source], is_it: Callable[[int], Value]) -> bool:
    """The result of the change that `is_it` is true of."""
    if not 0 < len(changes) <= MOST:
        return False
    results = []
    for change in changes:
        (name,) = (b.fresh(f"{s.outputs[0]}_chosen"),)
        RULES["", s.op](b, replace(change, outputs=(name,)))
        results.append(Value(b, s, name))
    found = results[-1]
    for place, result in list(enumerate(results))[-2::-1]:
        found = is_it(place).chosen(result, found)
    found.end()
    return True


def _reduced(b: Builder, s: Source, shape: Shape) -> bool:
    """Over as many axes as are given, of those that leave such a shape."""
    x, axes = operand(b, s, 0), operand(b, s, 1)
    rank, keep = len(x.shape), s.get("keepdims", 1)

    def left(gone: Sequence[int]) -> Shape:
        return tuple(1 if d in gone else extent for d, extent in enumerate(x.shape) if keep or d not in gone)

    sets = [gone for gone in combinations(range(rank), axes.shape[0]) if left(gone) == shape] if len(axes.shape) == 1 else []
    if not axes.shape or not axes.shape[0]:
        return False
    bits = axes.constant(1 << np.arange(rank)).taken(axes, 0).summed(0)
    changes = [replace(s, inputs=s.inputs[:1], attributes={**s.attributes, "axes": list(gone)}) for gone in sets]
    return _among(b, s, changes, lambda place: bits.of("Equal", bits.number(sum(1 << d for d in sets[place]))))


def _run(b: Builder, s: Source, shape: Shape) -> bool:
    axis = operand(b, s, 1)
    place = axis.constant(np.arange(len(shape))).taken(axis.reshaped(), 0)
    changes = [replace(s, inputs=(s.inputs[0], b.constant(f"{s.outputs[0]}_axis", d))) for d in range(len(shape))]
    return _among(b, s, changes, lambda d: place.of("Equal", place.number(d)))


REDUCTIONS = ("Mean", "Sum", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp")
LATE: dict[str, tuple[tuple[int, ...], Late]] = {
    **dict.fromkeys(("Reshape", "Squeeze", "Unsqueeze"), ((1,), _reshaped)),
    **dict.fromkeys((f"Reduce{name}" for name in REDUCTIONS), ((1,), _reduced)),
    **dict.fromkeys(("CumSum", "CumProd"), ((1,), _run)),
    "Expand": ((1,), _with_constant(1, _expanded)), "Tile": ((1,), _with_constant(1, _repeats)),
    "Split": ((1,), _with_constant(1, _parts)), "OneHot": ((1,), _with_constant(1, _depth)),
    "ConstantOfShape": ((0,), _with_constant(0, lambda b, s, shape: shape)),
    "AffineGrid": ((1,), _with_constant(1, lambda b, s, shape: (shape[0], 1, *shape[1:-1]))),
    "CenterCropPad": ((1,), _with_constant(1, _sizes)), "Resize": ((1, 2, 3), _resized), "Upsample": ((1,), resized_late),
    "Col2Im": ((1, 2), _blocks), "Slice": ((1, 2, 3, 4), _sliced), "Pad": ((1, 3), _padded), "Trilu": ((1,), _triangle),
    "Range": ((0, 1, 2), _count), "TopK": ((1,), _with_constant(1, lambda b, s, shape: [_depth(b, s, shape)])),
    "MaxUnpool": ((2,), _with_constant(2, lambda b, s, shape: shape)),
}  # fmt: skip
