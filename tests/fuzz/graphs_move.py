"""Drawers of data movement."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tests.fuzz.graphs_draft import FLOAT, Draft, Misfit
from tests.fuzz.graphs_pointwise import Drawer

ANY = (FLOAT, FLOAT, np.int32, np.int64, np.uint8, np.int8, np.bool_)
FEW = (FLOAT, np.int32, np.int64)


def anything(d: Draft, low: int = 0, high: int = 5, **options: Any) -> str:
    return d.data((FLOAT,) if d.chance(0.7) else FEW if d.chance(0.6) else ANY, low, high, **options)


def listed(d: Draft, values: Sequence[int], name: str, version: int) -> tuple[tuple[str, ...], dict[str, Any]]:
    """A list as an operand, or before `version` as an attribute."""
    return ((), {name: list(values)}) if d.opset < version else ((d.const(list(values), np.int64),), {})


def factored(d: Draft, count: int) -> list[int]:
    """Extents whose product is `count`."""
    result = []
    while count > 1 and len(result) < 4:
        divisors = [n for n in range(1, count + 1) if count % n == 0]
        result.append(d.pick(*divisors))
        count //= result[-1]
    result = [*result, count] if count > 1 or d.chance(0.5) else result
    for _ in range(d.number(0, 1)):
        result.insert(d.number(0, len(result)), 1)
    return result


def reshape(d: Draft, op: str) -> None:
    x = anything(d)
    shape = d.shape(x)
    wanted = factored(d, prod(shape))
    for place, extent in enumerate(wanted):
        if place < len(shape) and extent == shape[place] and d.chance(0.3):
            wanted[place] = 0
    if wanted and d.chance(0.3):
        wanted[d.number(0, len(wanted) - 1)] = -1
    if d.chance(0.15):  # to the shape of another value
        other = d.op("Shape", x)
        d.op(op, x, other)
        return
    d.op(op, x, d.const(wanted, np.int64))


def flatten(d: Draft, op: str) -> None:
    x = d.data((FLOAT,), 0 if d.opset >= 9 else 1)
    d.op(op, x, axis=d.number(-d.rank(x) if d.opset >= 11 else 0, d.rank(x)))


def transpose(d: Draft, op: str) -> None:
    x = anything(d)
    d.op(op, x, **({} if d.chance(0.15) or not d.rank(x) else {"perm": d.g.permutation(d.rank(x)).tolist()}))


def squeeze(d: Draft, op: str) -> None:
    x = anything(d, 1, where=lambda shape: 1 in shape, make=lambda: (1, *d.extents(0, 3)))
    ones = [axis - (d.rank(x) if d.chance(0.3) and d.opset >= 11 else 0) for axis, extent in enumerate(d.shape(x)) if extent == 1]
    if d.chance(0.2):
        d.op(op, x)
        return
    operands, attributes = listed(d, ones[: d.number(1, len(ones))], "axes", 13)
    d.op(op, x, *operands, **attributes)


def unsqueeze(d: Draft, op: str) -> None:
    x = anything(d, 0, 4)
    count = d.number(1, 2)
    rank = d.rank(x) + count
    axes = [int(axis) for axis in d.g.permutation(rank)[:count]]
    if d.opset >= 11:
        axes = [axis - rank if d.chance(0.3) else axis for axis in axes]
    operands, attributes = listed(d, axes, "axes", 13)
    d.op(op, x, *operands, **attributes)


def bounds(d: Draft, extent: int, old: bool) -> tuple[int, int, int]:
    """start, end, step: from inside and from beyond, of either sign; something is left."""
    for _ in range(30):
        beyond = d.pick(0, 0, extent + 3, 2**31 - 1)
        start, end = d.number(-extent - 2, extent + 1), d.pick(d.number(-extent - 3, extent + 2), beyond, -beyond)
        step = 1 if old else d.pick(1, 1, 2, 3, -1, -2, -extent - 1)
        first, last = (start + extent if start < 0 else start), (end + extent if end < 0 else end)
        low, high = (0, extent) if step > 0 else (0, extent - 1)
        first, last = min(max(first, low), high), min(max(last, low if step > 0 else -1), high if step < 0 else extent)
        if len(range(first, last, step)):
            return start, end, step
    return 0, extent, 1


def slice_(d: Draft, op: str) -> None:
    x = anything(d, 1)
    rank, old = d.rank(x), d.opset < 10
    axes = sorted(int(axis) for axis in d.g.permutation(rank)[: d.number(1, rank)])
    rows = [bounds(d, d.shape(x)[axis], old) for axis in axes]
    starts, ends, steps = (list(column) for column in zip(*rows, strict=True))
    if not old:
        axes = [axis - rank if d.chance(0.3) else axis for axis in axes]
    if old:
        d.op(op, x, starts=starts, ends=ends, axes=axes)
        return
    kind = d.pick(np.int64, np.int32)
    plain = axes == list(range(len(axes))) and d.chance(0.5)
    operands = [d.const(starts, kind), d.const(ends, kind), "" if plain else d.const(axes, kind)]
    d.op(op, x, *operands, *((d.const(steps, kind),) if steps != [1] * len(steps) or d.chance(0.5) else ()))


def split(d: Draft, op: str) -> None:
    x = anything(d, 1, where=lambda shape: max(shape) > 1, make=lambda: (*d.extents(0, 2), d.number(2, 9)))
    axis = d.pick(*[axis for axis, extent in enumerate(d.shape(x)) if extent > 1])
    extent, count = d.shape(x)[axis], d.number(1, 3)
    named = {"axis": axis - (d.rank(x) if d.chance(0.3) and d.opset >= 11 else 0)}
    if d.chance(0.3) and (extent % count == 0 or d.opset >= 18):
        d.op(op, x, outputs=count, **named, **({"num_outputs": count} if d.opset >= 18 else {}))
        return
    cuts = sorted(d.number(0 if d.chance(0.1) else 1, extent) for _ in range(count - 1))
    parts = [b - a for a, b in zip([0, *cuts], [*cuts, extent], strict=True)]
    operands, attributes = listed(d, parts, "split", 13)
    d.op(op, x, *operands, outputs=count, **named, **attributes)


def concat(d: Draft, op: str) -> None:
    x = anything(d, 1)
    axis, shape = d.number(0, d.rank(x) - 1), d.shape(x)

    def fits(other: tuple[int, ...]) -> bool:
        return len(other) == len(shape) and all(k == axis or a == b for k, (a, b) in enumerate(zip(other, shape, strict=True)))

    def make() -> tuple[int, ...]:
        return (*shape[:axis], d.number(1, 5), *shape[axis + 1 :])

    others = [d.data((d.dtype(x),), d.rank(x), d.rank(x), where=fits, make=make, constant=0.3) for _ in range(d.number(0, 3))]
    operands = [x, *others]
    d.g.shuffle(operands)
    d.op(op, *operands, axis=axis - (d.rank(x) if d.chance(0.3) and d.opset >= 11 else 0))


def expand(d: Draft, op: str) -> None:
    d.since(8)
    x = anything(d, 0, 4)
    shape = [d.number(1, 3) if extent == 1 else d.pick(extent, 1) for extent in d.shape(x)][d.number(0, d.rank(x)) :]
    d.op(op, x, d.const([*(d.extents(1, 1) if d.chance(0.3) and len(shape) == d.rank(x) else ()), *shape], np.int64))


def tile(d: Draft, op: str) -> None:
    x = anything(d, 1, 4)
    d.op(op, x, d.const([d.pick(1, 1, 2, 3) for _ in d.shape(x)], np.int64))


def gather(d: Draft, op: str) -> None:
    """By constants, or by indices known when it runs: then of a bool that was cast, which is in range for sure."""
    x = anything(d, 1, 4)
    axis = d.axis(x)
    extent = d.shape(x)[axis]
    if d.chance(0.3) and extent > 1:
        chosen = d.op("Cast", d.data((np.bool_,), 0, 2), to=d.pick(6, 7))
    else:
        chosen = d.const(d.g.integers(-extent if d.opset >= 11 else 0, extent, d.extents(0, 2, 3)), d.pick(np.int64, np.int32))
    d.op(op, x, chosen, axis=axis)


def gather_elements(d: Draft, op: str) -> None:
    """The same, of indices with as many axes as the data, none longer but the gathered one."""
    d.since(11)
    x = anything(d, 1, 4)
    axis, shape = d.axis(x), d.shape(x)
    wanted = [d.number(1, 5) if place == axis % len(shape) else d.number(1, extent) for place, extent in enumerate(shape)]
    d.op(op, x, indices(d, wanted, [shape[axis]]), axis=axis)


def gather_nd(d: Draft, op: str) -> None:
    d.since(12)
    x = anything(d, 1, 4)
    shape = d.shape(x)
    batch = d.number(0, min(2, len(shape) - 1))
    chosen = shape[batch : batch + d.number(1, len(shape) - batch)]
    d.op(op, x, indices(d, [*shape[:batch], *d.extents(0, 2, 3), len(chosen)], chosen), batch_dims=batch)


def indices(d: Draft, wanted: Sequence[int], extents: Sequence[int]) -> str:
    """Places on axes of these extents, one after the other along the last axis where there are several: constants, or bools at run time."""
    if d.chance(0.3) and min(extents) > 1:
        return str(d.op("Cast", d.input(np.bool_, wanted), to=7))
    limits = np.array(extents)
    return d.const(np.asarray(d.g.integers(-limits, limits, tuple(wanted)), np.int64))


def pad(d: Draft, op: str) -> None:
    x = d.data((FLOAT,) if d.opset < 13 or d.chance(0.7) else (np.int32, np.int64, np.uint8, np.int8), 1, 4)
    mode = d.pick("constant", "constant", "reflect", "edge", *(("wrap",) if d.opset >= 19 else ()))
    shape, rank = d.shape(x), d.rank(x)

    def amount(extent: int) -> int:
        most = {"constant": 3, "edge": 3, "wrap": extent, "reflect": extent - 1}[mode]
        return d.number(0, max(0, min(3, most)))

    pads = np.array([[amount(extent) for extent in shape], [amount(extent) for extent in shape]])
    if mode == "constant" and d.chance(0.3):
        for axis, extent in enumerate(shape):
            if extent > 2:
                pads[d.number(0, 1), axis] = -1
    if d.opset < 11:
        d.op(op, x, pads=pads.reshape(-1).tolist(), mode=mode, **({"value": float(d.pick(0, 1, -2))} if mode == "constant" else {}))
        return
    axes = sorted(int(axis) for axis in d.g.permutation(rank)[: d.number(1, rank)]) if d.opset >= 18 and d.chance(0.4) else None
    operands = [d.const(pads[:, axes].reshape(-1) if axes else pads.reshape(-1), np.int64)]
    operands.append(d.const(d.pick(0, 1, 3), d.dtype(x)) if mode == "constant" and d.chance(0.5) else "")
    operands.append(d.const(axes, np.int64) if axes else "")
    d.op(op, x, *operands, mode=mode)


def image(d: Draft, least: int = 1) -> str:
    return d.data((FLOAT,), 4, 4, where=lambda s: min(s[2:]) >= least,
                  make=lambda: (d.number(1, 2), *d.extents(1, 1), d.number(least, 7), d.number(least, 7)))  # fmt: skip


def resize(d: Draft, op: str) -> None:
    d.since(11)
    mode = d.pick("nearest", "nearest", "linear", "cubic")
    x = d.data((FLOAT,), 1, 4) if mode == "nearest" else image(d, 2 if mode == "cubic" else 1)
    attributes: dict[str, Any] = {"mode": mode}
    # which of two neighbours is the nearest, ONNX Runtime's rounding decides for symmetric positions on the border of both
    symmetric = ("half_pixel_symmetric",) if d.opset >= 19 and mode != "nearest" else ()
    attributes["coordinate_transformation_mode"] = d.pick("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", *symmetric)
    if mode == "nearest":
        attributes["nearest_mode"] = d.pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    if mode == "cubic":
        attributes |= {"cubic_coeff_a": d.pick(-0.75, -0.5), "exclude_outside": d.number(0, 1)}
    spatial = range(d.rank(x)) if mode == "nearest" else (2, 3)
    factors = [d.pick(1.0, 1.0, 2.0, 3.0, 0.5, 1.5, 0.7) if axis in spatial else 1.0 for axis in range(d.rank(x))]
    sizes = [max(1, int(extent * factor)) for extent, factor in zip(d.shape(x), factors, strict=True)]
    empty = d.const(np.zeros(0), FLOAT) if d.opset < 13 else ""
    if d.chance(0.5):
        d.op(op, x, empty, d.const([], FLOAT) if d.opset < 13 else "", d.const(sizes, np.int64), **attributes)
    else:
        factors = [factor if int(extent * factor) else 1.0 for extent, factor in zip(d.shape(x), factors, strict=True)]
        d.op(op, x, empty, d.const(factors, FLOAT), **attributes)


def upsample(d: Draft, op: str) -> None:
    if d.opset > 9:
        raise Misfit("removed")
    x = image(d)
    scales = [1.0, 1.0, d.pick(1.0, 2.0, 3.0), d.pick(1.0, 2.0, 1.5)]
    mode = d.pick("nearest", "linear")
    d.op(op, x, **({"scales": scales} if d.opset < 9 else {}), mode=mode) if d.opset < 9 else d.op(op, x, d.const(scales, FLOAT), mode=mode)


def depth_to_space(d: Draft, op: str) -> None:
    b = d.number(1, 3)
    x = d.data(
        (FLOAT,), 4, 4, where=lambda s: s[1] % (b * b) == 0, make=lambda: (d.number(1, 2), b * b * d.number(1, 3), *d.extents(2, 2, 4))
    )
    d.op(op, x, blocksize=b, **({"mode": d.pick("DCR", "CRD")} if d.opset >= 11 else {}))


def space_to_depth(d: Draft, op: str) -> None:
    b = d.number(1, 3)
    x = d.data((FLOAT,), 4, 4, where=lambda s: s[2] % b == s[3] % b == 0,
               make=lambda: (d.number(1, 2), d.number(1, 4), b * d.number(1, 3), b * d.number(1, 3)))  # fmt: skip
    d.op(op, x, blocksize=b)


def trilu(d: Draft, op: str) -> None:
    d.since(14)
    x = d.data((FLOAT,) if d.chance(0.7) else (np.int64,), 2, 4)
    d.op(op, x, *((d.const(d.number(-4, 4), np.int64),) if d.chance(0.6) else ()), upper=d.number(0, 1))


def center_crop_pad(d: Draft, op: str) -> None:
    d.since(18)
    x = d.data((FLOAT,), 1, 4)
    axis = d.axis(x)
    d.op(op, x, d.const([d.number(1, 8)], np.int64), axes=[axis])


MOVEMENT: dict[str, Drawer] = {
    "Reshape": reshape, "Flatten": flatten, "Transpose": transpose, "Squeeze": squeeze, "Unsqueeze": unsqueeze, "Slice": slice_,
    "Split": split, "Concat": concat, "Expand": expand, "Tile": tile, "Gather": gather, "Pad": pad, "Resize": resize, "Upsample": upsample,
    "GatherElements": gather_elements, "GatherND": gather_nd,
    "DepthToSpace": depth_to_space, "SpaceToDepth": space_to_depth, "Trilu": trilu, "CenterCropPad": center_crop_pad,
}  # fmt: skip
