"""Weights that the fast kernels do not take, as sums of weights that they do: sum x * (a + b) = sum x * a + sum x * b.

The kernel then reads inputs more than once: channels, or where there is one in a group, rows of the image.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgec.integer.dot_product import fits_int8
from edgec.lower import movement
from edgec.lower.builder import Lowering
from edgec.lower.product import Product
from edgec.lower.values import Value
from edgec.program.expr import const

NARROW = 127  # the largest weight, less its zero point, that kernels take however many there are


def narrowed(product: Product, steps: np.ndarray) -> tuple[Product, np.ndarray]:
    """The product that has the sums of `product` with weights [group][out][tap][in] by weights that fast kernels take, and these."""
    if fits_kernels(steps):
        return product, steps
    return _by_lines(product, _summands(steps)) if product.depthwise else _by_channels(product, _summands(steps))


def fits_kernels(steps: np.ndarray) -> bool:
    """Whether fast kernels may take weights [group][out][tap][in]: of two products that one adds in 16 bits only one may be of -128.

    What other tools quantize has one in about every other channel, at the weight of the largest magnitude.
    """
    return fits_int8(steps) and bool(((steps == -128).sum(axis=(2, 3)) <= 1).all())


def _summands(steps: np.ndarray) -> list[np.ndarray]:
    """Weights of at most 127 whose sum these are, the first ones as large as they may be: few are left for the others."""
    found = [np.clip(steps, -NARROW, NARROW)]
    while (rest := steps - sum(found)).any():
        found.append(np.clip(rest, -NARROW, NARROW))
    return found


def _by_channels(product: Product, parts: list[np.ndarray]) -> tuple[Product, np.ndarray]:
    """Behind all input channels of a group once more those that any of the next summands multiplies, or all where these are most."""
    used = [np.arange(product.in_channels)]
    for part in parts[1:]:
        some = np.flatnonzero(part.any(axis=(0, 1, 2)))
        used.append(some if product.groups == 1 and 2 * some.size <= product.in_channels else used[0])
    weights = np.concatenate([part[..., channels] for part, channels in zip(parts, used, strict=True)], axis=3)

    def read(lowering: Lowering, value: Value) -> list[Value]:
        if product.groups > 1:
            return [_groups_again(value, product, len(parts))]
        return [value, *(_chosen(lowering, value, product, channels) for channels in used[1:])]

    return replace(product, in_channels=weights.shape[3], read=read), weights


def _groups_again(value: Value, product: Product, copies: int) -> Value:
    """The channels of each group so often, one copy behind the other."""
    (batch, _, *image), channels = value.shape, const(product.in_channels)
    apart = movement.reshape(value, (batch, const(product.groups), const(1), channels, *image))
    each = movement.expand(apart, (batch, const(product.groups), const(copies), channels, *image))
    return movement.reshape(each, (batch, const(product.groups * copies * product.in_channels), *image))


def _chosen(lowering: Lowering, value: Value, product: Product, channels: np.ndarray) -> Value:
    if channels.size == product.in_channels:
        return value
    axis = product.channel_axis % value.rank
    shape = tuple(const(channels.size) if d == axis else size for d, size in enumerate(value.shape))
    return movement.take(value, axis, lowering.literal(channels.astype(np.int32)), shape)


def _by_lines(product: Product, parts: list[np.ndarray]) -> tuple[Product, np.ndarray]:
    """Each line of the image so often as there are summands, each of which multiplies one: rows, or columns where those are nearer.

    Lines of a dilated window are neighbours then, with weights of 0 for those between them.
    """
    count, axis = len(parts), int(len(product.shape) < 4 or product.dilations[0] > product.dilations[1])
    apart = count * product.dilations[axis]
    size = (product.kernel[axis] - 1) * apart + count
    kernel = (size, product.kernel[1]) if axis == 0 else (product.kernel[0], size)
    weights = np.zeros((product.groups, *kernel), parts[0].dtype)
    for place, part in enumerate(parts):
        lines: tuple[slice, ...] = (slice(None), *(slice(place, None, apart) if d == axis else slice(None) for d in range(2)))
        weights[lines] = part.reshape(product.groups, *product.kernel)

    def scaled(sizes: tuple[int, int], by: int) -> tuple[int, int]:
        return (sizes[0] * by, sizes[1]) if axis == 0 else (sizes[0], sizes[1] * by)

    def read(lowering: Lowering, value: Value) -> list[Value]:
        found = product.read(lowering, value) if product.read is not None else [value]
        return [_lines_again(part, part.rank - 2 + axis, count) for part in found]

    dilations = (1, product.dilations[1]) if axis == 0 else (product.dilations[0], 1)
    taller = replace(
        product, kernel=kernel, strides=scaled(product.strides, count), dilations=dilations, pads=scaled(product.pads, count), read=read
    )
    return taller, weights.reshape(product.groups, 1, -1, 1)


def _lines_again(value: Value, axis: int, copies: int) -> Value:
    shape = value.shape
    apart = movement.reshape(value, (*shape[: axis + 1], const(1), *shape[axis + 1 :]))
    each = movement.expand(apart, (*shape[: axis + 1], const(copies), *shape[axis + 1 :]))
    return movement.reshape(each, (*shape[:axis], shape[axis] * copies, *shape[axis + 1 :]))
