"""Resize: nearest moves elements, linear and cubic blend them. Source positions are computed here, exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgec.ir.graph import Node
from edgec.lower import movement
from edgec.lower.builder import Lowering, Unsupported
from edgec.lower.values import Extents, Index, Value, fixed
from edgec.program.expr import INT, Expr, const, load, real

Whole = NDArray[Any]  # whole numbers: int64, or Python's where these may be larger
_HALF = Fraction(1, 2)
_EXACT = 1 << 52  # whole numbers below it are float64s too


def _half_pixel(scale: Fraction, size: int, out: int) -> tuple[Fraction, Fraction]:
    return 1 / scale, _HALF / scale - _HALF


def _symmetric(scale: Fraction, size: int, out: int) -> tuple[Fraction, Fraction]:
    slope, start = _half_pixel(scale, size, out)
    return slope, start + Fraction(size, 2) * (1 - Fraction(out) / (scale * size))


# (slope, start): the source position of output index i is start + slope i
_POSITIONS: dict[str, Callable[[Fraction, int, int], tuple[Fraction, Fraction]]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _symmetric,
    "pytorch_half_pixel": lambda scale, size, out: _half_pixel(scale, size, out) if out > 1 else (Fraction(0), Fraction(0)),
    "align_corners": lambda scale, size, out: (Fraction(size - 1, out - 1) if out > 1 else Fraction(0), Fraction(0)),
    "asymmetric": lambda scale, size, out: (1 / scale, Fraction(0)),
}
# of a position n / d
_NEAREST: dict[str, Callable[[Whole, int], Whole]] = {
    "round_prefer_floor": lambda n, d: -((d - 2 * n) // (2 * d)), "round_prefer_ceil": lambda n, d: (2 * n + d) // (2 * d),
    "floor": lambda n, d: n // d, "ceil": lambda n, d: -(-n // d),
}  # fmt: skip


@dataclass(frozen=True)
class Axis:
    """One resized axis: its extents and, for every output index, the exact source position, numerators / denominator."""

    dim: int
    size: int
    out: int
    numerators: Whole
    denominator: int


def resize(lowering: Lowering, node: Node) -> None:
    attributes = node.attributes
    mode, transform = attributes["mode"], attributes["coordinate_transformation_mode"]
    if attributes.get("antialias") or transform not in _POSITIONS:
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
        found.append(_axis(dim, *extents, *position(scale, *extents)))
    return found


def _axis(dim: int, size: int, out: int, slope: Fraction, start: Fraction) -> Axis:
    """With all positions over one denominator."""
    denominator = lcm(slope.denominator, start.denominator)
    step, first = int(slope * denominator), int(start * denominator)
    small = 4 * max(abs(first) + abs(step) * out, denominator * size) < _EXACT
    places = np.arange(out) if small else np.array(range(out), object)
    return Axis(dim, size, out, places * step + first, denominator)


def _table(lowering: Lowering, hint: str, entries: Sequence[int], index: Expr) -> Expr:
    """entries[index]: as arithmetic when the entries are index // n, else from a table."""
    n = next((place for place, entry in enumerate(entries) if entry), len(entries))
    if n and list(entries) == [place // n for place in range(len(entries))]:
        return index // n
    return load(lowering.constant(hint, np.array(entries, np.int32)), index, INT)


def _nearest(lowering: Lowering, node: Node, value: Value, shape: Extents, axes: Sequence[Axis]) -> Value:
    rule = _NEAREST[node.attributes["nearest_mode"]]
    nearest = {axis.dim: rule(axis.numerators, axis.denominator) for axis in axes}
    sources: dict[int, list[int]] = {axis.dim: np.clip(nearest[axis.dim], 0, axis.size - 1).tolist() for axis in axes}

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
    clamped = np.clip(axis.numerators, 0, (axis.size - 1) * axis.denominator)
    low = np.minimum(clamped // axis.denominator, max(axis.size - 2, 0))
    high = np.minimum(low + 1, axis.size - 1)
    weights = ((clamped - low * axis.denominator) / axis.denominator).astype(np.float32)
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
    a = Fraction(float(np.float32(node.attributes["cubic_coeff_a"])))
    unit = axis.denominator
    base = axis.numerators // unit
    fraction = (axis.numerators - base * unit).astype(object)
    taps = np.stack([_keys(abs(fraction - k * unit), unit, a) for k in range(-1, 3)])
    places = np.stack([base + k for k in range(-1, 3)])
    if node.attributes.get("exclude_outside"):
        taps = np.where((places >= 0) & (places < axis.size), taps, 0)
    total = taps.sum(axis=0)
    if not total.all():
        raise Unsupported("taps inside the data whose weights sum to 0", "resize without exclude_outside")
    tables = [lowering.literal((row / total + 0.0).astype(np.float32), f"resize_w{axis.dim}_{k}") for k, row in enumerate(taps)]
    places = np.clip(places, 0, axis.size - 1)

    def at(index: Index) -> Expr:
        i = index[axis.dim]
        result: Expr = real(0.0)
        for weights, entries in zip(tables, places, strict=True):
            result = result + _moved(lowering, source, index, axis, entries, i) * weights.at((i,))
        return result

    return _resized(source, axis, at)


def _keys(x: Whole, unit: int, a: Fraction) -> Whole:
    """Keys' cubic convolution kernel at distances x / unit of 0 to 2, times the denominator of a and unit^3: whole numbers."""
    p, q = a.as_integer_ratio()
    near = (p + 2 * q) * x**3 - (p + 3 * q) * unit * x**2 + q * unit**3
    far = p * (x**3 - 5 * unit * x**2 + 8 * unit**2 * x - 4 * unit**3)
    return np.asarray(np.where(x <= unit, near, far))


def _resized(source: Value, axis: Axis, at: Callable[[Index], Expr]) -> Value:
    shape = (*source.shape[: axis.dim], const(axis.out), *source.shape[axis.dim + 1 :])
    return Value(source.dtype, shape, at, order=source.order)
