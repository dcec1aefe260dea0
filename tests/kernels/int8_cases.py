"""Random int8 cases, and what numpy says of them: docs/int8.md clause 4 in int64 and float32, sharing no code with edgec/."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from edgec.kernels import CONV_INT8_FUNCTION, DEPTHWISE_INT8_FUNCTION, ConvInt8, ConvInt8Any, ConvInt8Float, DepthwiseInt8
from edgec.kernels.conv_int8_variants import merges
from edgec.kernels.matrix_int8 import input_multiple
from edgec.program.arguments import Window
from edgec.targets import Target
from tests.kernels.least_weights import aside, lone_least

SENTINEL = 0x5A

NO_RESIDUAL: dict[str, Any] = {
    "residual": None, "residual_pixel_stride": 0, "add_scale": 0.0, "residual_scale": 0.0, "residual_zero": 0,
    "add_zero": 0, "add_low": 0, "add_high": 0,
}  # fmt: skip


def dtype_of(target: Target) -> type:
    return np.int8 if target.signed_activations else np.uint8


def geometry(random: np.random.Generator, channels_in: int, channels_out: int, simple: bool = False) -> Window:
    """A window of which at least one tap lies inside for some pixels; pixel strides may exceed the channels."""
    kernel = (1, 1) if simple else (int(random.integers(1, 6)), int(random.integers(1, 6)))
    stride = (1, 1) if simple else tuple(int(v) for v in random.integers(1, 4, 2))
    dilation = (1, 1) if simple else tuple(int(v) for v in random.integers(1, 4, 2))
    pad = (0, 0) if simple else tuple(int(random.integers(0, k * d)) for k, d in zip(kernel, dilation, strict=True))
    size = [int(v) for v in random.integers(1, 15, 2)]
    out = size if simple else [int(random.integers(1, 15)) for _ in size]
    return Window(
        int(random.integers(1, 3)), size[0], size[1], channels_in + int(random.choice([0, 0, 5])),
        out[0], out[1], channels_out + int(random.choice([0, 0, 3])), *kernel, *stride, *dilation, *pad,
    )  # fmt: skip


def square(random: np.random.Generator, channels: int, kernel: int, stride: int) -> Window:
    """A window of kernel x kernel taps next to each other, over an image that is now and then smaller than it or wider than a strip."""
    before = int(random.integers(0, kernel))
    height, width = int(random.integers(1, 9)), int(random.choice([1, 3, 7, 8, 28, 29, 61]))
    out = [max(1, (size + before + int(random.integers(0, kernel)) - kernel) // stride + 1) for size in (height, width)]
    return Window(
        2, height, width, channels + int(random.choice([0, 5])), *out, channels + int(random.choice([0, 3])),
        kernel, kernel, stride, stride, 1, 1, before, before,
    )  # fmt: skip


def few_channels(random: np.random.Generator, channels: int, outputs: int) -> Window:
    """A window over an image of few channels next to each other, that may be smaller than the window."""
    kernel, stride, dilation = (
        (int(random.integers(1, 6)), int(random.integers(2, 8))),
        random.integers(1, 4, 2),
        int(random.integers(1, 3)),
    )
    size, out = random.integers(1, 15, 2), random.integers(1, 20, 2)
    pads = int(random.integers(0, kernel[0] * dilation)), int(random.integers(0, kernel[1]))
    return Window(
        int(random.integers(1, 3)), int(size[0]), int(size[1]), channels, int(out[0]), int(out[1]), outputs + int(random.choice([0, 3])),
        *kernel, int(stride[0]), int(stride[1]), dilation, 1, *pads,
    )  # fmt: skip


def three_of_nine(random: np.random.Generator, outputs: int) -> Window:
    """A window of 3x3 pixels of three channels that goes on by two pixels, over images that end before its last ones do, or after them."""
    width, (top, left) = int(random.choice([13, 14, 15, 28, 31, 45])), (int(pad) for pad in random.integers(0, 3, 2))
    height, row, rows = (int(random.integers(1, most)) for most in (6, 4, 9))
    inside = max(1, 2 * width + 1 - left - int(random.integers(0, 4)) + int(random.choice([0, 0, 9])))
    return Window(2, rows, inside, 3, height, width, outputs + int(random.choice([0, 0, 3])), 3, 3, row, 2, 1, 1, top, left)


def three_by_three(random: np.random.Generator, inputs: int, outputs: int, size: tuple[int, int]) -> Window:
    """A window of 3x3 that goes on by a pixel, over images of this size with up to two pixels of padding on each side."""
    top, left, bottom, right = (int(pad) for pad in random.integers(0, 3, 4))
    out = size[0] + top + bottom - 2, size[1] + left + right - 2
    pixels = inputs + int(random.choice([0, 5])), outputs + int(random.choice([0, 3]))
    return Window(int(random.integers(1, 3)), *size, pixels[0], *out, pixels[1], 3, 3, 1, 1, 1, 1, top, left)


def gathered(x: np.ndarray, window: Window, channels: int, zero: int) -> np.ndarray:
    """int64 [batch, out_height, out_width, taps, channels]: x - zero under every tap, 0 outside of the image."""
    g = window
    image = x.astype(np.int64).reshape(g.batch, g.in_height, g.in_width, g.in_pixel_stride)[..., :channels] - zero
    result = np.zeros((g.batch, g.out_height, g.out_width, g.kernel_height * g.kernel_width, channels), np.int64)
    for row in range(g.out_height):
        for column in range(g.out_width):
            for tap in range(g.kernel_height * g.kernel_width):
                y = row * g.stride_height - g.pad_top + tap // g.kernel_width * g.dilation_height
                x_ = column * g.stride_width - g.pad_left + tap % g.kernel_width * g.dilation_width
                if 0 <= y < g.in_height and 0 <= x_ < g.in_width:
                    result[:, row, column, tap] = image[:, y, x_]
    return result


def requantized(acc: np.ndarray, scale: np.ndarray, low: int, high: int, zero: int) -> np.ndarray:
    assert np.abs(acc).max(initial=0) < 2**31
    real = acc.astype(np.float32) * scale.astype(np.float32)
    return np.clip(np.rint(real), low - zero, high - zero).astype(np.int64) + zero


def bounds(random: np.random.Generator, dtype: type) -> tuple[int, int, int]:
    """zero_y, low, high: at times the whole range, at times that of a Relu or a Clip."""
    info = np.iinfo(dtype)
    zero = int(random.choice([info.min, info.max, random.integers(info.min, info.max + 1)]))
    low, high = sorted(int(v) for v in random.integers(info.min, info.max + 1, 2))
    return zero, *((info.min, info.max) if random.random() < 0.5 else (low, high))


def edge_of_floats(random: np.random.Generator, products: int) -> int:
    """The largest bias of a layer whose sums of so many products may or may not have more bits than floats count."""
    return int(random.choice([5000, 2**23 - products * 255 * 127, 2**23, 2**30]))


def activations(random: np.random.Generator, dtype: type, count: int) -> np.ndarray:
    info = np.iinfo(dtype)
    if random.random() < 0.2:
        return random.choice(np.array([info.min, info.max], dtype), count)
    return random.integers(info.min, info.max + 1, count).astype(dtype)


def scales(random: np.random.Generator, acc: np.ndarray) -> np.ndarray:
    """Per channel: so that sums meet the whole range, ties (powers of two) and both clamps; and at times so that one leaves it by far."""
    spread = np.abs(acc).reshape(-1, acc.shape[-1]).max(axis=0) + 1
    scale = (random.uniform(20, 400, acc.shape[-1]) / spread).astype(np.float32)
    ties = np.exp2(np.rint(np.log2(scale))).astype(np.float32)
    found = np.where(random.random(acc.shape[-1]) < 0.4, ties, scale)
    other = aside(spread)
    far = (other.random(acc.shape[-1]) < 0.1) & (other.random() < 0.2)
    return np.where(far, 2.0**29 / spread, found).astype(np.float32)


def stored(y: np.ndarray, window: Window, channels: int) -> tuple[np.ndarray, np.ndarray]:
    """A sentinel-filled output buffer that ends with the last pixel's last channel, and `y` placed in it."""
    pixels = window.batch * window.out_height * window.out_width
    empty = np.full((pixels, window.out_pixel_stride), SENTINEL, y.dtype)
    full = empty.copy()
    full[:, :channels] = y.reshape(pixels, channels)
    cut = pixels * window.out_pixel_stride - (window.out_pixel_stride - channels)
    return empty.reshape(-1)[:cut], full.reshape(-1)[:cut]


