"""Random cases of the kernels that attention is made of, and what numpy says of them: docs/int8.md, clauses 16 to 18."""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np

from edgec.kernels import LayerNormInt8, MultiplyInt8, PackInt8, ProductInt8, ProductInt8Float, SoftmaxInt8
from edgec.kernels.matrix_int8 import input_multiple
from edgec.targets import Target
from tests.kernels.int8_cases import SENTINEL, activations, bounds, dtype_of, padded, requantized

Expected = tuple[Any, np.ndarray]


def panels(w: np.ndarray, target: Target, start: int, minus_zero: int) -> np.ndarray:
    """[matrices, k, n] signed codes as PackInt8 packs them."""
    wide = padded(padded(w, input_multiple(target.vocabularies), 1), 16, 2)
    count, depth, columns = wide.shape
    codes = wide.astype(np.int8).reshape(count, depth // 4, 4, columns // 16, 16).transpose(0, 3, 1, 4, 2).reshape(count, columns // 16, -1)
    sums = (start + minus_zero * wide.astype(np.int64).sum(axis=1)).astype(np.int32).reshape(count, columns // 16, 16)
    return np.concatenate([codes, np.ascontiguousarray(sums).view(np.int8)], axis=2)


def offset(target: Target) -> int:
    """What panels hold less than the codes are."""
    return 0 if target.signed_activations else 128


def pack_case(random: np.random.Generator, target: Target, inner: int, columns: int) -> Expected:
    """Matrices whose rows, or columns, or neither, are neighbours in memory."""
    count, gap = [int(n) for n in random.integers(1, 4, 2)], int(random.integers(1, 4))
    order = [(0, 1, 2, 3), (0, 1, 3, 2), (1, 0, 2, 3), (2, 0, 3, 1)][int(random.integers(4))]
    shape = (*count, inner, columns)
    whole = activations(random, dtype_of(target), int(np.prod(shape)) * gap)
    strides = np.zeros(4, int)
    step = gap if random.random() < 0.3 else 1
    for axis in reversed(order):
        strides[axis], step = step, step * shape[axis]
    index = sum(np.arange(extent).reshape([-1 if a == b else 1 for b in range(4)]) * strides[a] for a, extent in enumerate(shape))
    start, minus_zero = (int(n) for n in random.integers(-255, 256, 2))
    w = (whole[index].astype(np.int64) - offset(target)).reshape(-1, inner, columns)
    full = panels(w, target, start, minus_zero)
    x = whole[: int(np.max(index)) + 1]
    arguments = PackInt8(
        x,
        np.full(full.size, SENTINEL, np.int8),
        *count,
        *map(int, strides),
        inner,
        columns,
        full.shape[1],
        full.shape[2],
        start,
        minus_zero,
    )  # type: ignore[arg-type]
    return arguments, full.reshape(-1)


def product_case(random: np.random.Generator, target: Target, rows: int, inner: int, columns: int, floats: bool) -> Expected:
    """Pairs of matrices; the second one at times the same for all."""
    dtype, outer, count, gap = dtype_of(target), *(int(n) for n in random.integers(1, 4, 3))
    stride, shared = inner + gap - 1, random.random() < 0.3
    x = activations(random, dtype, outer * count * rows * stride)
    w = activations(random, dtype, (1 if shared else outer * count) * inner * columns).astype(np.int64).reshape(-1, inner, columns)
    info = np.iinfo(dtype)
    zero_x, zero = (int(random.choice([info.min, info.max, random.integers(info.min, info.max + 1)])) for _ in range(2))
    codes, zero_w = w - offset(target), zero - offset(target)
    packed = panels(codes, target, inner * zero_x * zero_w, -zero_x)
    wide = x.reshape(outer * count, rows, stride)[..., :inner].astype(np.int64) - zero_x
    acc = np.matmul(wide, codes - zero_w)
    scale = float(np.float32(random.choice([2.0**-9, 0.003, 1 / 255])))
    y_stride = columns + int(random.choice([0, 3]))
    matrix = 0 if shared else packed[0].size
    sizes = (
        outer, count, rows, count * rows * stride, rows * stride, stride, count * matrix, matrix,
        count * rows * y_stride, rows * y_stride, y_stride, inner, columns, packed.shape[1], packed.shape[2], zero_w, scale,
    )  # fmt: skip
    zero_y, low, high = bounds(random, dtype)
    found = acc.astype(np.float32) * np.float32(scale) if floats else requantized(acc, np.float32(scale), low, high, zero_y).astype(dtype)
    full = np.full((outer * count * rows, y_stride), SENTINEL, found.dtype)
    empty = full.copy().reshape(-1)[: full.size - (y_stride - columns)]
    full[:, :columns] = found.reshape(-1, columns)
    x = x[: x.size - (stride - inner)]
    given = (x, packed.reshape(-1), empty, *sizes)
    made: Any = ProductInt8Float(*given) if floats else ProductInt8(*given, zero_y, low, high)  # type: ignore[arg-type]
    return made, full.reshape(-1)[: empty.size]


def softmax_case(random: np.random.Generator, target: Target, columns: int) -> Expected:
    """Rows that are nearly flat, or decided by a few codes; now and then all codes are the same."""
    dtype, rows = dtype_of(target), int(random.integers(1, 6))
    x = activations(random, dtype, rows * columns).reshape(rows, columns)
    x[0] = x[0, 0] if random.random() < 0.3 else x[0]
    table = np.rint(2.0**16 * np.exp(-np.arange(255, -1, -1) * float(random.choice([0.0005, 0.02, 0.3])))).astype(np.int32)
    e = table[255 - x.max(axis=1, keepdims=True).astype(np.int64) + x]
    inverse = np.float32(random.choice([255.0, 256.0, 777.7]))
    zero, low, high = bounds(random, dtype)
    m = inverse / e.sum(axis=1, keepdims=True).astype(np.float32)
    y = np.clip(np.rint(e.astype(np.float32) * m), low - zero, high - zero).astype(np.int64) + zero
    empty = np.full(x.size, SENTINEL, dtype)
    arguments = SoftmaxInt8(x.reshape(-1), table, empty, rows, columns, float(inverse), zero, low, high)  # type: ignore[arg-type]
    return arguments, y.astype(dtype).reshape(-1)


def layer_norm_case(random: np.random.Generator, target: Target, columns: int) -> Expected:
    """Rows of any spread, from codes that are all the same to the least and the largest code alone."""
    dtype, rows = dtype_of(target), int(random.integers(1, 6))
    info = np.iinfo(dtype)
    x = activations(random, dtype, rows * columns).reshape(rows, columns)
    if random.random() < 0.3:
        x[0] = x[0, 0]
    if random.random() < 0.3:
        x[-1] = random.choice([info.min, info.max], columns)
    epsilon = int(random.choice([0, 1, 3000, 2**40, 2**61]))
    padding = -columns % 16
    scale = (random.standard_normal(columns) * float(random.choice([0.0, 1.0, 60.0]))).astype(np.float32)
    offset = (random.standard_normal(columns) * 30).astype(np.float32)
    zero, low, high = bounds(random, dtype)
    centered, about = bool(random.random() < 0.5), int(random.integers(info.min, info.max + 1))
    v = normalized(x.astype(np.int64), epsilon, None if centered else about) * scale + offset
    y = np.clip(np.rint(v), low - zero, high - zero).astype(np.int64) + zero
    arguments = LayerNormInt8(
        x.reshape(-1), np.array([epsilon], np.int64), np.pad(scale, (0, padding)), np.pad(offset, (0, padding)),
        np.full(x.size, SENTINEL, dtype), rows, columns, int(centered), about, zero, low, high,
    )  # type: ignore[arg-type]  # fmt: skip
    return arguments, y.astype(dtype).reshape(-1)


def multiply_case(random: np.random.Generator, target: Target, channels: int) -> Expected:
    """Images of up to several blocks of pixels, which lie apart or not, by numbers for their channels."""
    dtype, images, pixels = dtype_of(target), int(random.integers(1, 4)), int(random.choice([1, 5, 31, 32, 33, 100]))
    info, gaps = np.iinfo(dtype), [channels + int(random.choice([0, 3])) for _ in range(3)]
    x = activations(random, dtype, images * pixels * gaps[0]).reshape(images, pixels, gaps[0])
    by = activations(random, dtype, images * gaps[1]).reshape(images, gaps[1])
    zero_x, zero_by = (int(random.integers(info.min, info.max + 1)) for _ in range(2))
    zero, low, high = bounds(random, dtype)
    scale = np.float32(random.choice([2.0**-14, 0.004, 0.5, 1.0]) * random.uniform(0.5, 1))
    steps = (x[..., :channels].astype(np.int64) - zero_x) * (by[:, None, :channels].astype(np.int64) - zero_by)
    y = np.full((images, pixels, gaps[2]), SENTINEL, dtype)
    empty = y.reshape(-1).copy()
    y[..., :channels] = np.clip(np.rint(steps.astype(np.float32) * scale), low - zero, high - zero).astype(np.int64) + zero
    last = x.size - gaps[0] + channels, y.size - gaps[2] + channels
    arguments = MultiplyInt8(
        x.reshape(-1)[: last[0]], by.reshape(-1), empty[: last[1]], images, pixels, channels, *gaps, zero_x, zero_by, zero, low, high,
        float(scale),
    )  # type: ignore[arg-type]  # fmt: skip
    return arguments, y.reshape(-1)[: last[1]]


def normalized(x: np.ndarray, epsilon: int, about: int | None) -> np.ndarray:
    """fl32(u * R) of clause 18, for rows of codes about their mean or about a zero point; R by Python's integers."""
    columns = x.shape[-1]
    total = x.sum(axis=-1, keepdims=True)
    spread = columns * (x * x).sum(axis=-1, keepdims=True) - total * total
    if about is not None:
        total, spread = np.full_like(total, columns * about), columns * ((x - about) ** 2).sum(axis=-1, keepdims=True)
    factors = [inverse_root(max(1, (int(v) << 16) + epsilon)) for v in spread.reshape(-1)]
    found: np.ndarray = (columns * x - total).astype(np.float32) * np.array(factors, np.float32).reshape(spread.shape)
    return found


def inverse_root(w: int) -> float:
    """P * 2^(k - 39), where w * 4^k, cut, has 47 or 48 bits, and P is 2^47 / its root, both cut."""
    k = (48 - w.bit_length()) // 2
    return float(2**47 // isqrt(w << 2 * k if k >= 0 else w >> -2 * k) * 2.0 ** (k - 39))
