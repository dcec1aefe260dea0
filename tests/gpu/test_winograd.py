"""Winograd's convolutions: where they are taken, and what their shaders compute, on lavapipe and in Metal's language."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from edgec.emit.gpu.dialect import Glsl, Metal
from edgec.emit.gpu.kernels_float import float_shader
from edgec.emit.gpu.shader import Shader
from edgec.kernels import ConvFloat
from edgec.kernels.gpu.geometry import geometry
from edgec.kernels.gpu.limits import MOST_INVOCATIONS, MOST_SHARED_BYTES
from edgec.kernels.gpu.squares import SquarePlan, Squares
from edgec.program.arguments import LANES, Window
from edgec.program.program import Shading
from edgec.schedule.gpu import shading
from edgec.schedule.gpu.squares import SHAPES, plan_squares, with_depths
from tests.contract.examiner import WHOLE
from tests.gpu.cases import Layout, lay_out, with_shading
from tests.gpu.lavapipe import Step, run_steps
from tests.gpu.msl.lint import complaints
from tests.gpu.msl.run import ORDERS, run_metal
from tests.gpu.test_kernels_float import check, conv, image
from tests.kernels.driver import Case
from tests.kernels.test_float import limits
from tests.kernels.windows import in_count, out_count, pixels, stride_of

TILES = tuple(with_depths())
ONE_OF_EACH = [next(tile for tile in TILES if replace(tile, depth=0) == shape) for shape in SHAPES]
USUAL = {"height": 56, "width": 56, "inputs": 64, "outputs": 64}


def random_case(seed: int) -> Case:
    """Odd sizes, any padding, concatenated pixels, sometimes a residual, a panel's lanes in part."""
    rng = np.random.default_rng(seed)
    inputs, outputs = (int(n) for n in rng.integers(1, 71, 2))
    before, after = rng.integers(0, 3, 2), rng.integers(0, 3, 2)
    height, width = (int(max(n, 3 - sum(pads))) for n, pads in zip(rng.integers(1, 14, 2), zip(before, after, strict=True), strict=True))
    out = (int(n + pads - 2) for n, pads in zip((height, width), before + after, strict=True))
    in_stride, out_stride, other_stride = (stride_of(rng, n) for n in (inputs, outputs, outputs))
    top, left = (int(n) for n in before)
    window = Window(int(rng.integers(1, 3)), height, width, in_stride, *out, out_stride, 3, 3, 1, 1, 1, 1, top, left)
    filters = np.zeros((-(-outputs // LANES) * LANES, 9, inputs), np.float32)
    bias = np.zeros(len(filters), np.float32)
    filters[:outputs], bias[:outputs] = rng.standard_normal((outputs, 9, inputs)), rng.standard_normal(outputs)
    weights = np.ascontiguousarray(filters.reshape(1, -1, LANES, 9, inputs).transpose(0, 1, 3, 4, 2))
    residual = pixels(rng, out_count(window), outputs, other_stride) if seed % 2 else None
    x, y = pixels(rng, in_count(window), inputs, in_stride), pixels(rng, out_count(window), outputs, out_stride)
    return Case(ConvFloat(window, x, weights, bias[None], y, residual, other_stride, 1, inputs, outputs, *limits(rng)))


def with_tile(layout: Layout, tile: Squares, dialect: Glsl | Metal) -> Shader:
    """The shader of a convolution whose tile is decided."""
    a = layout.call.arguments
    assert isinstance(a, ConvFloat)
    g = geometry(a.window)
    plan = SquarePlan(tile, g["batch"], g["out_height"], g["out_width"], a.in_channels, a.out_channels)
    given = with_shading(layout, Shading("squares", plan))
    shader = float_shader(given.program, 0, given.call, dialect)
    assert shader is not None and shader.grid == plan.grid and "first_square" in shader.source
    return shader


def check_on_lavapipe(tiles: Iterable[Squares], seeds: Iterable[int]) -> None:
    cases = [random_case(seed) for seed in seeds]
    layouts = [lay_out(case.arguments) for case in cases]
    shaders = [with_tile(layout, tile, Glsl(False)) for layout, tile in zip(layouts, tiles, strict=True)]
    for case, layout, shader in zip(cases, layouts, shaders, strict=True):
        arena, _ = run_steps([Step(shader.source, shader.grid)], layout.arena, layout.weights, b"")
        check(case, layout.read(arena, "y", case.arguments.y))


@pytest.mark.sampled
def test_every_shape_of_tile_convolves() -> None:
    tiles = TILES * 6 if WHOLE else ONE_OF_EACH
    check_on_lavapipe(tiles, range(len(tiles)))


@pytest.mark.parametrize("tile", TILES if WHOLE else ONE_OF_EACH[2:3], ids=str)
def test_metal_convolves_without_races(tile: Squares) -> None:
    case = random_case(17 + TILES.index(tile))
    layout = lay_out(case.arguments)
    shader = with_tile(layout, tile, Metal(False))
    text = Metal(False).head + shader.source
    assert complaints(text) == []
    for order in ORDERS:
        arena, _ = run_metal(text, shader.name, shader.group, shader.grid, layout.arena, layout.weights, b"", order)
        check(case, layout.read(arena, "y", case.arguments.y))


def test_whoever_sees_not_a_number_becomes_none() -> None:
    """Others of the same square may, too: that is what Winograd's sums do."""
    case = conv(image(7, 9, 5, 6, 3), 5, 6)
    x = case.arguments.x.copy()
    x.reshape(7, 9, 5)[3, 4, 2] = np.nan
    a = replace(case.arguments, x=x, low=0.0, high=6.0)
    layout = lay_out(a)
    shader = with_tile(layout, ONE_OF_EACH[-1], Glsl(False))
    arena, _ = run_steps([Step(shader.source, shader.grid)], layout.arena, layout.weights, b"")
    is_none = np.isnan(layout.read(arena, "y", a.y)).reshape(7, 9, 6)
    near = np.zeros((7, 9), bool)
    near[2:5, 3:6] = True
    assert is_none[near].all() and not is_none[:2].any() and not is_none[6:].any() and not is_none[:, :2].any() and not is_none[:, 6:].any()


def test_tiles_fit_the_smallest_gpu() -> None:
    for tile in TILES:
        assert tile.invocations <= MOST_INVOCATIONS and tile.shared_words * 4 <= MOST_SHARED_BYTES
        assert tile.squares % tile.squares_each == tile.lanes % tile.lanes_each == tile.lanes_each % tile.passes == 0


def planned(height: int, width: int, inputs: int, outputs: int, groups: int = 1, **changed: int) -> SquarePlan | None:
    return plan_squares(geometry(replace(image(height, width, inputs, outputs, 3), **changed)), inputs, outputs, groups)


@pytest.mark.parametrize("changed", [{"stride_width": 2}, {"dilation_height": 2}, {"kernel_width": 5}, {"kernel_height": 1}, {"groups": 2}])
def test_only_plain_3_by_3_convolutions_are_done_so(changed: dict[str, int]) -> None:
    assert planned(**USUAL) is not None and planned(**USUAL, **changed) is None


def test_one_input_channel_is_summed_directly() -> None:
    """It fills a fraction of a step, and the transforms cost as much as for a whole one."""
    assert planned(224, 224, 1, 16) is None


def test_small_maps_take_small_tiles() -> None:
    large, small = planned(**USUAL), planned(8, 8, 64, 64)
    assert large is not None and small is not None
    assert small.tile.squares * small.tile.lanes < large.tile.squares * large.tile.lanes
    assert small.groups * small.tile.invocations >= 2048


def test_loads_are_what_a_step_stages_and_the_ends() -> None:
    """6 x 10 pixels are 15 squares: one group of 16; 20 outputs are one of 32; 6 channels are two steps of 4."""
    plan = SquarePlan(Squares(16, 4, 32, 8, 4), 1, 6, 10, 6, 20)
    assert (plan.squares, plan.grid) == (15, (1, 1, 1))
    assert plan.loads({"x": 1, "weights": 1, "residual": 1}, True) == 8 * (16 * 16 + 9 * 32) + 15 * 20 + 60 * 20
    assert plan.loads({"x": 0.5, "weights": 0.5, "residual": 0.5}, True) == 8 * (16 * 16 / 2 + 9 * 32 / 2) + 15 * 20 + 60 * 20 / 2


def test_fewer_words_are_loaded_than_by_the_direct_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    def shader() -> Shader | None:
        layout = lay_out(conv(image(16, 16, 32, 64, 3), 32, 64).arguments)
        return float_shader(layout.program, 0, layout.call, Glsl(False))

    squares = shader()
    monkeypatch.setattr(shading, "plan_squares", lambda *_: None)
    direct = shader()
    assert squares is not None and direct is not None and squares.macs == direct.macs
    assert "first_square" in squares.source and "first_square" not in direct.source and squares.loads < direct.loads
