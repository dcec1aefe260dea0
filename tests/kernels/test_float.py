"""conv_float and depthwise_float against float64 numpy, in every vocabulary."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from edgec.kernels import ConvFloat, DepthwiseFloat
from edgec.kernels.conv_float import SET_PERIOD, VARIANTS, VECTOR
from edgec.kernels.convolution import PANELS_PER_ITEM
from edgec.kernels.few_outputs import FEW
from edgec.kernels.vectors import TALL, TILES, VectorTile
from edgec.kernels.winograd_float import WINOGRAD
from edgec.program.arguments import LANES, PIXEL_BLOCK, Window
from tests.kernels import reference
from tests.kernels.builds import BUILDS
from tests.kernels.driver import Build, Case, run
from tests.kernels.windows import in_count, out_count, pixels, splits, stride_of, window

LIMITS = ((-np.inf, np.inf), (0.0, np.inf), (0.0, 6.0), (-0.5, 0.25))


def limits(rng: np.random.Generator) -> tuple[float, float]:
    low, high = LIMITS[rng.integers(len(LIMITS))]
    return float(low), float(high)


def random_conv(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    groups = int(rng.choice((1, 1, 1, 2, 3)))
    inputs, outputs = (int(n) for n in rng.integers(1, 71 if groups == 1 else 24, 2))
    if seed % 16 == 0:
        groups, inputs, outputs = 1, 7, int(rng.integers(100, 300))  # more than one chunk of panels
    if seed % 32 in (6, 19):
        groups, inputs, outputs = 1, int(rng.integers(230, 300)), int(rng.integers(290, 330))  # many weights, of both widths of tiles
    in_stride, out_stride, r_stride = (stride_of(rng, n * groups) for n in (inputs, outputs, outputs))
    if seed % 4 == 2:
        in_stride = SET_PERIOD // 4  # a variant of its own
    if seed % 8 == 5:
        groups, inputs = 1, int(rng.integers(1, VECTOR + 1))
        in_stride = inputs  # another one
    w = window(rng, in_stride, out_stride, pointwise=rng.random() < 0.3)
    if seed % 16 == 1:
        w = dataclasses.replace(w, batch=1, in_height=1, in_width=1, out_height=1, out_width=1)
    x = pixels(rng, in_count(w), inputs * groups, in_stride)
    panels, taps = -(-outputs // LANES), w.kernel_height * w.kernel_width
    weights = np.zeros((groups, panels, taps, inputs, LANES), np.float32)
    bias = np.zeros((groups, panels * LANES), np.float32)
    for channel in range(outputs):
        weights[:, channel // LANES, :, :, channel % LANES] = rng.standard_normal((groups, taps, inputs))
        bias[:, channel] = rng.standard_normal(groups)
    y = pixels(rng, out_count(w), outputs * groups, out_stride)
    residual = pixels(rng, out_count(w), outputs * groups, r_stride) if rng.random() < 0.4 else None
    layer = ConvFloat(w, x, weights, bias, y, residual, r_stride, groups, inputs, outputs, *limits(rng))
    walks = {"held_panels": PANELS_PER_ITEM * int(rng.integers(1, 4)), "fetches": int(rng.integers(2))}
    return Case(dataclasses.replace(layer, **walks), splits(rng))


def random_depthwise(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    channels = int(rng.integers(1, 71))
    in_stride, out_stride = stride_of(rng, channels), stride_of(rng, channels)
    w = window(rng, in_stride, out_stride, square=seed % 2 == 1)
    padded = -(-channels // LANES) * LANES
    weights = np.zeros((w.kernel_height * w.kernel_width, padded), np.float32)
    bias = np.zeros(padded, np.float32)
    weights[:, :channels] = rng.standard_normal((len(weights), channels))
    bias[:channels] = rng.standard_normal(channels)
    x, y = pixels(rng, in_count(w), channels, in_stride), pixels(rng, out_count(w), channels, out_stride)
    return Case(DepthwiseFloat(w, x, weights, bias, y, channels, *limits(rng)), splits(rng))


def expected(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """y in float64, and the bound of its rounding errors; both with what lay in y between the pixels."""
    a = case.arguments
    total, size = (conv_sums if isinstance(a, ConvFloat) else depthwise_sums)(a)
    y = a.y.astype(np.float64)
    value = reference.place(a.window, y, np.clip(total, a.low, a.high))
    return value, reference.place(a.window, np.zeros_like(y), size * 1e-6)


def conv_sums(a: ConvFloat) -> tuple[np.ndarray, np.ndarray]:
    """bias + sum x * w + residual, and the same of absolute values."""
    w, groups = a.window, a.groups
    x = reference.image(w, a.x, groups * a.in_channels).astype(np.float64)
    weights, biases = np.asarray(a.weights, np.float64), np.asarray(a.bias, np.float64)
    parts, sizes = [], []
    for group in range(groups):
        filters = np.moveaxis(weights[group], 0, 2).reshape(*weights.shape[2:4], -1)[..., : a.out_channels]  # [tap][in][out]
        bias = biases[group, : a.out_channels]
        shape = (w.batch, w.out_height, w.out_width, a.out_channels)
        total, size = np.broadcast_to(bias, shape).copy(), np.broadcast_to(abs(bias), shape).copy()
        for tap, at, inside in reference.taps(w, x[..., group * a.in_channels : (group + 1) * a.in_channels]):
            total += np.where(inside, at, 0) @ filters[tap]
            size += np.where(inside, abs(at), 0) @ abs(filters[tap])
        parts.append(total)
        sizes.append(size)
    total, size = np.concatenate(parts, -1), np.concatenate(sizes, -1)
    if a.residual is not None:
        residual = stored(w, a.residual, a.residual_pixel_stride, total.shape[-1])
        total, size = total + residual, size + abs(residual)
    return total, size


def stored(w: Window, y: np.ndarray, stride: int, channels: int) -> np.ndarray:
    """An output-shaped image."""
    return reference.image(dataclasses.replace(w, in_height=w.out_height, in_width=w.out_width, in_pixel_stride=stride), y, channels)


def depthwise_sums(a: DepthwiseFloat) -> tuple[np.ndarray, np.ndarray]:
    x = reference.image(a.window, a.x, a.channels).astype(np.float64)
    weights, bias = np.asarray(a.weights, np.float64)[:, : a.channels], np.asarray(a.bias, np.float64)[: a.channels]
    total: np.ndarray = bias
    size: np.ndarray = abs(bias)
    for tap, at, inside in reference.taps(a.window, x):
        total = total + np.where(inside, at, 0) * weights[tap]
        size = size + np.where(inside, abs(at), 0) * abs(weights[tap])
    return total, size


@cache
def random_cases() -> list[tuple[Case, tuple[np.ndarray, np.ndarray]]]:
    cases = [random_conv(seed) for seed in range(96)] + [random_depthwise(seed) for seed in range(96)]
    others = (FEW, WINOGRAD)  # whose weights are packed otherwise
    cases = [case for case in cases if not isinstance(case.arguments, ConvFloat) or not any(one.admits(case.arguments) for one in others)]
    return [(case, expected(case)) for case in cases]


@pytest.mark.parametrize("build", BUILDS, ids=str)
def test_random_cases(build: Build, shared: Path) -> None:
    answers = run(build, [case for case, _ in random_cases()], shared)
    for (case, (want, error)), got in zip(random_cases(), answers, strict=True):
        between = np.isnan(want)
        assert np.array_equal(np.isnan(got), between), case.arguments
        assert (abs(got - want)[~between] <= error[~between]).all(), (case.arguments, np.nanmax(abs(got - want) / error))


def test_all_ways_but_those_of_other_weights_are_among_the_cases() -> None:
    ways = [way for way in VARIANTS if way not in (FEW, WINOGRAD)]
    layers = [case.arguments for case, _ in random_cases() if isinstance(case.arguments, ConvFloat)]
    chosen = (next(way for way in ways if way.can(name) and way.admits(a)) for a in layers for name in ("avx512vnni", "avx2", "neon"))
    assert {way.name for way in chosen} == {way.name for way in ways}


@pytest.mark.parametrize("pixels_across", [30, 300])
def test_the_order_of_reading_changes_no_bit(pixels_across: int, shared: Path) -> None:
    """With work divided by pixels, and by panels."""
    inputs, outputs, rng = 250, 390, np.random.default_rng(0)
    w = Window(1, 1, pixels_across, inputs, 1, pixels_across, outputs, 1, 1, 1, 1, 1, 1, 0, 0)
    x, weights, bias, y = (
        rng.standard_normal(shape).astype(np.float32)
        for shape in (
            (pixels_across * inputs,),
            (1, -(-outputs // LANES), 1, inputs, LANES),
            (1, -(-outputs // LANES) * LANES),
            (pixels_across * outputs,),
        )
    )
    plain = ConvFloat(w, x, weights, bias, y, None, 0, 1, inputs, outputs, -np.inf, np.inf)  # type: ignore[arg-type]
    layers = [dataclasses.replace(plain, held_panels=PANELS_PER_ITEM * held, fetches=held % 2) for held in (1, 2, 3, 4)]
    for vocabulary in ("avx2", "avx512vnni"):
        answers = run(Build(vocabulary), [Case(layer, parts) for layer in layers for parts in ((), (5000,), (3000, 9000))], shared)
        assert all(np.array_equal(answers[0], answer) for answer in answers)


def test_not_a_number_passes_the_clamp_of_a_convolution(shared: Path) -> None:
    a = random_conv(2).arguments
    assert isinstance(a, ConvFloat)
    a = dataclasses.replace(a, x=np.full_like(a.x, np.nan), low=0.0, high=6.0)
    seen = sum(inside for _, _, inside in reference.taps(a.window, np.zeros((1, a.window.in_height, a.window.in_width, 1))))
    for vocabulary in ("portable", "sse41", "avx2", "avx512vnni"):
        y = run(Build(vocabulary), [Case(a)], shared)[0]
        value = stored(a.window, y, a.window.out_pixel_stride, a.groups * a.out_channels)
        assert np.array_equal(np.isnan(value), np.broadcast_to(seen > 0, value.shape))


@pytest.mark.parametrize("tile", [*TILES.values(), *TALL.values()], ids=str)
def test_tiles_stay_within_the_pointers_of_a_block(tile: VectorTile) -> None:
    steps = tile.steps
    for count in range(1, PIXEL_BLOCK + 1):
        first = 0
        while first < count:
            height = steps[count - first]
            assert 0 < height <= PIXEL_BLOCK - first
            first += height
