"""Data movement as functions from values to values: an index is rewritten, or a view gets other strides; nothing is copied here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from edgec.lower.coding import decoded
from edgec.lower.values import Extents, Index, Order, Value, View, fixed, is_one, viewed
from edgec.program.expr import INT, Const, Expr, binary, cast, const, logical, product, select

Remap = Callable[[Index], Index]


def lift(value: Value, move: Callable[[Value], Value]) -> Value:
    """`move` applied to `value` and, when it has one, to its 8-bit form."""
    if value.coded is None:
        return move(value)
    return decoded(replace(value.coded, value=move(value.coded.value)), value.dtype)


def remapped(source: Value, shape: Extents, remap: Remap, order: Order | None = None, splits: tuple[Extents, ...] | None = None) -> Value:
    """The value whose element `i` is element `remap(i)` of `source`."""
    return Value(source.dtype, shape, lambda index: source.at(remap(index)), free=source.free, order=order, splits=splits,
                 nodes=source.nodes, ops=source.ops)  # fmt: skip


def transpose(source: Value, perm: Sequence[int]) -> Value:
    """Dimension d of the result is dimension perm[d] of the source."""
    shape = tuple(source.shape[axis] for axis in perm)
    if source.view is not None:
        return viewed(replace(source.view, strides=tuple(source.view.strides[axis] for axis in perm)), shape)
    place = {axis: d for d, axis in enumerate(perm)}
    order = tuple(place[axis] for axis in source.order) if source.order else None
    splits = tuple(source.splits[axis] for axis in perm) if source.splits else None
    return remapped(source, shape, lambda index: tuple(index[place[axis]] for axis in range(len(perm))), order, splits)


def sliced(source: Value, starts: Sequence[int], steps: Sequence[int], shape: Extents) -> Value:
    """Index i of the result is index start + i * step of the source, by dimension."""
    if source.view is not None:
        view = source.view
        offset = view.position(tuple(const(start) for start in starts))
        strides = tuple(stride * step for stride, step in zip(view.strides, steps, strict=True))
        return viewed(View(view.buffer, view.dtype, offset, strides), shape)

    def remap(index: Index) -> Index:
        return tuple(i * step + start for i, start, step in zip(index, starts, steps, strict=True))

    return remapped(source, shape, remap, source.order)


def expand(source: Value, shape: Extents) -> Value:
    """NumPy broadcasting: missing leading dimensions and dimensions of extent 1 repeat."""
    lead = len(shape) - source.rank
    if source.shape == shape:
        return source
    if source.view is not None:
        strides = [const(0)] * lead + [const(0) if is_one(size) else s for size, s in zip(source.shape, source.view.strides, strict=True)]
        return viewed(replace(source.view, strides=tuple(strides)), shape)
    return remapped(source, shape, lambda index: broadcast_index(index, source.shape))


def broadcast_index(index: Index, shape: Extents) -> Index:
    """The index into a tensor of `shape` that broadcasts to the tensor which `index` addresses."""
    tail = index[len(index) - len(shape) :]
    return tuple(const(0) if is_one(size) else i for i, size in zip(tail, shape, strict=True))


def pad(source: Value, before: Sequence[int], shape: Extents, mode: str, fill: Expr) -> Value:
    """`before[d]` elements (negative: cropped) ahead of dimension d; the result has `shape`."""
    if mode == "constant":

        def at(index: Index) -> Expr:
            inner = tuple(i - lead for i, lead in zip(index, before, strict=True))
            inside: Expr = const(True)
            for d, i in enumerate(inner):
                if before[d] or source.shape[d] != shape[d]:
                    inside = logical("and", inside, logical("and", binary("le", 0, i), binary("lt", i, source.shape[d])))
            return select(inside, source.at(inner), fill)

        return Value(source.dtype, shape, at, order=source.order, nodes=source.nodes, ops=source.ops)

    def remap(index: Index) -> Index:
        return tuple(
            i if not lead and size == whole else _padded(mode, i, lead, fixed(size), fixed(whole))
            for i, lead, size, whole in zip(index, before, source.shape, shape, strict=True)
        )

    return remapped(source, shape, remap, source.order)


def _padded(mode: str, i: Expr, before: int, size: int, whole: int) -> Expr:
    """The position that stands at `i` of `whole`: an axis of `size` is cropped first, and padded from what is left then."""
    start = max(-before, 0)
    kept = size - start - max(before + size - whole, 0)
    return _outside(mode, i - max(before, 0), kept, max(before, 0)) + start


def _outside(mode: str, i: Expr, size: int, most: int) -> Expr:
    """The position inside that stands for position `i`, -most <= i; a mirrored one lies outside by less than `size`."""
    if mode == "edge":
        return binary("min", binary("max", i, 0), size - 1)
    if mode == "wrap":
        return binary("mod", i + -(-most // size) * size, size)
    mirrored = binary("max", i, 0 - i)
    return binary("min", mirrored, 2 * (size - 1) - mirrored) if size > 1 else const(0)


def tile(source: Value, shape: Extents) -> Value:
    def remap(index: Index) -> Index:
        return tuple(i if size == whole else binary("mod", i, size) for i, size, whole in zip(index, source.shape, shape, strict=True))

    return remapped(source, shape, remap, source.order)


def take(source: Value, axis: int, indices: Value, shape: Extents) -> Value:
    """Gather: the axis is replaced by the dimensions of `indices`, whose elements, places on that axis, select."""
    rank = indices.rank

    def remap(index: Index) -> Index:
        return (*index[:axis], cast(indices.at(index[axis : axis + rank]), INT), *index[axis + rank :])

    return remapped(source, shape, remap)


# Reshape


def reshape(source: Value, shape: Extents) -> Value:
    """The same elements in row-major order; a view stays a view when its strides allow it."""
    pairs = _groups(source.shape, shape)
    if source.view is not None:
        strides = _regrouped(source.view, source.shape, shape, pairs)
        if strides is not None:
            return viewed(replace(source.view, strides=strides), shape)

    def remap(index: Index) -> Index:
        inner: list[Expr] = [const(0)] * source.rank
        for old, new in pairs:
            flat: Expr = const(0)
            for d in new:
                flat = flat * shape[d] + index[d]
            for d in reversed(old[1:]):
                inner[d] = binary("mod", flat, source.shape[d])
                flat = binary("floordiv", flat, source.shape[d])
            if old:
                inner[old[0]] = flat
        return tuple(inner)

    return remapped(source, shape, remap, _reshaped_order(source, shape, pairs), _reshaped_splits(source, shape, pairs))


Pair = tuple[tuple[int, ...], tuple[int, ...]]


def _groups(old: Extents, new: Extents) -> list[Pair]:
    """Smallest runs of dimensions (without those of extent 1) with equal products."""
    left = [d for d, size in enumerate(old) if not is_one(size)]
    right = [d for d, size in enumerate(new) if not is_one(size)]
    pairs: list[Pair] = []
    while left or right:
        a, b = left[:1], right[:1]
        while a and b and product(tuple(old[d] for d in a)) != product(tuple(new[d] for d in b)):
            size_a, size_b = product(tuple(old[d] for d in a)), product(tuple(new[d] for d in b))
            if not isinstance(size_a, Const) or not isinstance(size_b, Const):
                a, b = list(left), list(right)
                break
            if size_a.value < size_b.value:
                a = left[: len(a) + 1]
            else:
                b = right[: len(b) + 1]
        pairs.append((tuple(a), tuple(b)))
        left, right = left[len(a) :], right[len(b) :]
    return pairs


def _regrouped(view: View, old: Extents, new: Extents, pairs: Sequence[Pair]) -> Extents | None:
    """Strides of the reshaped view, None when a run of old dimensions is not evenly spaced in memory."""
    strides: list[Expr] = [const(0)] * len(new)
    for a, b in pairs:
        if any(view.strides[i] != view.strides[j] * old[j] for i, j in pairwise(a)):
            return None
        step = view.strides[a[-1]] if a else const(0)
        for d in reversed(b):
            strides[d] = step
            step = step * new[d]
    return tuple(strides)


def _reshaped_order(source: Value, shape: Extents, pairs: Sequence[Pair]) -> Order | None:
    """The source's memory order in terms of the new dimensions, when every run stays together."""
    if source.order is None:
        return None
    order = [d for d in source.order if not is_one(source.shape[d])]
    ranked = sorted((min(order.index(d) for d in a), a, b) for a, b in pairs if a)
    if any(sorted(order[first : first + len(a)]) != sorted(a) for first, a, _ in ranked):
        return None
    listed = [d for _, _, b in ranked for d in b]
    return (*(d for d in range(len(shape)) if d not in listed), *listed)


