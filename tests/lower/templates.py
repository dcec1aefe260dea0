"""The template kernels in numpy, by the docstrings of edgec/kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from edgec import kernels
from edgec.program.arguments import CHANNEL_BLOCK, LANES
from tests.kernels.int8_cases import SHAPES
from tests.lower.batches import BATCHED, Batches, settle


class Frame:
    """The window of one call with every size as an integer."""

    def __init__(self, machine: Any, arguments: Any) -> None:
        self.machine, self.a = machine, arguments
        self.w = {key: machine.integer(value) for key, value in vars(arguments.window).items()}
        self.rows = np.arange(self.w["batch"] * self.w["out_height"] * self.w["out_width"])

    def pixels(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(batch, y, x) of every output pixel."""
        x, rest = self.rows % self.w["out_width"], self.rows // self.w["out_width"]
        return rest // self.w["out_height"], rest % self.w["out_height"], x

    def taps(self) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
        """(tap, input pixel of every output pixel, whether it lies inside the image, its (y, x))."""
        w = self.w
        n, y, x = self.pixels()
        for tap in range(w["kernel_height"] * w["kernel_width"]):
            i = y * w["stride_height"] - w["pad_top"] + (tap // w["kernel_width"]) * w["dilation_height"]
            j = x * w["stride_width"] - w["pad_left"] + (tap % w["kernel_width"]) * w["dilation_width"]
            inside = (i >= 0) & (i < w["in_height"]) & (j >= 0) & (j < w["in_width"])
            yield tap, np.where(inside, (n * w["in_height"] + i) * w["in_width"] + j, 0), inside, np.stack([i, j])

    def read(self, pointer: Any, pixel: np.ndarray, stride: Any, channels: int) -> np.ndarray:
        """[pixel, channel] of a channels-last tensor."""
        start = self.machine.integer(pointer.offset)
        index = start + pixel[:, None] * self.machine.integer(stride) + np.arange(channels)[None, :]
        memory = self.machine.memory[pointer.buffer]
        assert index.max(initial=0) < memory.size and index.min(initial=0) >= 0, f"{pointer.buffer} is read outside"
        return memory[index]

    def constant(self, pointer: Any, count: int) -> np.ndarray:
        start = self.machine.integer(pointer.offset)
        data = self.machine.memory[pointer.buffer][start : start + count]
        assert data.size == count, f"{pointer.buffer} is too small"
        return data

    def write(self, values: np.ndarray) -> None:
        y = self.a.y
        start = self.machine.integer(y.offset)
        index = start + self.rows[:, None] * self.w["out_pixel_stride"] + np.arange(values.shape[1])[None, :]
        memory = self.machine.memory[y.buffer]
        assert index.max(initial=0) < memory.size, f"{y.buffer} is written outside"
        memory[index] = values.astype(memory.dtype)

    @property
    def count(self) -> int:
        return self.w["kernel_height"] * self.w["kernel_width"]


def up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


def run_template(machine: Any, arguments: Any) -> None:
    with np.errstate(all="ignore"):
        if type(arguments) in BATCHED:
            BATCHED[type(arguments)](Batches(machine, arguments))
        else:
            RUN[type(arguments)](Frame(machine, arguments))


def _products(f: Frame, weights: np.ndarray, zero: int) -> np.ndarray:
    """sum over taps of x * w, [pixel, group, out]; a pixel outside of the image is `zero`. weights: [group][tap][out][in]."""
    a = f.a
    groups, _, outs, inputs = weights.shape
    total = np.zeros((f.rows.size, groups, outs), np.float64)
    for tap, pixel, inside, _ in f.taps():
        x = f.read(a.x, pixel, f.w["in_pixel_stride"], groups * inputs).astype(np.float64)
        x = np.where(inside[:, None], x, zero).reshape(-1, groups, inputs)
        total += np.einsum("pgi,goi->pgo", x, weights[:, tap].astype(np.float64), optimize=True)
    return total


def _panels(f: Frame, pointer: Any, dtype_inputs: int, inner: int) -> np.ndarray:
    """Packed weights as [group][tap][out][in]. `inner`: 4 for int8 (packed by fours), 1 for float."""
    a = f.a
    panels = up(a.out_channels, LANES) // LANES
    data = f.constant(pointer, a.groups * panels * f.count * dtype_inputs * LANES)
    blocks = data.reshape(a.groups, panels, f.count, dtype_inputs // inner, LANES, inner)
    full = blocks.transpose(0, 2, 1, 4, 3, 5).reshape(a.groups, f.count, panels * LANES, dtype_inputs)
    return full[:, :, : a.out_channels, : a.in_channels]


def _per_channel(f: Frame, pointer: Any) -> np.ndarray:
    a = f.a
    width = up(a.out_channels, LANES)
    return f.constant(pointer, a.groups * width).reshape(a.groups, width)[:, : a.out_channels]


def _ended(f: Frame, total: np.ndarray) -> None:
    """What becomes of exact sums [pixel, group, out] with codes of 16 bits."""
    a = f.a
    v = (total.astype(np.float32) * _wide_channels(f, a.scale)).reshape(f.rows.size, -1)
    f.write(v if a.y_bytes == 4 else settle(v, a.low, a.high, a.zero_y))


def _wide_channels(f: Frame, pointer: Any) -> np.ndarray:
    return _per_channel(f, pointer) if isinstance(f.a, kernels.ConvInt16) else f.constant(pointer, f.a.channels)[:, None]


def conv_int16(f: Frame) -> None:
    a = f.a
    weights = _panels(f, a.weights, up(a.in_channels, 2), 2)
    _ended(f, _products(f, weights, a.zero_x) + _per_channel(f, a.bias))


def depthwise_int16(f: Frame) -> None:
    a = f.a
    weights = f.constant(a.weights, f.count * up(a.channels, CHANNEL_BLOCK)).reshape(f.count, -1)[:, : a.channels].astype(np.float64)
    total = np.zeros((f.rows.size, a.channels)) + f.constant(a.bias, a.channels)
    for tap, pixel, inside, _ in f.taps():
        x = f.read(a.x, pixel, f.w["in_pixel_stride"], a.channels).astype(np.float64) - a.zero_x
        total += np.where(inside[:, None], x, 0) * weights[tap]
    _ended(f, total[:, :, None])


def _merged(f: Frame, inputs: int) -> np.ndarray:
    """Weights that are packed as if all taps were inputs of one, as [1][tap][out][in]."""
    a = f.a
    blocks = f.constant(a.weights, up(a.out_channels, LANES) * inputs).reshape(-1, inputs // 4, LANES, 4)
    by_output = blocks.transpose(0, 2, 1, 3).reshape(-1, inputs)[: a.out_channels, : f.count * a.in_channels]
    return by_output.reshape(1, a.out_channels, f.count, a.in_channels).transpose(0, 2, 1, 3)


def _scaled(f: Frame) -> np.ndarray:
    """fl32(acc) * scale, [pixel, group, out]."""
    a, multiple = f.a, f.machine.multiple
    merged = up(f.count * a.in_channels, multiple)
    if a.in_channels < 4 and f.machine.memory[a.weights.buffer].size == up(a.out_channels, LANES) * merged:
        weights = _merged(f, merged)
    else:
        weights = _panels(f, a.weights, up(a.in_channels, multiple), 4)
    total = _products(f, weights, a.zero_x).astype(np.int64) + _per_channel(f, a.bias)
    scaled: np.ndarray = total.astype(np.float32) * _per_channel(f, a.scale)
    return scaled


def conv_int8_float(f: Frame) -> None:
    f.write(_scaled(f).reshape(f.rows.size, -1))


def conv_int8(f: Frame) -> None:
    a = f.a
    v = settle(_scaled(f), a.low, a.high, a.zero_y).reshape(f.rows.size, -1)
    if a.residual is not None:
        r = f.read(a.residual, f.rows, a.residual_pixel_stride, v.shape[1]).astype(np.int64)
        own = (v - a.zero_y).astype(np.float32) * np.float32(a.add_scale)
        other = (r - a.residual_zero).astype(np.float32) * np.float32(a.residual_scale)
        v = settle(own + other, a.add_low, a.add_high, a.add_zero)
    f.write(v)


def _shaped(f: Frame, v: np.ndarray, behind: np.ndarray) -> np.ndarray:
    """The codes of the kernel's function of floats. behind: what it is multiplied by."""
    a = f.a
    return settle(SHAPES[a.function](v, np.float32(a.alpha), np.float32(a.beta)) * behind, a.low, a.high, a.zero_y)


def conv_int8_function(f: Frame) -> None:
    a, width = f.a, up(f.a.out_channels, LANES)
    behind = f.constant(a.scale, a.apart + a.groups * width)[a.apart :].reshape(a.groups, width)[:, : a.out_channels]
    f.write(_shaped(f, _scaled(f), behind).reshape(f.rows.size, -1))


def conv_int8_any(f: Frame) -> None:
    a = f.a
    size = a.groups * a.out_channels
    data = f.constant(a.weights, size * f.count * a.in_channels).reshape(a.groups, a.out_channels, f.count, a.in_channels)
    weights = data.transpose(0, 2, 1, 3).astype(np.int64)
    correction = a.zero_x * weights.sum(axis=(1, 3))
    total = _products(f, weights, a.zero_x).astype(np.int64) - correction + f.constant(a.bias, size).reshape(a.groups, -1)
    scale = f.constant(a.scale, size).reshape(a.groups, -1)
    f.write(settle(total.astype(np.float32) * scale, a.low, a.high, a.zero_y).reshape(f.rows.size, -1))


def _depthwise(f: Frame, zero: int) -> tuple[np.ndarray, int]:
    """sum over taps of x * w by channel, [pixel, channel]."""
    a = f.a
    width = up(a.channels, CHANNEL_BLOCK)
    weights = f.constant(a.weights, f.count * width).reshape(f.count, width)[:, : a.channels].astype(np.float64)
    total = np.zeros((f.rows.size, a.channels))
    for tap, pixel, inside, _ in f.taps():
        x = f.read(a.x, pixel, f.w["in_pixel_stride"], a.channels).astype(np.float64)
        total += np.where(inside[:, None], x, zero) * weights[tap]
    return total, width


def depthwise_int8(f: Frame) -> None:
    a = f.a
    sums, width = _depthwise(f, a.zero_x)
    total = sums.astype(np.int64) + f.constant(a.bias, width)[: a.channels]
    scaled = total.astype(np.float32) * f.constant(a.scale, width)[: a.channels]
    f.write(settle(scaled, a.low, a.high, a.zero_y))


def depthwise_int8_function(f: Frame) -> None:
    a = f.a
    sums, width = _depthwise(f, a.zero_x)
    total = sums.astype(np.int64) + f.constant(a.bias, width)[: a.channels]
    scales = f.constant(a.scale, a.apart + width)
    f.write(_shaped(f, total.astype(np.float32) * scales[: a.channels], scales[a.apart :][: a.channels]))


def conv_float(f: Frame) -> None:
    a = f.a
    points = f.machine.memory[a.weights.buffer].size == 36 * up(a.out_channels, LANES) * a.in_channels
    weights = _points(f) if points else _panels(f, a.weights, a.in_channels, 1)
    total = (_products(f, weights, 0) + _per_channel(f, a.bias)).reshape(f.rows.size, -1)
    if a.residual is not None:
        total = total + f.read(a.residual, f.rows, a.residual_pixel_stride, total.shape[1])
    f.write(np.clip(total, a.low, a.high))


def _points(f: Frame) -> np.ndarray:
    """Weights of Winograd's F(4x4, 3x3), [panel][6 x 6 points][in][16], as [1][tap][out][in]: the 3x3 filter that has these points."""
    points = f.constant(f.a.weights, 36 * up(f.a.out_channels, LANES) * f.a.in_channels).reshape(-1, 6, 6, f.a.in_channels, LANES)
    values = np.array([[p**k for k in range(3)] for p in (0, 1, -1, 2, -2)] + [[0, 0, 1]], np.float64)
    denominators = np.array([4, -6, -6, 24, 24, 1])
    back = np.linalg.pinv(values / denominators[:, None])
    taps = np.einsum("yi,pijcl,xj->yxplc", back, points.astype(np.float64), back)
    return taps.reshape(1, 9, -1, f.a.in_channels)[:, :, : f.a.out_channels]


def rows_codes(f: Frame) -> None:
    a, inputs, groups = f.a, f.a.in_channels, -(-f.a.in_channels // f.a.group)
    panels = up(a.out_channels, LANES) // LANES
    data = f.constant(a.weights, panels * a.rows_of_codes * LANES).reshape(panels, -1, LANES)
    if isinstance(a, kernels.RowsCodes4):
        pairs = -(-a.group // 2)
        halves = np.stack([(data.view(np.uint8) << 4).view(np.int8) >> 4, data >> 4], 2)  # [panel, pair, 2, lane]
        parts = [halves[:, g * pairs : (g + 1) * pairs].reshape(panels, -1, LANES)[:, : a.group] for g in range(groups)]
        data = np.concatenate(parts, 1)[:, :inputs]

    def by_input(pointer: Any) -> np.ndarray:
        return np.repeat(f.constant(pointer, panels * groups * LANES).reshape(panels, groups, LANES), a.group, 1)[:, :inputs]

    weights = (data + (0 if a.offset is None else by_input(a.offset).astype(np.float64))) * by_input(a.scale).astype(np.float64)
    matrix = weights.transpose(1, 0, 2).reshape(inputs, -1)[:, : a.out_channels]
    x = f.read(a.x, f.rows, f.w["in_pixel_stride"], inputs).astype(np.float64)
    total = x @ matrix + f.constant(a.bias, panels * LANES)[: a.out_channels]
    if a.residual is not None:
        total = total + f.read(a.residual, f.rows, a.residual_pixel_stride, total.shape[1])
    f.write(np.clip(total, a.low, a.high))


def depthwise_float(f: Frame) -> None:
    a = f.a
    total, width = _depthwise(f, 0)
    f.write(np.clip(total + f.constant(a.bias, width)[: a.channels], a.low, a.high))


def _maximum(f: Frame, least: float) -> np.ndarray:
    best = np.full((f.rows.size, f.a.channels), least)
    for _, pixel, inside, _ in f.taps():
        x = f.read(f.a.x, pixel, f.w["in_pixel_stride"], f.a.channels).astype(np.float64)
        best = np.where(inside[:, None] & ~(best > x), x, best)  # max(m, x) = m > x ? m : x
    return best


def pool_max_int8(f: Frame) -> None:
    f.write(np.clip(_maximum(f, -1000), f.a.low, f.a.high))


def pool_max_float(f: Frame) -> None:
    f.write(_maximum(f, -np.inf))


def _sums(f: Frame, zero: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """(sum of x - zero, number of pixels counted) of every window."""
    a, w = f.a, f.w
    total = np.zeros((f.rows.size, a.channels), dtype)
    count = np.zeros(f.rows.size, np.int64)
    for _, pixel, inside, place in f.taps():
        x = f.read(a.x, pixel, w["in_pixel_stride"], a.channels).astype(dtype) - dtype(zero)
        total = total + np.where(inside[:, None], x, dtype(0))
        padded = (place[0] < w["in_height"] + a.pad_bottom) & (place[1] < w["in_width"] + a.pad_right)
        count += padded if a.count_include_pad else inside
    return total, count


def pool_average_int8(f: Frame) -> None:
    a = f.a
    total, count = _sums(f, a.zero_x, np.int64)
    scale = f.constant(a.scale, f.count + 1)[count][:, None]
    f.write(settle(total.astype(np.float32) * scale, a.low, a.high, a.zero_y))


def pool_average_float(f: Frame) -> None:
    total, count = _sums(f, 0, np.float32)
    f.write(total / count[:, None].astype(np.float32))


RUN: dict[type, Callable[[Frame], None]] = {
    kernels.ConvInt8: conv_int8, kernels.ConvInt8Float: conv_int8_float, kernels.ConvInt8Any: conv_int8_any,
    kernels.DepthwiseInt8: depthwise_int8,
    **dict.fromkeys(kernels.CONV_INT8_FUNCTION.values(), conv_int8_function),
    **dict.fromkeys(kernels.DEPTHWISE_INT8_FUNCTION.values(), depthwise_int8_function),
    kernels.ConvInt16: conv_int16, kernels.DepthwiseInt16: depthwise_int16,
    kernels.RowsCodes8: rows_codes, kernels.RowsCodes4: rows_codes,
    kernels.ConvFloat: conv_float, kernels.DepthwiseFloat: depthwise_float, kernels.PoolMaxInt8: pool_max_int8,
    kernels.PoolMaxFloat: pool_max_float, kernels.PoolAverageInt8: pool_average_int8, kernels.PoolAverageFloat: pool_average_float,
}  # fmt: skip
