"""Resize: nearest moves elements, linear and cubic blend them. Source positions are computed here, exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

import numpy as np

from edgec.ir.graph import Node
from edgec.lower import movement
from edgec.lower.builder import Lowering, Unsupported
from edgec.lower.values import Extents, Index, Value, fixed
from edgec.program.expr import INT, Expr, const, load, real

Position = Callable[[int, Fraction, int, int], Fraction]
_HALF = Fraction(1, 2)


def _align_corners(i: int, scale: Fraction, size: int, out: int) -> Fraction:
    return Fraction(i * (size - 1), out - 1) if out > 1 else Fraction(0)


def _symmetric(i: int, scale: Fraction, size: int, out: int) -> Fraction:
    adjusted = Fraction(out) / (scale * size)
    return Fraction(size, 2) * (1 - adjusted) + (i + _HALF) / scale - _HALF


_POSITIONS: dict[str, Position] = {
    "half_pixel": lambda i, scale, size, out: (i + _HALF) / scale - _HALF,
    "half_pixel_symmetric": _symmetric,
    "pytorch_half_pixel": lambda i, scale, size, out: (i + _HALF) / scale - _HALF if out > 1 else Fraction(0),
    "align_corners": _align_corners,
    "asymmetric": lambda i, scale, size, out: i / scale,
}
_NEAREST: dict[str, Callable[[Fraction], int]] = {
    "round_prefer_floor": lambda x: ceil(x - _HALF), "round_prefer_ceil": lambda x: floor(x + _HALF), "floor": floor, "ceil": ceil,
}  # fmt: skip


@dataclass(frozen=True)
class Axis:
    """One resized axis: its extents and, for every output index, the exact source position."""

    dim: int
    size: int
    out: int
    positions: tuple[Fraction, ...]


def resize(lowering: Lowering, node: Node) -> None:
    attributes = node.attributes
    mode, transform = attributes["mode"], attributes["coordinate_transformation_mode"]
    if attributes.get("antialias") or transform not in _POSITIONS:
        what = "antialias" if attributes.get("antialias") else f"coordinate_transformation_mode {transform}"
        raise Unsupported(what, "use half_pixel without antialias")
    source, shape = lowering.value(node.inputs[0]), lowering.shape(node.outputs[0])
    axes = _axes(lowering, node, source, shape)
    inner = source.coded.value if source.coded else source
    if not inner.free:
        source = lowering.shared(source, node.inputs[0])
    if mode == "nearest":
        lowering.define(node.outputs[0], movement.lift(source, lambda value: _nearest(lowering, node, value, shape, axes)))
        return
    result = source
    for axis in reversed(axes):  # the last axis first
        result = _linear(lowering, result, axis) if mode == "linear" else _cubic(lowering, node, result, axis)
        if axis is not axes[0] and mode == "cubic":
            result = lowering.materialize(result, f"{node.outputs[0]}_axis{axis.dim}")
    lowering.define(node.outputs[0], result.by(source, node=node.name, op=node.op))


def _axes(lowering: Lowering, node: Node, source: Value, shape: Extents) -> list[Axis]:
    position = _POSITIONS[node.attributes["coordinate_transformation_mode"]]
    sizes = bool(node.input(3))
    scales = lowering.graph.constant(node.input(2)) if node.input(2) and not sizes else None
    found = []
    for dim, (size, out) in enumerate(zip(source.shape, shape, strict=True)):
        given = Fraction(float(np.float32(scales[dim]))) if scales is not None else None
        if size == out and given in (None, 1):
            continue
        extents = fixed(size), fixed(out)
        scale = given if given is not None else Fraction(extents[1], extents[0])
        found.append(Axis(dim, *extents, tuple(position(i, scale, *extents) for i in range(extents[1]))))
    return found


def _table(lowering: Lowering, hint: str, entries: Sequence[int], index: Expr) -> Expr:
    """entries[index]: as arithmetic when the entries are index // n, else from a table."""
    n = next((place for place, entry in enumerate(entries) if entry), len(entries))
    if n and list(entries) == [place // n for place in range(len(entries))]:
        return index // n
    return load(lowering.constant(hint, np.array(entries, np.int32)), index, INT)


def _nearest(lowering: Lowering, node: Node, value: Value, shape: Extents, axes: Sequence[Axis]) -> Value:
    rule = _NEAREST[node.attributes["nearest_mode"]]
    sources = {axis.dim: [min(max(rule(p), 0), axis.size - 1) for p in axis.positions] for axis in axes}

    def remap(index: Index) -> Index:
        return tuple(_table(lowering, f"{node.outputs[0]}_from{d}", sources[d], i) if d in sources else i for d, i in enumerate(index))

    return movement.remapped(value, shape, remap, value.order, _repeats(value, shape, sources))


def _repeats(value: Value, shape: Extents, sources: dict[int, list[int]]) -> tuple[Extents, ...]:
    """An axis that repeats every element n times is two loops, so that the source index needs no division."""
    splits: list[Extents] = []
    for d, size in enumerate(shape):
        entries = sources.get(d)
        n = next((place for place, entry in enumerate(entries) if entry), 0) if entries else 0
        even = entries is not None and n > 1 and len(entries) % n == 0 and entries == [place // n for place in range(len(entries))]
        splits.append((const(len(entries) // n), const(n)) if even and entries is not None else (size,))
    return tuple(splits)


def _linear(lowering: Lowering, source: Value, axis: Axis) -> Value:
    """a + (b - a) * f between the two neighbours; positions outside are clamped to the edge."""
    clamped = [min(max(p, Fraction(0)), Fraction(axis.size - 1)) for p in axis.positions]
    low = [min(floor(p), max(axis.size - 2, 0)) for p in clamped]
    high = [min(entry + 1, axis.size - 1) for entry in low]
    weights = np.array([np.float32(float(p - entry)) for p, entry in zip(clamped, low, strict=True)], np.float32)
    fractions = lowering.literal(weights, f"resize_f{axis.dim}")

    def at(index: Index) -> Expr:
        i = index[axis.dim]
        a, b = (_moved(lowering, source, index, axis, entries, i) for entries in (low, high))
        return a + (b - a) * fractions.at((i,))

    return _resized(source, axis, at)


def _moved(lowering: Lowering, source: Value, index: Index, axis: Axis, entries: Sequence[int], i: Expr) -> Expr:
    place = load(lowering.constant(f"resize_at{axis.dim}", np.array(entries, np.int32)), i, INT)
    return source.at((*index[: axis.dim], place, *index[axis.dim + 1 :]))


def _cubic(lowering: Lowering, node: Node, source: Value, axis: Axis) -> Value:
    """Four taps with Keys' kernel; taps outside are clamped to the edge, or left out with exclude_outside."""
    a = Fraction(float(np.float32(node.attributes["cubic_coeff_a"])))
    base = [floor(p) for p in axis.positions]
    taps = [[_keys(abs(p - (b + k)), a) for k in range(-1, 3)] for p, b in zip(axis.positions, base, strict=True)]
    if node.attributes.get("exclude_outside"):
        taps = [_inside_only(row, first - 1, axis.size) for row, first in zip(taps, base, strict=True)]
    tables = [lowering.literal(np.array([float(row[k]) for row in taps], np.float32), f"resize_w{axis.dim}_{k}") for k in range(4)]
    places = [[min(max(b + k, 0), axis.size - 1) for b in base] for k in range(-1, 3)]

    def at(index: Index) -> Expr:
        i = index[axis.dim]
        total: Expr = real(0.0)
        for weights, entries in zip(tables, places, strict=True):
            total = total + _moved(lowering, source, index, axis, entries, i) * weights.at((i,))
        return total

    return _resized(source, axis, at)


def _inside_only(row: Sequence[Fraction], first: int, size: int) -> list[Fraction]:
    """The weights of positions first, first + 1, ... with those outside left out and the rest scaled to sum 1."""
    kept = [w if 0 <= first + k < size else Fraction(0) for k, w in enumerate(row)]
    return [w / sum(kept) for w in kept]


def _keys(x: Fraction, a: Fraction) -> Fraction:
    """Keys' cubic convolution kernel at distance x."""
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else Fraction(0)


def _resized(source: Value, axis: Axis, at: Callable[[Index], Expr]) -> Value:
    shape = (*source.shape[: axis.dim], const(axis.out), *source.shape[axis.dim + 1 :])
    return Value(source.dtype, shape, at, order=source.order)