def _reshaped_splits(source: Value, shape: Extents, pairs: Sequence[Pair]) -> tuple[Extents, ...]:
    splits: list[Extents] = [(size,) for size in shape]
    inner = source.splits or tuple((size,) for size in source.shape)
    for a, b in pairs:
        factors = [size for d in a for size in inner[d]]
        if len(b) == 1:
            splits[b[0]] = tuple(factors)
        elif len(b) > 1:
            for d, parts in zip(b, _divided(factors, [shape[d] for d in b]), strict=True):
                splits[d] = parts
    return tuple(splits)


def _divided(factors: Sequence[Expr], sizes: Sequence[Expr]) -> list[Extents]:
    """Sizes as products of the factors, one of which two sizes may share; each as it is where that is not possible."""
    whole: list[Extents] = [(size,) for size in sizes]
    if not all(isinstance(item, Const) for item in (*factors, *sizes)):
        return whole
    left, found = [fixed(factor) for factor in factors], list[Extents]()
    for size in map(fixed, sizes):
        parts = []
        while size > 1 and left:
            part = min(size, left[0])
            if part == 0 or size % part or left[0] % part:
                return whole
            size, left[0] = size // part, left[0] // part
            parts += [const(part)] if part > 1 else []
            left = left[1:] if left[0] == 1 else left
        found.append(tuple(parts) or (const(size),))
    return found
