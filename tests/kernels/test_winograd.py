"""Float convolutions by Winograd against float64 numpy: the same layers as by panels, with weights packed for it."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from edgec.kernels import ConvFloat
from edgec.kernels.winograd_float import FLOATS, TILES, WINOGRAD
from edgec.program.arguments import Window
from tests.kernels.builds import BUILDS, SANITIZE
from tests.kernels.driver import Build, Case, run
from tests.kernels.test_float import expected, limits
from tests.kernels.windows import in_count, out_count, pixels, splits, stride_of

ERROR = 1e-5  # of the size of the terms: the transforms amplify rounding errors by some ten
MARKS = dict.fromkeys(("dotprod", "i8mm"), pytest.mark.thorough)  # whose floats are neon's
COMPUTING = (
    *(pytest.param(build, marks=MARKS.get(build.vocabulary, ())) for build in BUILDS if build.vocabulary in TILES),
    Build("sse41", flags=SANITIZE),
    pytest.param(Build("avx512vnni", flags=SANITIZE), marks=pytest.mark.thorough),
)


def random_layer(seed: int) -> tuple[Case, ConvFloat]:
    """A case with weights for Winograd, and the layer with those of panels."""
    rng = np.random.default_rng(seed)
    inputs, outputs = (int(n) for n in rng.integers(33, 90, 2))
    height, width = (int(n) for n in rng.integers(16, 30, 2))
    top, left, bottom, right = (int(n) for n in rng.integers(0, 3, 4))
    in_stride, out_stride, residual_stride = (stride_of(rng, n) for n in (inputs, outputs, outputs))
    out = height + top + bottom - 2, width + left + right - 2
    w = Window(int(rng.integers(1, 3)), height, width, in_stride, *out, out_stride, 3, 3, 1, 1, 1, 1, top, left)
    x, y = pixels(rng, in_count(w), inputs, in_stride), pixels(rng, out_count(w), outputs, out_stride)
    plain, bias = rng.standard_normal((1, outputs, 9, inputs), np.float32), rng.standard_normal((1, outputs), np.float32)
    residual = pixels(rng, out_count(w), outputs, residual_stride) if seed % 2 else None
    low, high = limits(rng)
    layer = ConvFloat(w, x, plain, bias, y, residual, residual_stride, 1, inputs, outputs, low, high)  # type: ignore[arg-type]
    panels = np.zeros((1, -(-outputs // 16), 9, inputs, 16), np.float32)
    for channel in range(outputs):
        panels[0, channel // 16, :, :, channel % 16] = plain[0, channel]
    packed = {name: pack(layer, getattr(layer, name), 1) for name, pack in WINOGRAD.packing.pack.items()}
    direct = dataclasses.replace(layer, weights=panels, bias=packed["bias"].reshape(1, -1))
    return Case(dataclasses.replace(layer, **packed), splits(rng)), direct


@cache
def layers() -> list[tuple[Case, tuple[np.ndarray, np.ndarray]]]:
    return [(case, expected(Case(direct))) for case, direct in map(random_layer, range(8))]


@pytest.mark.parametrize("build", COMPUTING, ids=str)
def test_random_layers(build: Build, shared: Path) -> None:
    answers = run(build, [case for case, _ in layers()], shared)
    for (case, (want, size)), got in zip(layers(), answers, strict=True):
        assert WINOGRAD.admits(case.arguments)
        between = np.isnan(want)
        assert np.array_equal(np.isnan(got), between)
        assert (abs(got - want)[~between] <= ERROR / 1e-6 * size[~between]).all(), np.nanmax(abs(got - want) / size)


@pytest.mark.parametrize("build", [build for build in BUILDS if build.vocabulary in TILES][:1], ids=str)
def test_however_work_is_divided_the_bits_are_the_same(build: Build, shared: Path) -> None:
    cases = [case for case, _ in layers()]
    divided = [run(build, [Case(case.arguments, parts) for case in cases], shared) for parts in ((), (1, 2, 3), tuple(range(1, 40)))]
    for whole, *others in zip(*divided, strict=True):
        assert all(other.tobytes() == whole.tobytes() for other in others)


def test_small_maps_and_few_channels_gain_nothing() -> None:
    """A tile reaches over the end of the map, and its transforms are for all channels."""
    arguments = random_layer(0)[0].arguments
    assert isinstance(arguments, ConvFloat)
    small = dataclasses.replace(arguments.window, in_height=1, in_width=1, out_height=1, out_width=1)
    assert FLOATS.gain(arguments) > 1.5 > 1 > FLOATS.gain(dataclasses.replace(arguments, window=small))
    assert FLOATS.gain(dataclasses.replace(arguments, in_channels=3, out_channels=8)) < 1
