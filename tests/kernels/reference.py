"""The kernels' meaning in numpy: one pass over the taps of a window, written from the docstrings of edgec/kernels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edgec.program.arguments import Window


def image(window: Window, x: np.ndarray, channels: int) -> np.ndarray:
    """The input as [batch, height, width, channels]."""
    stride = window.in_pixel_stride
    pixels = window.batch * window.in_height * window.in_width
    rows = np.lib.stride_tricks.as_strided(x, (pixels, channels), (stride * x.itemsize, x.itemsize), writeable=False)
    return rows.reshape(window.batch, window.in_height, window.in_width, channels)


def place(window: Window, y: np.ndarray, value: np.ndarray) -> np.ndarray:
    """`y` after `value` [batch, out height, out width, channels] was stored into its pixels."""
    result = y.copy()
    channels, stride = value.shape[-1], window.out_pixel_stride
    rows = np.lib.stride_tricks.as_strided(result, (value.size // channels, channels), (stride * y.itemsize, y.itemsize))
    rows[:] = value.reshape(-1, channels)
    return result


def taps(window: Window, x: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """(tap, what each output pixel reads there, whether that lies in the image [out height, out width, 1]), row by row."""
    for i in range(window.kernel_height):
        rows = np.arange(window.out_height) * window.stride_height - window.pad_top + i * window.dilation_height
        for j in range(window.kernel_width):
            columns = np.arange(window.out_width) * window.stride_width - window.pad_left + j * window.dilation_width
            inside = ((rows >= 0) & (rows < window.in_height))[:, None] & ((columns >= 0) & (columns < window.in_width))[None, :]
            at = x[:, rows.clip(0, window.in_height - 1)][:, :, columns.clip(0, window.in_width - 1)]
            yield i * window.kernel_width + j, at, inside[..., None]


def counts(window: Window, bottom: int, right: int, include: bool) -> np.ndarray:
    """The divisor of each output pixel's mean, [out height, out width, 1]."""

    def along(out: int, size: int, kernel: int, stride: int, dilation: int, before: int, after: int) -> np.ndarray:
        at = (np.arange(out) * stride - before)[:, None] + np.arange(kernel)[None, :] * dilation
        low, high = (-before, size + after) if include else (0, size)
        return ((at >= low) & (at < high)).sum(axis=1)

    w = window
    rows = along(w.out_height, w.in_height, w.kernel_height, w.stride_height, w.dilation_height, w.pad_top, bottom)
    columns = along(w.out_width, w.in_width, w.kernel_width, w.stride_width, w.dilation_width, w.pad_left, right)
    return (rows[:, None] * columns[None, :])[..., None]