def image_of(random: np.random.Generator, dtype: type, window: Window, channels: int) -> tuple[np.ndarray, np.ndarray]:
    """The input as the kernel gets it (ending with the last channel) and whole."""
    whole = activations(random, dtype, window.batch * window.in_height * window.in_width * window.in_pixel_stride)
    return whole[: whole.size - (window.in_pixel_stride - channels)], whole


def padded(array: np.ndarray, multiple: int, axis: int) -> np.ndarray:
    width = [(0, 0)] * array.ndim
    width[axis] = (0, -array.shape[axis] % multiple)
    return np.pad(array, width)


def _sums(
    random: np.random.Generator,
    target: Target,
    groups: int,
    ci: int,
    co: int,
    window: Window,
    largest_bias: int,
    merging: bool = True,
    extreme: tuple[np.ndarray, np.ndarray] | None = None,
) -> tuple[np.ndarray, dict[str, Any]]:
    """int64 sums [pixel, group, channel], and the arguments that ConvInt8 and ConvInt8Float share. ci, co: channels of one group.

    merging: whether layers of few channels have weights whose taps are inputs; shaders read no such weights.
    extreme: where codes are the largest, [row, column], and else the least; and weights, [tap].
    """
    dtype = dtype_of(target)
    x, whole = image_of(random, dtype, window, groups * ci)
    if extreme:
        info, images = np.iinfo(dtype), whole.reshape(window.batch, window.in_height, window.in_width, -1)
        images[:] = np.where(extreme[0], info.max, info.min)[..., None]
    zero_x = int(random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1))
    taps = window.kernel_height * window.kernel_width
    w = random.integers(-127, 128, (groups, co, taps, ci)).astype(np.int8)
    if random.random() < 0.2:
        w = np.where(w < 0, -127, 127).astype(np.int8)
    if extreme:
        w[:] = np.where(extreme[1], 127, -127)[:, None]
    lone_least(w.reshape(groups * co, -1))
    bias = random.integers(-largest_bias, largest_bias, (groups, co))
    pixels = gathered(whole, window, groups * ci, zero_x).reshape(-1, taps, groups, ci)
    acc = bias + np.einsum("ptgc,gotc->pgo", pixels, w.astype(np.int64), optimize=True)
    scale = scales(random, acc.reshape(-1, groups * co)).reshape(groups, co)
    merged = merging and not target.gpu and merges(SimpleNamespace(window=window, groups=groups, in_channels=ci))
    inputs = w.reshape(groups, co, 1, -1) if merged else w
    multiple, block = input_multiple(target.vocabularies), 4
    if target.vocabularies == ("helium",):  # which takes all that lies under a window as inputs of one tap
        inputs, multiple, block = w.reshape(groups, co, 1, -1), 16, 16
    packed = padded(padded(inputs, multiple, 3), 16, 1)  # [group, channel, tap, k] -> [group][panel][tap][k / block][16][block]
    packed = packed.reshape(groups, -1, 16, *packed.shape[2:3], packed.shape[3] // block, block).transpose(0, 1, 3, 4, 2, 5)
    folded = bias - zero_x * w.astype(np.int64).sum(axis=(2, 3))
    return acc, {
        "window": window, "x": x, "weights": np.ascontiguousarray(packed), "bias": padded(folded, 16, 1).astype(np.int32),
        "scale": padded(scale, 16, 1), "groups": groups, "in_channels": ci, "out_channels": co, "zero_x": zero_x,
    }  # fmt: skip


def conv_case(
    random: np.random.Generator,
    target: Target,
    groups: int,
    ci: int,
    co: int,
    simple: bool,
    residual: bool,
    window: Window | None = None,
    extreme: tuple[np.ndarray, np.ndarray] | None = None,
    relu: bool = False,
) -> tuple[Any, np.ndarray]:
    """A ConvInt8 and the output buffer that it must leave. relu: codes begin with that of 0, and the bias may be large."""
    dtype = dtype_of(target)
    window = window or geometry(random, groups * ci, groups * co, simple)
    largest = edge_of_floats(random, window.kernel_height * window.kernel_width * ci) if relu else 5000
    acc, common = _sums(random, target, groups, ci, co, window, largest, extreme=extreme)
    zero_y, low, high = (np.iinfo(dtype).min, np.iinfo(dtype).min, np.iinfo(dtype).max) if relu else bounds(random, dtype)
    y = requantized(acc, common["scale"][:, :co], low, high, zero_y).reshape(-1, groups * co)
    add = NO_RESIDUAL
    if residual:
        y, add = _with_residual(random, dtype, y, zero_y)
    empty, full = stored(y.astype(dtype), common["window"], groups * co)
    rounding = 0.0 if residual else rounding_of(acc, common["scale"][:, :co], zero_y, (low, high), dtype)
    ends = {"zero_y": zero_y, "low": low, "high": high, "rounding": rounding, "largest_sum": _largest_sum(common)}
    return ConvInt8(**common, y=empty, **ends, **add), full


def float_case(random: np.random.Generator, target: Target, groups: int, ci: int, co: int, simple: bool) -> tuple[Any, np.ndarray]:
    """A ConvInt8Float and the output buffer that it must leave; its sums have more bits than a float, or fewer."""
    window = geometry(random, groups * ci, groups * co, simple)
    acc, common = _sums(random, target, groups, ci, co, window, int(random.choice([5000, 2**30])), merging=False)
    y = acc.astype(np.float32) * common["scale"][:, :co]
    empty, full = stored(y.reshape(-1, groups * co), common["window"], groups * co)
    return ConvInt8Float(**common, y=empty), full


# What a function is of binary32 numbers v, one operation at a time, and the attributes alpha and beta.
SHAPES: dict[str, Callable[[np.ndarray, np.float32, np.float32], np.ndarray]] = {
    "HardSwish": lambda v, _, __: v * SHAPES["HardSigmoid"](v, np.float32(1 / 6), np.float32(0.5)),
    "HardSigmoid": lambda v, alpha, beta: np.minimum(np.maximum(alpha * v + beta, np.float32(0)), np.float32(1)),
    "LeakyRelu": lambda v, alpha, _: np.where(v < 0, alpha * v, v),
    "Swish": lambda v, _, __: _less_its_tail(
        v,
        14.0,
        -3.7804244e-09,
        2.0405271e-07,
        -4.5572606e-06,
        5.398712e-05,
        -0.0003529858,
        0.0010685318,
        0.00079755986,
        -0.012842539,
        -0.057072513,
        0.9169578,
    ),
    "Gelu none": lambda v, _, __: _less_its_tail(v, 5.0, -0.0001912397, 0.0019419312, -0.0011145129, -0.03171394, -0.091494866, 0.91700405),
    "Gelu tanh": lambda v, _, __: _less_its_tail(v, 5.0, -0.0001276209, 0.0012611299, 0.0005670065, -0.033163033, -0.090954915, 0.9169421),
}


def _less_its_tail(v: np.ndarray, most: float, *coefficients: float) -> np.ndarray:
    """max(v, 0) - t p(t)^8, t = min(|v|, most)."""
    t = np.minimum(np.abs(v), np.float32(most))
    p = np.float32(coefficients[0])
    for coefficient in coefficients[1:]:
        p = p * t + np.float32(coefficient)
    p = p * p
    p = p * p
    return np.asarray(np.maximum(v, np.float32(0)) - t * (p * p))


def _shaped(
    random: np.random.Generator, op: str, acc: np.ndarray, scale: np.ndarray, low: int, high: int, zero: int
) -> tuple[np.ndarray, dict[str, Any]]:
    """The codes of a function of the sums, most of them within the range, and the numbers of its kernel, which has a multiplier for each
    scale, 16 channels after the other."""
    alpha, beta = (np.float32(number) for number in random.choice([0.2, 0.5, 1 / 6, -0.3, 0.01], 2))
    with np.errstate(under="ignore"):
        f = SHAPES[op](acc.astype(np.float32) * scale.astype(np.float32), alpha, beta)
        inverse = random.choice([255.0, 1.0, 100.7, 2.0**-5]) / max(1.0, float(np.abs(f).max(initial=0)))
        behind = (random.choice([1.0, 0.25, 1.9, 0.01], scale.shape) * inverse).astype(np.float32)
        codes = np.clip(np.rint(f * behind), low - zero, high - zero).astype(np.int64) + zero
    assert f.dtype == np.float32
    both = np.stack([padded(array, 16, -1) for array in (scale.astype(np.float32), behind)])
    return codes, {"scale": both, "apart": both[0].size, "alpha": float(alpha), "beta": float(beta)}


def function_case(
    random: np.random.Generator, target: Target, op: str, groups: int, ci: int, co: int, simple: bool, window: Window | None = None
) -> tuple[Any, np.ndarray]:
    """A ConvInt8Function and the output buffer that it must leave."""
    dtype = dtype_of(target)
    acc, common = _sums(random, target, groups, ci, co, window or geometry(random, groups * ci, groups * co, simple), 5000)
    common["scale"] *= np.float32(random.choice([0.1, 0.003]))
    zero_y, low, high = bounds(random, dtype)
    y, numbers = _shaped(random, op, acc, common["scale"][:, :co], low, high, zero_y)
    empty, full = stored(y.reshape(-1, groups * co).astype(dtype), common["window"], groups * co)
    made = CONV_INT8_FUNCTION[op]
    ends = {"zero_y": zero_y, "low": low, "high": high, "largest_sum": _largest_sum(common)}
    return made(**{**common, **ends, **numbers}, y=empty), full


def _largest_sum(common: dict[str, Any]) -> int:
    """Of codes by weights: by the channel of a panel whose weights of one sign are the largest."""
    weights, ends = common["weights"].astype(np.int64), np.iinfo(common["x"].dtype)
    parts = [np.maximum(sign * weights, 0).sum(axis=(2, 3, 5)) for sign in (1, -1)]
    return int(max(abs(parts[0] * one - parts[1] * other).max() for one, other in ((ends.max, ends.min), (ends.min, ends.max))))


def rounding_of(acc: np.ndarray, scale: np.ndarray, zero: int, bounds: tuple[int, int], dtype: type) -> float:
    """Of ConvInt8 and DepthwiseInt8, where these very sums allow it."""
    info = np.iinfo(dtype)
    short = np.abs(acc * scale.astype(np.float64)).max(initial=0) < 2**15 - 2**8
    short = short and np.abs(acc).max(initial=0) < 2**23
    return 12582912.0 + zero if short and zero % 2 == 0 and bounds == (info.min, info.max) else 0.0


def _with_residual(random: np.random.Generator, dtype: type, y: np.ndarray, zero_y: int) -> tuple[np.ndarray, dict[str, Any]]:
    pixels, channels = y.shape
    stride = channels + int(random.choice([0, 7]))
    r = activations(random, dtype, pixels * stride).reshape(pixels, stride)
    zero_r = int(random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1))
    first, second = (np.float32(v) for v in random.choice([0.5, 1.0, 0.37, 1.91, -0.5, 0.1, 0.623046875, -7.75], 2))
    zero, low, high = bounds(random, dtype)
    real = (y - zero_y).astype(np.float32) * first + (r[:, :channels].astype(np.int64) - zero_r).astype(np.float32) * second
    added = np.clip(np.rint(real), low - zero, high - zero).astype(np.int64) + zero
    flat = r.reshape(-1)[: r.size - (stride - channels)]
    return added, {
        "residual": flat, "residual_pixel_stride": stride, "add_scale": float(first), "residual_scale": float(second),
        "residual_zero": zero_r, "add_zero": zero, "add_low": low, "add_high": high,
    }  # fmt: skip


