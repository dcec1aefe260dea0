"""Data movement: the result's elements are the operand's elements (or a constant), somewhere else."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

import numpy as np

from edgec.ir.dimensions import factors, least, rest, times, total
from edgec.ir.types import Dim, Shape, Symbol, TensorType
from edgec.ops.extents import counts
from edgec.ops.registry import Call, Role, operator
from edgec.ops.rules import attribute, axis_of, broadcast, fixed, integers, need, of_run, refuse, text, typed


def _reshape(call: Call) -> list[TensorType]:
    wanted = integers(call, 1, "the new shape")
    return typed(call.dtype(), reshaped(call.shape(0), wanted, bool(attribute(call, "allowzero"))))


def reshaped(shape: Shape, wanted: list[int], allow_zero: bool) -> Shape:
    """The result of Reshape: 0 copies the extent at its place, one -1 takes the rest. Symbols survive through 0 and -1."""
    copied = [] if allow_zero else [d for d, extent in enumerate(wanted) if extent == 0]
    need(all(d < len(shape) for d in copied), f"{wanted} copies more axes than {text(shape)} has")
    need(wanted.count(-1) <= 1 and min(wanted, default=0) >= -1, f"{wanted} is not a shape")
    result: list[Dim] = [shape[d] if extent == 0 and not allow_zero else extent for d, extent in enumerate(wanted)]
    (whole, left), (known, taken) = (_factors(extent for extent in dims if extent != -1) for dims in (shape, result))
    for symbol in taken:
        left.remove(symbol)
    if -1 not in result:
        need(not left and known == whole, f"{text(shape)} does not reshape to {wanted}")
        return tuple(result)
    if not all(symbol.counted for symbol in left):
        need(len(left) == 1 and known == whole, f"{text(shape)} does not reshape to {wanted} for every {left[0].name}")
    need(known > 0 and whole % known == 0, f"{text(shape)} does not reshape to {wanted}")
    result[result.index(-1)] = times([whole // known, *left])
    return tuple(result)


def _factors(dims: Iterable[Dim]) -> tuple[int, list[Symbol]]:
    """What is multiplied: a number, and symbols."""
    found = [factors(dim) for dim in dims]
    return prod(number for number, _ in found), [symbol for _, symbols in found for symbol in symbols]


def _flatten(call: Call) -> list[TensorType]:
    shape, axis = call.shape(0), attribute(call, "axis")
    need(-len(shape) <= axis <= len(shape), f"axis {axis} lies outside of rank {len(shape)}")
    split = axis + len(shape) if axis < 0 else axis
    return typed(call.dtype(), [_product(shape[:split]), _product(shape[split:])])


def _product(shape: Shape) -> Dim:
    number, symbols = _factors(shape)
    need(all(symbol.counted for symbol in symbols) or (len(symbols) == 1 and number == 1), f"cannot merge {text(shape)} into one extent")
    return times([number, *symbols])


def _transpose(call: Call) -> list[TensorType]:
    shape, perm = call.shape(0), attribute(call, "perm")
    need(sorted(perm) == list(range(len(shape))), f"perm {perm} does not fit {text(shape)}")
    return typed(call.dtype(), [shape[axis] for axis in perm])


def _squeeze(call: Call) -> list[TensorType]:
    shape = call.shape(0)
    axes = {axis_of(axis, len(shape)) for axis in integers(call, 1, "the list of axes")}
    need(all(shape[axis] == 1 for axis in axes), f"axes {sorted(axes)} of {text(shape)} are not all 1")
    return typed(call.dtype(), [extent for d, extent in enumerate(shape) if d not in axes])


def _unsqueeze(call: Call) -> list[TensorType]:
    axes, shape = integers(call, 1, "the list of axes"), list(call.shape(0))
    rank = len(shape) + len(axes)
    places = {axis_of(axis, rank) for axis in axes}
    need(len(places) == len(axes), f"axes {axes} repeat")
    return typed(call.dtype(), [1 if d in places else shape.pop(0) for d in range(rank)])


def _slice(call: Call) -> list[TensorType]:
    shape = list(call.shape(0))
    starts, ends, axes, steps = (integers(call, index, what) for index, what in enumerate(("starts", "ends", "axes", "steps"), 1))
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        extent = shape[axis]
        if isinstance(extent, Symbol) and extent.counted:
            shape[axis] = cut(extent, start, end, step, axis)
            continue
        extent = fixed(extent, f"axis {axis} of Slice")
        shape[axis] = len(range(*slice(start, None if step < 0 and end < -extent else end, step).indices(extent)))
    return typed(call.dtype(), shape)


def cut(extent: Symbol, start: int, end: int, step: int, axis: int) -> Dim:
    """What a Slice takes of what a run counts, from a place that is counted from the front."""
    need(start >= 0 and step == 1, f"cuts axis {axis}, whose end only a run knows, from there or by steps of {step}")
    return rest(rest(extent, -end) if end < 0 else least([extent, end]), start)


def _split(call: Call) -> list[TensorType]:
    shape, parts = call.shape(0), integers(call, 1, "the list of parts")
    axis = axis_of(attribute(call, "axis"), len(shape))
    need(sum(parts) == shape[axis] and len(parts) == len(call.node.outputs), f"{shape[axis]} does not split into {parts}")
    return [TensorType(call.dtype(), (*shape[:axis], part, *shape[axis + 1 :])) for part in parts]


def _concat(call: Call) -> list[TensorType]:
    shapes = [call.shape(index) for index in range(len(call.node.inputs))]
    need(len({call.dtype(index) for index in range(len(shapes))}) == 1, "operands of different types")
    axis = axis_of(attribute(call, "axis"), len(shapes[0]))
    for shape in shapes:
        fits = len(shape) == len(shapes[0]) and all(d == axis or a == b for d, (a, b) in enumerate(zip(shape, shapes[0], strict=True)))
        need(fits, f"{text(shapes[0])} and {text(shape)} do not concatenate along axis {axis}")
    whole = total([of_run(shape[axis], "the axis of Concat") if len(shapes) > 1 else shape[axis] for shape in shapes])
    return typed(call.dtype(), [*shapes[0][:axis], whole, *shapes[0][axis + 1 :]])


def _expand(call: Call) -> list[TensorType]:
    wanted = counts(call.graph, call.node.inputs[1]) or integers(call, 1, "the new shape")
    return typed(call.dtype(), broadcast([call.shape(0), tuple(wanted)]))


def _tile(call: Call) -> list[TensorType]:
    shape, repeats = call.shape(0), integers(call, 1, "the list of repeats")
    need(len(shape) == len(repeats), f"{len(repeats)} repeats for {text(shape)}")
    return typed(call.dtype(), [e if n == 1 else fixed(e, "a repeated axis") * n for e, n in zip(shape, repeats, strict=True)])


def _gather(call: Call) -> list[TensorType]:
    shape, axis = call.shape(0), attribute(call, "axis")
    axis = axis_of(axis, len(shape))
    indices, extent = call.constant(1), shape[axis]
    need(extent != 0 or 0 in call.shape(1), f"axis {axis} of {text(shape)} holds nothing to gather")
    if indices is not None and isinstance(extent, int):
        need(bool(np.all((indices >= -extent) & (indices < extent))), f"an index lies outside of axis {axis} of {text(shape)}")
    return typed(call.dtype(), [*shape[:axis], *call.shape(1), *shape[axis + 1 :]])


def _pad(call: Call) -> list[TensorType]:
    shape, pads = call.shape(0), integers(call, 1, "the padding")
    rank = len(shape)
    need(len(pads) == 2 * rank, f"{len(pads)} pads for {text(shape)}")
    result = [_padded(call, d, pads[d], pads[d + rank], e) if pads[d] or pads[d + rank] else e for d, e in enumerate(shape)]
    return typed(call.dtype(), result)


def _padded(call: Call, axis: int, before: int, after: int, extent: Dim) -> int:
    """The extent of a padded axis. Negative pads crop it first; the other modes than "constant" need something that is left."""
    mode, size = attribute(call, "mode"), fixed(extent, "a padded axis")
    need(size + before + after > 0, f"the padding leaves nothing of axis {axis}")
    need(size + max(abs(before), abs(after)) < 2**31, f"axis {axis} is padded by {before} and {after}, 2^31 - 1 is the most")
    kept = size + min(before, 0) + min(after, 0)
    if mode != "constant":
        need(kept > 0, f"nothing is left of axis {axis} to pad with")
    if mode == "reflect":
        most = max(before, after)
        need(most < kept, f"axis {axis} of {size} cannot be mirrored over {most} elements", "pad by less than the extent, or twice")
    return size + before + after


def _resize(call: Call) -> list[TensorType]:
    """Full-rank `sizes`, or full-rank `scales`: floor(extent * scale) in binary32, as ONNX Runtime computes it."""
    shape = call.shape(0)
    if call.has(3):
        wanted: list[Dim] = list(integers(call, 3, "the list of sizes"))
        need(len(wanted) == len(shape), f"{len(wanted)} sizes for {text(shape)}")
        return typed(call.dtype(), [e if isinstance(e, Symbol) else w for e, w in zip(shape, wanted, strict=True)])
    scales = call.constant(2)
    if scales is None:
        raise refuse("scales are computed while the model runs", "make them a constant in the exporter")
    need(scales.size == len(shape), f"{scales.size} scales for {text(shape)}")
    need(bool(np.all(np.isfinite(scales) & (scales > 0))), f"scales {scales.tolist()} are not all positive")
    result = [e if s == 1 else int(np.floor(np.float32(fixed(e, "a resized axis")) * s)) for e, s in zip(shape, scales, strict=True)]
    return typed(call.dtype(), result)


def _depth_to_space(call: Call) -> list[TensorType]:
    (n, c, h, w), b = _image(call), attribute(call, "blocksize")
    need(c % (b * b) == 0, f"{c} channels are not a multiple of {b * b}")
    return typed(call.dtype(), [n, c // (b * b), h * b, w * b])


def _space_to_depth(call: Call) -> list[TensorType]:
    (n, c, h, w), b = _image(call), attribute(call, "blocksize")
    need(h % b == 0 and w % b == 0, f"{h} x {w} is not a multiple of {b}")
    return typed(call.dtype(), [n, c * b * b, h // b, w // b])


def _image(call: Call) -> tuple[Dim, int, int, int]:
    shape = call.shape(0)
    need(len(shape) == 4, f"needs four axes, not {text(shape)}")
    c, h, w = (fixed(extent, "an extent") for extent in shape[1:])
    return shape[0], c, h, w


def _trilu(call: Call) -> list[TensorType]:
    need(len(call.shape(0)) >= 2, f"needs a matrix, not {text(call.shape(0))}")
    return [call.type(0)]


for _name, _infer in {
    "Reshape": _reshape, "Flatten": _flatten, "Transpose": _transpose, "Squeeze": _squeeze, "Unsqueeze": _unsqueeze, "Slice": _slice,
    "Split": _split, "Expand": _expand, "Tile": _tile, "Gather": _gather, "Pad": _pad, "Resize": _resize,
    "DepthToSpace": _depth_to_space, "SpaceToDepth": _space_to_depth,
}.items():  # fmt: skip
    operator(_name, _infer, role=Role.MOVE)
operator("Concat", _concat, role=Role.CONCAT)
operator("Trilu", _trilu)
