"""Resize: nearest moves elements, linear and cubic blend them. Source positions are computed here, exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from edgec.ir.graph import Node
from edgec.lower import movement
from edgec.lower.builder import Lowering, Unsupported
from edgec.lower.values import Extents, Index, Value, fixed
from edgec.ops.places import POSITIONS, Axis, Whole, axis_of, between, cubic_taps, nearest_of
from edgec.program.expr import INT, Expr, const, load, real


def resize(lowering: Lowering, node: Node) -> None:
    attributes = node.attributes
    mode, transform = attributes["mode"], attributes["coordinate_transformation_mode"]
    if attributes.get("antialias") or transform not in POSITIONS:
        what = "antialias" if attributes.get("antialias") else f"coordinate_transformation_mode {transform}"
        raise Unsupported(what, "use half_pixel without antialias")
    if mode != "nearest" and not lowering.graph.dtype(node.inputs[0]).is_float:
        raise Unsupported(f"mode {mode} of {lowering.graph.dtype(node.inputs[0]).value}", "cast to float32 before it and back behind it")
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
    transform, sizes = node.attributes["coordinate_transformation_mode"], bool(node.input(3))
    scales = lowering.graph.constant(node.input(2)) if node.input(2) and not sizes else None
    found = []
    for dim, (size, out) in enumerate(zip(source.shape, shape, strict=True)):
        given = Fraction(float(np.float32(scales[dim]))) if scales is not None else None
        if size == out and given in (None, 1):
            continue
        found.append(axis_of(dim, fixed(size), fixed(out), given, transform))
    return found


def _table(lowering: Lowering, hint: str, entries: Sequence[int], index: Expr) -> Expr:
    """entries[index]: as arithmetic when the entries are index // n, else from a table."""
    n = next((place for place, entry in enumerate(entries) if entry), len(entries))
    if n and list(entries) == [place // n for place in range(len(entries))]:
        return index // n
    return load(lowering.constant(hint, np.array(entries, np.int32)), index, INT)


def _nearest(lowering: Lowering, node: Node, value: Value, shape: Extents, axes: Sequence[Axis]) -> Value:
    sources: dict[int, list[int]] = {axis.dim: nearest_of(axis, node.attributes["nearest_mode"]).tolist() for axis in axes}

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
    low, high, weights = between(axis)
    fractions = lowering.literal(weights, f"resize_f{axis.dim}")

    def at(index: Index) -> Expr:
        i = index[axis.dim]
        a, b = (_moved(lowering, source, index, axis, entries, i) for entries in (low, high))
        return a + (b - a) * fractions.at((i,))

    return _resized(source, axis, at)


def _moved(lowering: Lowering, source: Value, index: Index, axis: Axis, entries: Whole, i: Expr) -> Expr:
    place = load(lowering.constant(f"resize_at{axis.dim}", entries.astype(np.int32)), i, INT)
    return source.at((*index[: axis.dim], place, *index[axis.dim + 1 :]))


def _cubic(lowering: Lowering, node: Node, source: Value, axis: Axis) -> Value:
    """Four taps with Keys' kernel; taps outside are clamped to the edge, or left out with exclude_outside."""
    taps = cubic_taps(axis, node.attributes["cubic_coeff_a"], bool(node.attributes.get("exclude_outside")))
    if taps is None:
        raise Unsupported("taps inside the data whose weights sum to 0", "resize without exclude_outside")
    places, weights = taps
    tables = [lowering.literal(row, f"resize_w{axis.dim}_{k}") for k, row in enumerate(weights)]

    def at(index: Index) -> Expr:
        i = index[axis.dim]
        result: Expr = real(0.0)
        for weights, entries in zip(tables, places, strict=True):
            result = result + _moved(lowering, source, index, axis, entries, i) * weights.at((i,))
        return result

    return _resized(source, axis, at)


def _resized(source: Value, axis: Axis, at: Callable[[Index], Expr]) -> Value:
    shape = (*source.shape[: axis.dim], const(axis.out), *source.shape[axis.dim + 1 :])
    return Value(source.dtype, shape, at, order=source.order)
