"""Random geometries of sliding windows."""

from __future__ import annotations

import numpy as np

from edgec.program.arguments import Window


def window(
    rng: np.random.Generator, in_stride: int, out_stride: int, *, pointwise: bool = False, pool: bool = False, square: bool = False
) -> Window:
    """A window over images of `in_stride` elements a pixel. Some have strides, dilation, uneven padding, or hang over the edge as
    pools with ceil_mode do; a `square` one has no dilation."""
    batch, height, width = (int(n) for n in rng.integers((1, 1, 1), (3, 12, 14)))
    if pointwise:
        return Window(batch, height, width, in_stride, height, width, out_stride, 1, 1, 1, 1, 1, 1, 0, 0)
    kernel, stride = rng.choice((1, 2, 3, 3, 3, 5), 2), rng.choice((1, 1, 2, 3), 2)
    dilation = rng.choice((1, 1, 1, 2), 2)
    if rng.random() < 0.3:
        kernel, dilation = np.full(2, 3), np.ones(2, int)
    if square:
        kernel, stride, dilation = np.full(2, rng.choice((3, 5))), np.full(2, rng.choice((1, 2))), np.ones(2, int)
    before = rng.integers(0, kernel)
    out = []
    for size, k, s, d, pad in zip((height, width), kernel, stride, dilation, before, strict=True):
        hang = int(rng.integers(0, s + 1)) if pool else int(rng.integers(0, k + 1))
        reach = size + pad + hang - ((k - 1) * d + 1)
        out.append(max(1, reach // s + 1))
    numbers = [int(n) for n in (*kernel, *stride, *dilation, *before)]
    return Window(batch, height, width, in_stride, out[0], out[1], out_stride, *numbers)


def stride_of(rng: np.random.Generator, channels: int) -> int:
    """Elements from one pixel to the next: sometimes the pixel is a part of a wider one."""
    return channels + int(rng.choice((0, 0, 3, 16)))


def pixels(rng: np.random.Generator, count: int, channels: int, stride: int) -> np.ndarray:
    """Values of `count` pixels; the last one ends with its channels, and what lies between pixels is NaN."""
    x = np.full(max(0, (count - 1) * stride + channels), np.nan, np.float32)
    rows = np.lib.stride_tricks.as_strided(x, (count, channels), (stride * 4, 4))
    rows[:] = rng.standard_normal((count, channels), np.float32)
    return x


def in_count(window: Window) -> int:
    return int(window.batch * window.in_height * window.in_width)


def out_count(window: Window) -> int:
    return int(window.batch * window.out_height * window.out_width)


def splits(rng: np.random.Generator) -> tuple[int, ...]:
    """Borders between the item ranges of two or three calls."""
    return tuple(int(n) for n in rng.integers(0, 1 << 20, rng.integers(0, 3)))
