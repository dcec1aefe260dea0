"""Float convolutions of few outputs against float64 numpy: the same layers as by panels, with weights packed for them."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from edgec.kernels import ConvFloat
from edgec.kernels.few_outputs import FEW, LEAST_PRODUCTS, MOST, TILES
from edgec.schedule.choice import variant_of
from edgec.targets import load_target
from tests.kernels.builds import BUILDS, SANITIZE
from tests.kernels.driver import Build, Case, run
from tests.kernels.test_float import expected, limits
from tests.kernels.windows import in_count, out_count, pixels, splits, stride_of, window

COMPUTING = (*(build for build in BUILDS if build.vocabulary in TILES), Build("avx2", flags=SANITIZE))


def random_layer(seed: int) -> tuple[Case, ConvFloat]:
    """A case with weights for this variant, and the layer with those of panels."""
    rng = np.random.default_rng(seed)
    outputs = int(rng.integers(1, MOST + 1))
    in_stride = stride_of(rng, inputs := int(rng.integers(16, 100)))
    out_stride, residual_stride = stride_of(rng, outputs), stride_of(rng, outputs)
    w = window(rng, in_stride, out_stride, pointwise=seed % 4 == 3)
    if seed % 4 == 3:
        in_stride = stride_of(rng, inputs := LEAST_PRODUCTS + int(rng.integers(0, 40)))
        w = dataclasses.replace(w, in_pixel_stride=in_stride)
    elif w.kernel_height * w.kernel_width * inputs < LEAST_PRODUCTS:
        w = dataclasses.replace(w, kernel_height=5, kernel_width=4)
    x, y = pixels(rng, in_count(w), inputs, in_stride), pixels(rng, out_count(w), outputs, out_stride)
    taps = w.kernel_height * w.kernel_width
    plain, bias = rng.standard_normal((1, outputs, taps, inputs), np.float32), rng.standard_normal((1, outputs), np.float32)
    residual = pixels(rng, out_count(w), outputs, residual_stride) if seed % 2 else None
    low, high = limits(rng)
    layer = ConvFloat(w, x, plain, bias, y, residual, residual_stride, 1, inputs, outputs, low, high)  # type: ignore[arg-type]
    panels = np.zeros((1, 1, taps, inputs, 16), np.float32)
    panels[0, 0, :, :, :outputs] = np.moveaxis(plain[0], 0, -1)
    packed = {name: pack(layer, getattr(layer, name), 1) for name, pack in FEW.packing.pack.items()}
    direct = dataclasses.replace(layer, weights=panels, bias=packed["bias"].reshape(1, -1))
    return Case(dataclasses.replace(layer, **packed), splits(rng)), direct


@cache
def layers() -> list[tuple[Case, tuple[np.ndarray, np.ndarray]]]:
    return [(case, expected(Case(direct))) for case, direct in map(random_layer, range(24))]


@pytest.mark.parametrize("build", COMPUTING, ids=str)
def test_random_layers(build: Build, shared: Path) -> None:
    answers = run(build, [case for case, _ in layers()], shared)
    for (case, (want, error)), got in zip(layers(), answers, strict=True):
        assert FEW.admits(case.arguments)
        between = np.isnan(want)
        assert np.array_equal(np.isnan(got), between)
        assert (abs(got - want)[~between] <= error[~between]).all(), np.nanmax(abs(got - want) / error)


def test_where_it_is_taken() -> None:
    """Where all instruction sets of the package have it; not for five outputs, nor for few products."""
    arguments = random_layer(0)[0].arguments
    assert variant_of(arguments, load_target("x86-64")) is FEW
    assert variant_of(arguments, load_target("linux-arm64")) is not FEW
    assert variant_of(dataclasses.replace(arguments, out_channels=MOST + 1), load_target("x86-64")) is not FEW
    assert not FEW.admits(
        dataclasses.replace(arguments, window=dataclasses.replace(arguments.window, kernel_height=1, kernel_width=1), in_channels=16)
    )
