"""conv_int16 and depthwise_int16 against exact integers, bit for bit, in every vocabulary."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from edgec.kernels import ConvInt16, DepthwiseInt16
from edgec.kernels.conv_int16 import pack_pairs
from edgec.kernels.convolution import pack_panels
from edgec.kernels.depthwise import pack_channels, pack_depthwise
from edgec.program.arguments import Window
from tests.kernels import reference
from tests.kernels.builds import BUILDS
from tests.kernels.driver import Build, Case, run
from tests.kernels.windows import in_count, out_count, splits, stride_of, window

LEAST, MOST = -(2**15), 2**15 - 1
FILL = 0x5A  # what lies between pixels before, and must after


@dataclasses.dataclass(frozen=True)
class Layer:
    """weights: [group][out][tap][in] of -128 to 127; bias: whole numbers, scale: float32, [group][out]."""

    weights: np.ndarray
    bias: np.ndarray
    scale: np.ndarray


def codes(rng: np.random.Generator, count: int, channels: int, stride: int, extreme: bool) -> np.ndarray:
    x = rng.integers(LEAST, MOST, max(0, (count - 1) * stride + channels), np.int16, endpoint=True)
    return np.where(x < 0, LEAST, MOST).astype(np.int16) if extreme else x


def random_layer(rng: np.random.Generator, shape: tuple[int, int, int, int], extreme: bool) -> Layer:
    weights = rng.integers(-128, 127, shape, endpoint=True)
    weights = np.full(shape, -128) if extreme else weights
    bias = rng.integers(-(2**40), 2**40, shape[:2]) // 2 ** int(rng.integers(0, 40))
    return Layer(weights, bias, rng.uniform(0.5, 1, shape[:2]).astype(np.float32) * np.float32(2.0 ** -rng.integers(8, 20)))


def random_case(seed: int) -> tuple[Case, np.ndarray]:
    """A case and the bytes that must lie in y behind it. Some have more than 510 products a sum, some the largest products there are."""
    rng = np.random.default_rng(seed)
    depthwise, extreme = seed % 3 == 2, seed % 5 == 0
    groups = int(rng.integers(1, 71)) if depthwise else int(rng.choice((1, 1, 1, 2, 3)))
    inputs, outputs = (1, 1) if depthwise else (int(n) for n in rng.integers(1, 71 if groups == 1 else 24, 2))
    if seed % 16 == 0:
        groups, inputs, outputs = 1, 1100, int(rng.integers(1, 20))
    elif seed % 16 == 1:
        groups, inputs, outputs = 1, 7, int(rng.integers(100, 300))  # more than one chunk of panels
    depthwise = depthwise and inputs == outputs == 1
    in_stride, out_stride = stride_of(rng, inputs * groups), stride_of(rng, outputs * groups)
    w = window(rng, in_stride, out_stride, pointwise=rng.random() < 0.3)
    if depthwise and seed % 9 == 2:
        w = Window(1, 18, 19, in_stride, 2, 3, out_stride, 17, 17, 1, 1, 1, 1, 0, 0)  # more taps than int32 has room for
    layer = random_layer(rng, (groups, outputs, w.kernel_height * w.kernel_width, inputs), extreme)
    x = codes(rng, in_count(w), inputs * groups, in_stride, extreme)
    size = (1, 2, 4)[seed % 3 if not depthwise else seed // 3 % 3]
    dtype = {1: np.uint8, 2: np.int16, 4: np.float32}[size]
    y = np.full(max(0, (out_count(w) - 1) * out_stride + outputs * groups) * size, FILL, np.uint8).view(dtype)
    ends = np.iinfo(dtype) if size < 4 else np.iinfo(np.int16)
    low, high = np.sort(rng.integers(ends.min, ends.max, 2, endpoint=True)) if rng.random() < 0.5 else (ends.min, ends.max)
    zero_x, zero_y = int(rng.integers(LEAST, MOST, endpoint=True)), int(rng.integers(ends.min, ends.max, endpoint=True))
    bounds = zero_x, zero_y, int(low), int(high)
    want = expected(w, x, y, layer, bounds)
    if depthwise:
        weights, places = (
            pack_depthwise(layer.weights.astype(np.int8)),
            map(pack_channels, (layer.bias.astype(np.float64), layer.scale)),
        )
        return Case(DepthwiseInt16(w, x, weights, *places, y, size, groups, *bounds), splits(rng)), want
    folded = (layer.bias - zero_x * layer.weights.sum((2, 3))).astype(np.float64)
    arguments = w, x, pack_pairs(layer.weights), pack_panels(folded), pack_panels(layer.scale), y, size
    return Case(ConvInt16(*arguments, groups, inputs, outputs, *bounds), splits(rng)), want


def expected(w: Window, x: np.ndarray, y: np.ndarray, layer: Layer, bounds: tuple[int, int, int, int]) -> np.ndarray:
    groups, outputs, _, inputs = layer.weights.shape
    zero_x, zero_y, low, high = bounds
    image = reference.image(w, x, groups * inputs).astype(np.int64) - zero_x
    total = np.broadcast_to(layer.bias, (w.batch, w.out_height, w.out_width, groups, outputs)).astype(np.int64)
    for tap, at, inside in reference.taps(w, image):
        pixels = np.where(inside, at, 0).reshape(*total.shape[:3], groups, inputs)
        total = total + np.einsum("bhwgi,goi->bhwgo", pixels, layer.weights[:, :, tap])
    v = total.astype(np.float32) * layer.scale
    if y.dtype != np.float32:
        v = np.clip(np.rint(v), low - zero_y, high - zero_y).astype(np.int64) + zero_y
    return reference.place(w, y, v.reshape(*total.shape[:3], -1).astype(y.dtype))


@cache
def random_cases() -> list[tuple[Case, np.ndarray]]:
    return [random_case(seed) for seed in range(96)]


@pytest.mark.parametrize("build", BUILDS, ids=str)
def test_random_products(build: Build, shared: Path) -> None:
    cases = [(case, want) for case, want in random_cases() if not (build.signed and want.dtype == np.uint8)]
    answers = run(build, [case for case, _ in cases], shared)
    for (case, want), got in zip(cases, answers, strict=True):
        assert got.tobytes() == want.tobytes(), case.arguments
