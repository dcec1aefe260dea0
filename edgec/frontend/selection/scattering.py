"""Scatter*, TensorScatter and MaxUnpool as ScatterND of rows: as in gathering.py each index becomes an offset where it is checked."""

from __future__ import annotations

from math import prod

import numpy as np

from edgec.base.budget import spend_constant
from edgec.base.errors import ModelError
from edgec.frontend.selection.gathering import numbered, offsets, total
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import operand
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.frontend.windows.window import window
from edgec.ir.types import Symbol, static
from edgec.ops.rules import axis_of, text


@rule("ScatterElements", "Scatter")
def scatter_elements(b: Builder, s: Source) -> None:
    """The index says the place on one axis; those on the others are the update's own."""
    extents, wanted = operand(b, s, 0).shape, b.shape(s.inputs[1])
    axis, most = axis_of(s.attributes["axis"], len(extents)), static(wanted)
    fits = len(wanted) == len(extents) and all(w <= e for d, (w, e) in enumerate(zip(most, extents, strict=True)) if d != axis)
    if not fits or b.shape(s.inputs[2]) != wanted:
        raise ModelError(f"indices {text(wanted)} and updates {text(b.shape(s.inputs[2]))} do not fit data {list(extents)}")
    strides = [prod(extents[d + 1 :]) for d in range(len(extents))]
    own = [_own(b, s, d, strides[d]) for d in range(len(wanted)) if d != axis and most[d] > 1]
    scatter_rows(b, s, total(b, s, [offsets(b, s, s.inputs[1], extents[axis], strides[axis]), *own]), (prod(extents),), prod(most))


def _own(b: Builder, s: Source, axis: int, stride: int) -> str:
    """What the places on an axis of the indices are worth, of which only a run may know how many there are."""
    wanted = b.shape(s.inputs[1])
    numbers = numbered(b, s, static(wanted)[axis], axis, len(wanted), stride)
    if not isinstance(wanted[axis], Symbol):
        return numbers
    (end,) = b.emit(s, "Shape", [s.inputs[1]], attributes={"start": axis, "end": axis + 1})
    (end,) = b.emit(s, "Reshape", [end, b.constant(f"{s.outputs[0]}_scalar", [])])
    (places,) = b.emit(s, "Range", [b.constant(f"{s.outputs[0]}_first", 0), end, b.constant(f"{s.outputs[0]}_step", 1)])
    return b.emit(s, "Gather", [numbers, places], attributes={"axis": axis})[0]


@rule("ScatterND")
def scatter_nd(b: Builder, s: Source) -> None:
    """The last axis of the indices says places on the first axes."""
    extents, wanted, given = operand(b, s, 0).shape, b.shape(s.inputs[1]), b.shape(s.inputs[2])
    depth = wanted[-1] if wanted and isinstance(wanted[-1], int) else 0
    if not 0 < depth <= len(extents) or given != (*wanted[:-1], *extents[depth:]):
        raise ModelError(f"indices {text(wanted)} and updates {text(given)} do not fit data {text(extents)}")
    chosen, rest, places = extents[:depth], extents[depth:], s.inputs[1]
    if 0 in wanted:
        b.emit(s, "Identity", s.inputs[:1], s.outputs)
        return
    if depth > 1:
        columns = [operand(b, s, 1).at(-1, place).name for place in range(depth)]
        parts = [offsets(b, s, name, chosen[place], prod(chosen[place + 1 :])) for place, name in enumerate(columns)]
        (places,) = b.emit(s, "Unsqueeze", [total(b, s, parts), b.constant(f"{s.outputs[0]}_axis", [len(wanted) - 1])])
    (data,) = b.emit(s, "Reshape", [s.inputs[0], b.constant(f"{s.outputs[0]}_rows", [prod(chosen), *rest])])
    (result,) = b.emit(s, "ScatterND", [data, places, s.inputs[2]], attributes={"reduction": s.get("reduction", "none")})
    b.emit(s, "Reshape", [result, b.constant(f"{s.outputs[0]}_whole", list(extents))], s.outputs)


