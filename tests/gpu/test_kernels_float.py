"""The shaders of float template kernels on lavapipe, against numpy and the C kernels' own cases."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest

from edgec.emit.gpu.dialect import Glsl
from edgec.emit.gpu.kernels_float import float_shader, literal
from edgec.emit.gpu.shader import Shader
from edgec.kernels import ConvFloat, PoolAverageFloat, PoolMaxFloat
from edgec.kernels.gpu.tiles import Tile
from edgec.program.arguments import LANES, Window
from edgec.schedule.gpu import shading
from edgec.schedule.gpu.tiles import TILES, choose_tile
from tests.gpu.cases import Layout, lay_out
from tests.gpu.lavapipe import VARIANTS, Step, run_steps
from tests.kernels import reference, test_pools
from tests.kernels.driver import Case
from tests.kernels.test_float import expected, random_conv, random_depthwise
from tests.kernels.windows import in_count, out_count, pixels


def shader_of(layout: Layout) -> Shader:
    shader = float_shader(layout.program, 0, layout.call, Glsl(False))
    assert shader is not None
    return shader


def answers(cases: Sequence[Case], variant: str = "base") -> list[np.ndarray]:
    """What each case's shader leaves in y; nothing around y may change."""
    found = []
    for case in cases:
        layout, y = lay_out(case.arguments), case.arguments.y
        shader = shader_of(layout)
        arena, _ = run_steps([Step(shader.source, shader.grid)], layout.arena, layout.weights, b"", variant)
        found.append(layout.read(arena, "y", y))
        at = layout.program.buffers["y"].address
        assert arena[:at] + arena[at + y.nbytes :] == layout.arena[:at] + layout.arena[at + y.nbytes :]
    return found


def check(case: Case, got: np.ndarray) -> None:
    """Within the rounding errors of the terms' size; between pixels nothing is written."""
    want, error = expected(case)
    between = np.isnan(want)
    assert np.array_equal(np.isnan(got), between), case.arguments
    assert (abs(got - want)[~between] <= 3 * error[~between]).all(), (case.arguments, np.nanmax(abs(got - want) / error))


def conv(window: Window, inputs: int, outputs: int, seed: int = 0) -> Case:
    rng = np.random.default_rng(seed)
    panels, taps = -(-outputs // LANES), window.kernel_height * window.kernel_width
    weights = rng.standard_normal((1, panels, taps, inputs, LANES)).astype(np.float32)
    x, y = pixels(rng, in_count(window), inputs, inputs), pixels(rng, out_count(window), outputs, outputs)
    bias = rng.standard_normal((1, panels * LANES)).astype(np.float32)
    return Case(ConvFloat(window, x, weights, bias, y, None, 0, 1, inputs, outputs, -np.inf, np.inf))


def image(height: int, width: int, inputs: int, outputs: int, kernel: int = 1, stride: int = 1) -> Window:
    pad = kernel // 2
    out = ((size + 2 * pad - kernel) // stride + 1 for size in (height, width))
    return Window(1, height, width, inputs, *out, outputs, kernel, kernel, stride, stride, 1, 1, pad, pad)


@pytest.mark.parametrize("seed", range(20))
def test_random_convolutions(seed: int) -> None:
    case = random_conv(seed)
    check(case, answers([case])[0])


@pytest.mark.parametrize("seed", range(12))
def test_random_depthwise_convolutions(seed: int) -> None:
    case = random_depthwise(seed)
    check(case, answers([case])[0])


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_every_tile_computes_whole_and_broken_tiles(tile: Tile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shading, "plan_squares", lambda *_: None)
    depths = [depth for depth in (8, 64) if depth % tile.slices == tile.invocations % depth == 0]
    for depth in depths or [16]:
        chosen = dataclasses.replace(tile, depth=depth)
        if chosen.shared_words * 4 > 16384:
            continue
        monkeypatch.setattr(shading, "choose_tile", lambda *_, chosen=chosen: chosen)
        for window, inputs, outputs in ((image(8, 16, 64, 64), 64, 64), (image(7, 11, 5, 70, 3), 5, 70), (image(9, 9, 3, 17), 3, 17)):
            case = conv(window, inputs, outputs)
            check(case, answers([case])[0])


def test_every_variant_computes_the_same_kernel() -> None:
    cases = [random_conv(3), random_depthwise(3)]
    for variant in VARIANTS:
        for case, got in zip(cases, answers(cases, variant), strict=True):
            check(case, got)


@pytest.mark.parametrize("count", [1, 3, 9])
def test_products_of_few_rows_share_out_their_terms(count: int) -> None:
    case = conv(image(1, count, 301, 40), 301, 40)
    assert choose_tile(count, 40, 301, 1).slices > 1
    check(case, answers([case])[0])


def test_not_a_number_passes_the_clamp_of_a_convolution() -> None:
    for case in (random_conv(2), random_conv(1)):
        a = dataclasses.replace(case.arguments, x=np.full_like(case.arguments.x, np.nan), low=0.0, high=6.0)
        seen = sum(inside for _, _, inside in reference.taps(a.window, np.zeros((1, a.window.in_height, a.window.in_width, 1))))
        window = dataclasses.replace(
            a.window, in_height=a.window.out_height, in_width=a.window.out_width, in_pixel_stride=a.window.out_pixel_stride
        )
        value = reference.image(window, answers([Case(a)])[0], a.groups * a.out_channels)
        assert np.array_equal(np.isnan(value), np.broadcast_to(seen > 0, value.shape))


@pytest.mark.parametrize("kind", [PoolMaxFloat, PoolAverageFloat])
def test_random_pools(kind: type) -> None:
    """Seeds divisible by 3 and not by 5 have normal numbers only; infinities and NaNs are the others'."""
    cases = [test_pools.random_pool(kind, seed, False) for seed in (*range(3, 30, 6), 1, 2, 4)]
    for case, got in zip(cases, answers(cases), strict=True):
        want = test_pools.expected(case.arguments)
        np.testing.assert_allclose(got, want, 1e-5, 2e-37 if kind is PoolMaxFloat else 1e-4)


def test_shared_memory_saves_most_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shading, "plan_squares", lambda *_: None)
    case = conv(image(16, 16, 32, 64, 3), 32, 64)
    layout = lay_out(case.arguments)
    shader = shader_of(layout)
    assert shader.shared_bytes <= 16384
    products = 256 * 64 * 9 * 32
    assert (256 + 64) * 9 * 32 < shader.loads < products / 4


def test_a_dispatch_too_large_for_a_device_stays_on_the_processor() -> None:
    window = Window(1, 70000, 4, 4, 70000, 4, 4, 1, 1, 1, 1, 1, 1, 0, 0)
    a = PoolMaxFloat(window, np.zeros(70000 * 16, np.float32), np.zeros(70000 * 16, np.float32), 4)
    layout = lay_out(a)
    assert float_shader(layout.program, 0, layout.call, Glsl(False)) is None


@pytest.mark.parametrize("value", [0.0, 6.0, -0.5, 0.1, 3.4028235e38, 1e-30, -np.inf, 1e-40, np.nan])
def test_literals_are_the_value(value: float) -> None:
    text = literal(value).strip("()f")
    number = np.uint32(int(literal(value)[9:-2], 16)).view(np.float32) if literal(value).startswith("float_of") else np.float32(text)
    np.testing.assert_array_equal(number, np.float32(value))