def any_case(random: np.random.Generator, target: Target, groups: int, ci: int, co: int) -> tuple[Any, np.ndarray]:
    """A ConvInt8Any: weights over the whole of [-255, 255], as w - z_w of unsigned or signed weights."""
    dtype = dtype_of(target)
    window = geometry(random, groups * ci, groups * co)
    x, whole = image_of(random, dtype, window, groups * ci)
    zero_x = int(random.choice([np.iinfo(dtype).min, np.iinfo(dtype).max]))
    taps = window.kernel_height * window.kernel_width
    w = random.choice(np.array([-255, -128, 127, 255, 3, -1], np.int16), (groups, co, taps, ci))
    bias = random.integers(-5000, 5000, (groups, co))
    pixels = gathered(whole, window, groups * ci, zero_x).reshape(-1, taps, groups, ci)
    acc = bias + np.einsum("ptgc,gotc->pgo", pixels, w.astype(np.int64), optimize=True)
    scale = scales(random, acc.reshape(-1, groups * co))
    zero_y, low, high = bounds(random, dtype)
    y = requantized(acc.reshape(-1, groups * co), scale, low, high, zero_y)
    empty, full = stored(y.astype(dtype), window, groups * co)
    arguments = ConvInt8Any(
        window=window, x=x, weights=w, bias=bias.astype(np.int32), scale=scale, y=empty, groups=groups, in_channels=ci, out_channels=co,
        zero_x=zero_x, zero_y=zero_y, low=low, high=high,
    )  # fmt: skip
    return arguments, full


