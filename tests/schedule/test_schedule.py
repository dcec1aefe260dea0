"""Scheduling as text: every template call says what computes it with each instruction set of the target, and how its work divides."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from edgec.emit.kernels import is_of_halves
from edgec.emit.vocabularies import VOCABULARIES
from edgec.frontend import from_proto
from edgec.kernels import VARIANTS, ConvFloat, ConvInt8, Variant
from edgec.kernels.conv_int8_variants import MERGED, WINOGRAD_LARGE, WINOGRAD_NARROW
from edgec.kernels.conv_int8_variants import WINOGRAD as INT8_WINOGRAD
from edgec.kernels.convolution import panel_count, round_up
from edgec.kernels.matrix_int8 import input_multiple
from edgec.kernels.winograd_float import WINOGRAD
from edgec.kernels.winograd_int8 import LARGE_TILES, WinogradTile, image_tiles
from edgec.kernels.winograd_int8 import TILES as INT8_TILES
from edgec.lower import lower
from edgec.passes import optimize
from edgec.program.arguments import Window
from edgec.program.expr import bound, const
from edgec.program.memory import OutOfMemory, prove_memory
from edgec.program.program import Program, TemplateCall
from edgec.program.text import dumps
from edgec.schedule import schedule
from edgec.schedule.choice import choose, variant_of, variants
from edgec.targets import load_target
from tests.contract.subjects import random_net
from tests.nets import Net


def float_program(target: str) -> Program:
    net = Net("net", 1, (1, 3, 12, 12))
    weights = net.normal(20, 3, 3, 3)
    x = net.node("Conv", ["x", weights, net.constant(np.zeros(20, np.float32))], 20, kernel_shape=[3, 3])
    graph = from_proto(net.model(net.node("Conv", [x, net.normal(20, 1, 3, 3)], 20, kernel_shape=[3, 3], group=20))).graph
    optimize(graph)
    return schedule(lower(graph, load_target(target), "net"), load_target(target))


def choices(program: Program) -> list[str]:
    """How each template call is computed, as the text of the Program has it."""
    return [line for line in dumps(program).splitlines() if re.match("kernel |  with ", line)]


def test_a_call_says_what_computes_it_with_each_instruction_set() -> None:
    assert choices(float_program("x86-64")) == [
        "kernel net_Conv_0_call = conv_float_tall  items 30  scratch 4096  weights panels of 16",
        "  with sse41: panels  lanes 4  rows 6,4,1  widths 2  depth 1  around False  held 0  merged False  stretch 0  ahead 0",
        "  with avx2: panels  lanes 8  rows 6,4,1  widths 2  depth 1  around False  held 0  merged False  stretch 0  ahead 0",
        "  with avxvnni: panels  lanes 8  rows 6,4,1  widths 2  depth 1  around False  held 0  merged False  stretch 0  ahead 0",
        "  with avx512vnni: tall  lanes 16  rows 14,7,1  widths 2,1  depth 1  around False  held 0  merged False  stretch 0  ahead 0",
        "kernel net_Conv_1_call = depthwise_float  items 8  scratch 0  weights blocks of 16",
        "  with sse41: rows  pixels 4",
        "  with avx2: rows  pixels 4",
        "  with avxvnni: rows  pixels 4",
        "  with avx512vnni: rows  pixels 8",
    ]


def test_a_call_says_what_its_shader_makes() -> None:
    """Of targets with a GPU."""
    program = float_program("linux-vulkan")
    assert [line for line in dumps(program).splitlines() if line.startswith("  shaded")] == [
        "  shaded by tiles  pixels 4  pixels_each 1  lanes 16  slices 8  depth 32",
    ]
    assert "shaded" not in dumps(float_program("x86-64"))


def test_what_is_computed_stays_as_it_was_lowered() -> None:
    net, target = random_net("mobilenet"), load_target("x86-64")
    lowered = lower(net.graph, target, "net")
    before = dumps(lowered)
    done = schedule(lowered, target)
    assert dumps(lowered) == before, "scheduling changes no Program, it makes another"
    assert [call.call for call in done.calls] == [call.call for call in lowered.calls]
    for call in done.calls:
        if isinstance(call, TemplateCall):
            assert [chosen.vocabulary for chosen in call.chosen] == list(target.vocabularies)


@pytest.mark.parametrize("kind", VARIANTS, ids=lambda kind: kind.kernel)
def test_every_instruction_set_has_a_variant_of_every_kernel(kind: type) -> None:
    everything = replace(load_target("portable"), vocabularies=tuple(VOCABULARIES))
    for vocabulary, words in VOCABULARIES.items():
        for variant in variants(kind, everything) if words.half or not is_of_halves(kind) else ():
            assert choose(kind, variant, vocabulary, everything).vocabulary == vocabulary


def test_an_instruction_set_without_a_variant_is_named() -> None:
    with pytest.raises(LookupError, match="no variant of conv_int8 is for mips"):
        choose(ConvInt8, VARIANTS[ConvInt8][-1], "mips", load_target("portable"))


def test_instruction_sets_that_share_weights_agree_on_their_padding() -> None:
    """NEON takes eight inputs a step, SSE4.1 four: in one package both read what is padded to eight."""
    alone, together = (choose(ConvInt8, VARIANTS[ConvInt8][-1], "sse41", load_target(name)) for name in ("x86-64", "universal"))
    assert (alone.multiple, together.multiple) == (4, 8) and alone.tile == together.tile


def test_weights_that_only_some_variants_read_are_for_packages_where_all_can() -> None:
    """WebAssembly has no row for Winograd, and shaders read the weights as the last variant does."""
    *_, last = VARIANTS[ConvFloat]
    everything = replace(load_target("x86-64"), vocabularies=("sse41", "wasm128"))
    assert WINOGRAD in variants(ConvFloat, load_target("x86-64"))
    for target in (load_target("portable"), load_target("linux-vulkan"), everything):
        assert [variant for variant in variants(ConvFloat, target) if variant.packing != last.packing] == []


def test_weights_are_proven_to_be_as_many_as_the_variant_reads() -> None:
    net = Net("net", 1, (1, 64, 24, 24))
    graph = from_proto(net.model(net.node("Conv", ["x", net.normal(64, 64, 3, 3)], 64, kernel_shape=[3, 3]))).graph
    target = load_target("x86-64")
    done = schedule(lower(graph, target, "net"), target)
    (call,) = (call for call in done.calls if isinstance(call, TemplateCall))
    (weights,) = (buffer for buffer in done.buffers.values() if buffer.data is not None and buffer.data.size > 64)
    assert call.packing == "points of Winograd" and weights.data is not None and weights.data.size == 36 * 64 * 64
    direct = replace(weights, size=const(9 * 64 * 64), data=weights.data[: 9 * 64 * 64])
    with pytest.raises(OutOfMemory, match="reaches outside"):
        prove_memory(replace(done, buffers={**done.buffers, weights.name: direct}))


def test_windows_over_few_channels_have_taps_as_inputs() -> None:
    """Where that is fewer steps of four inputs, and shaders do not read the weights."""
    add = (0.0, 0.0, 0, 0, 0, 0)
    wide = ConvInt8(Window(1, 9, 9, 1, 9, 9, 8, 5, 5, 1, 1, 1, 1, 2, 2), *6 * (None,), 0, 1, 1, 8, 3, 4, 0, 255, *add, 0.0, 0)  # type: ignore[arg-type]
    apart, narrow = (
        replace(wide, window=replace(wide.window, in_pixel_stride=2)),
        replace(wide, window=replace(wide.window, kernel_width=1)),
    )
    for same in (wide, replace(wide, window=replace(wide.window, in_pixel_stride=const(1)))):
        assert variant_of(same, load_target("x86-64")) is variant_of(same, load_target("rpi4")) is MERGED
    for other, name in ((apart, "x86-64"), (narrow, "rpi4"), (wide, "linux-vulkan")):
        assert variant_of(other, load_target(name)) is not MERGED


def int8_layer(size: int, inputs: int, outputs: int, weight: int = 127) -> ConvInt8:
    """`weight`: the mean magnitude of weights of one sign, all others being 0."""
    add = (0.0, 0.0, 0, 0, 0, 0)
    window = Window(1, size, size, inputs, size, size, outputs, 3, 3, 1, 1, 1, 1, 1, 1)
    return ConvInt8(window, *6 * (None,), 0, 1, inputs, outputs, 3, 4, 0, 255, *add, 0.0, 9 * inputs * 255 * weight)  # type: ignore[arg-type]


def test_codes_are_transformed_where_that_saves_time_and_weights_are_the_same() -> None:
    """Where an instruction set gains nothing it computes the layer as it does all others."""
    target, boards, panels = load_target("x86-64"), load_target("rpi4"), VARIANTS[ConvInt8][-1]
    some = {"sse41", "avx2"}
    for layer, variant, able in (
        (int8_layer(28, 32, 64), WINOGRAD_LARGE, some | {"avx512vnni"}),
        (int8_layer(28, 16, 64), WINOGRAD_NARROW, some),
        (int8_layer(28, 128, 64), INT8_WINOGRAD, some),
        (int8_layer(28, 128, 64, 114), WINOGRAD_LARGE, some | {"avx512vnni"}),
        (int8_layer(28, 512, 64, 29), INT8_WINOGRAD, some),
        (int8_layer(28, 512, 64, 28), WINOGRAD_LARGE, some | {"avx512vnni"}),
    ):
        assert variant_of(layer, target) is variant and variant.packing == panels.packing
        chosen = {name: choose(ConvInt8, variant, name, target).variant for name in target.vocabularies}
        assert chosen == {name: variant.name if name in able else "panels" for name in target.vocabularies}
        assert variant_of(layer, boards) is variant
        assert choose(ConvInt8, variant, "neon", boards).variant == variant.name
        assert all(variant_of(layer, load_target(name)) is panels for name in ("rpi5", "linux-arm64", "macos-arm64"))
        assert variant_of(layer, load_target("universal")) is variant, "SSE4.1 and NEON without dot products share its memory"
    assert variant_of(int8_layer(4, 64, 64), target) is INT8_WINOGRAD
    assert all(variant_of(int8_layer(4, 64, 64), load_target(name)) is panels for name in ("rpi4", "rpi-32bit")), "NEON takes longer so"
    layer = int8_layer(28, 32, 64)
    strided = replace(layer, window=replace(layer.window, stride_width=2))
    for other in (strided, replace(layer, groups=2), int8_layer(28, 8, 8), int8_layer(3, 64, 64), int8_layer(28, 2000, 64)):
        assert variant_of(other, target).name not in ("winograd4", "winograd4_narrow", "winograd")


@pytest.mark.parametrize("layer", [int8_layer(14, 64, 64), int8_layer(40, 9, 16), int8_layer(28, 1000, 16)], ids=["", "one panel", "deep"])
@pytest.mark.parametrize(("variant", "tiles"), [(INT8_WINOGRAD, INT8_TILES), (WINOGRAD_LARGE, LARGE_TILES)], ids=["2x2", "4x4"])
def test_scratch_memory_holds_blocks_of_tiles(layer: ConvInt8, variant: Variant, tiles: Mapping[str, WinogradTile]) -> None:
    """As the kernel lays them out, of the instruction sets of a package."""
    for name, tile in tiles.items():
        inputs, panels = round_up(layer.in_channels, input_multiple((name,))), panel_count(layer.out_channels)
        block = min(tile.most(inputs, panels), round_up(bound(image_tiles(layer.window, tile.side)), tile.rows[0]))
        codes, weights, sums = block * inputs + 32, inputs * 16 + 32, block * 16 + 16
        assert variant.scratch(layer, (name,)) >= tile.points * (2 * codes + 2 * weights + 4 * sums) + layer.in_channels + 16