@rule("TensorScatter")
def tensor_scatter(b: Builder, s: Source) -> None:
    """A piece of a sequence is written from a place of its own in each sample of the batch on."""
    extents, given = (operand(b, s, index).shape for index in range(2))
    axis = axis_of(s.attributes["axis"], len(extents))
    same = len(given) == len(extents) and all(g == e for d, (g, e) in enumerate(zip(given, extents, strict=True)) if d != axis)
    if axis == 0 or not same or given[axis] > extents[axis]:
        raise ModelError(f"updates {list(given)} do not fit data {list(extents)} along axis {axis}")
    batch, middle, length = extents[0], prod(extents[1:axis]), given[axis]
    places = numbered(b, s, length, 2, 3)
    if s.input(2):
        if operand(b, s, 2).shape != (batch,):
            raise ModelError(f"write_indices {list(operand(b, s, 2).shape)} are not one for each of {batch} samples")
        (first,) = b.emit(s, "Reshape", [s.inputs[2], b.constant(f"{s.outputs[0]}_batch", [batch, 1, 1])])
        places = total(b, s, [first, places])
    if s.attributes["mode"] == "circular":
        (places,) = b.emit(s, "Mod", [places, b.constant(f"{s.outputs[0]}_extent", extents[axis])], attributes={"fmod": 0})
    elif s.attributes["mode"] != "linear":
        raise ModelError(f"mode {s.attributes['mode']!r} does not exist")
    samples = b.constant(f"{s.outputs[0]}_samples", np.arange(batch * middle).reshape(batch, middle, 1) * extents[axis])
    rows = total(b, s, [offsets(b, s, places, extents[axis], 1), samples])
    scatter_rows(b, s, rows, (batch * middle * extents[axis], *extents[axis + 1 :]), batch * middle * length)


@rule("MaxUnpool")
def max_unpool(b: Builder, s: Source) -> None:
    """Zeros with the pooled numbers where they came from: the indices count in the shape that the window implies, which may be padded."""
    extents, found = operand(b, s, 0).shape, window(b, s)
    if operand(b, s, 1).shape != extents:
        raise ModelError(f"indices {list(operand(b, s, 1).shape)} do not fit data {list(extents)}")
    rank = len(extents) - 2
    rows = zip(extents[2:], found["strides"], found["kernel_shape"], found["pads"][:rank], found["pads"][rank:], strict=True)
    implied = (*extents[:2], *((n - 1) * stride - before - after + k for n, stride, k, before, after in rows))
    shape = tuple(b.known(s, 2, "the output's shape")) if s.input(2) else implied
    if min(implied) < 1 or len(shape) != len(extents) or any(have > want for have, want in zip(implied, shape, strict=True)):
        raise ModelError(f"the shape {list(shape)} does not hold {list(implied)}")
    count, kind = prod(implied), b.type(s.inputs[0]).dtype
    spend_constant(count * kind.bytes, s.where)
    zeros = b.constant(f"{s.outputs[0]}_zeros", np.zeros(count, kind.numpy))
    (flat,) = b.emit(s, "Reshape", [s.inputs[0], b.constant(f"{s.outputs[0]}_flat", [prod(extents)])])
    (places,) = b.emit(s, "Reshape", [s.inputs[1], b.constant(f"{s.outputs[0]}_places", [prod(extents), 1])])
    (result,) = b.emit(s, "ScatterND", [zeros, places, flat], attributes={"reduction": "none"})
    (result,) = b.emit(s, "Reshape", [result, b.constant(f"{s.outputs[0]}_implied", list(implied))])
    ends = [0] * len(shape) + [want - have for have, want in zip(implied, shape, strict=True)]
    zero = b.constant(f"{s.outputs[0]}_zero", np.zeros((), kind.numpy))
    b.emit(s, "Pad", [result, b.constant(f"{s.outputs[0]}_pads", ends), zero], s.outputs, {"mode": "constant"})


def scatter_rows(b: Builder, s: Source, places: str, rows: tuple[int, ...], count: int) -> None:
    """The data, in the shape `rows`, with at most `count` updates, each at the row that `places` says, in its own shape again."""
    if not count:
        b.emit(s, "Identity", s.inputs[:1], s.outputs)
        return
    number = count if b.type(s.inputs[1]).is_static else -1
    shapes = {"rows": rows, "places": (number, 1), "updates": (number, *rows[1:]), "whole": operand(b, s, 0).shape}
    wanted = {what: b.constant(f"{s.outputs[0]}_{what}", list(shape)) for what, shape in shapes.items()}
    (data,) = b.emit(s, "Reshape", [s.inputs[0], wanted["rows"]])
    (places,) = b.emit(s, "Reshape", [places, wanted["places"]])
    (updates,) = b.emit(s, "Reshape", [s.inputs[2 if s.op != "TensorScatter" else 1], wanted["updates"]])
    (result,) = b.emit(s, "ScatterND", [data, places, updates], attributes={"reduction": s.get("reduction", "none")})
    b.emit(s, "Reshape", [result, wanted["whole"]], s.outputs)