def depthwise_case(
    random: np.random.Generator, target: Target, channels: int, op: str = "", window: Window | None = None, relu: bool = False
) -> tuple[Any, np.ndarray]:
    """A DepthwiseInt8, or with a function a DepthwiseInt8Function, and the output buffer that it must leave. relu: as in conv_case()."""
    dtype = dtype_of(target)
    window = window or geometry(random, channels, channels)
    x, whole = image_of(random, dtype, window, channels)
    zero_x = int(random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1))
    taps = window.kernel_height * window.kernel_width
    w = random.integers(-127, 128, (taps, channels)).astype(np.int8)
    if random.random() < 0.3:
        w = np.where(w < 0, -127, 127).astype(np.int8)
    lone_least(w.T)
    largest = 5000 if op or random.random() < 0.8 else 2**24  # sums that floats cannot count, too
    largest = edge_of_floats(random, taps) if relu else largest
    bias = random.integers(-largest, largest, channels)
    acc = bias + np.einsum("byxtc,tc->byxc", gathered(whole, window, channels, zero_x), w.astype(np.int64))
    scale = scales(random, acc)
    zero_y, low, high = (np.iinfo(dtype).min, np.iinfo(dtype).min, np.iinfo(dtype).max) if relu else bounds(random, dtype)
    scale *= np.float32(0.02 if op else 1)
    y, numbers = _shaped(random, op, acc, scale, low, high, zero_y) if op else (requantized(acc, scale, low, high, zero_y), {})
    empty, full = stored(y.astype(dtype), window, channels)
    folded = bias - zero_x * w.astype(np.int64).sum(axis=0)
    kind: Any = DEPTHWISE_INT8_FUNCTION[op] if op else DepthwiseInt8
    rounding = 0.0 if op else rounding_of(acc, scale, zero_y, (low, high), dtype)
    arguments = kind(
        window=window, x=x, weights=padded(w, 16, 1), bias=padded(folded, 16, 0).astype(np.int32), y=empty, channels=channels,
        zero_x=zero_x, zero_y=zero_y, low=low, high=high, rounding=rounding, **{"scale": padded(scale, 16, 0), **numbers},
    )  # fmt: skip
    return arguments, full
