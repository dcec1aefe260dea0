"""Every vocabulary's int8 kernels give the bytes of docs/int8.md clauses 4 and 16 to 18, whatever the geometry, compiler and flags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgec.emit.vocabularies import VOCABULARIES
from edgec.integer.layer_norm import LONGEST
from edgec.kernels import ConvInt8, ConvInt8Function, Variant
from edgec.kernels.conv_int8_variants import TILES, WINOGRAD, WINOGRAD_LARGE, WINOGRAD_NARROW
from edgec.program.arguments import PIXEL_BLOCK, Window
from edgec.targets import Target
from tests.contract.examiner import WHOLE, available
from tests.kernels.attention_cases import layer_norm_case, multiply_case, pack_case, product_case, softmax_case
from tests.kernels.builds import LEVEL
from tests.kernels.int8_cases import (
    any_case,
    conv_case,
    depthwise_case,
    few_channels,
    float_case,
    function_case,
    geometry,
    square,
    three_by_three,
    three_of_nine,
)
from tests.kernels.int8_harness import ARM64, ARMV7, DSP, NEON, WITH_FUNCTIONS, X86, X86_SIGNED, Program, compile_driver

Made = tuple[Target, str, str, tuple[str, ...]]  # a vocabulary of a target, its compiler and flags
VARIANTS = [(target, vocabulary) for target in (X86, NEON, ARM64, ARMV7, *([DSP] if WHOLE else [])) for vocabulary in target.vocabularies]
OPTIMIZED = ("-O2" if WHOLE else "-O1",)
UNDEFINED = (LEVEL, "-fsanitize=undefined", "-fno-sanitize-recover=all")
COMPILERS = [("gcc", ("-O3",)), ("clang", ("-O2",)), ("gcc", ("-O0",))]
# Each has one of the three compilers, in turns, and with EDGEC_TEST_ALL both that optimize. The portable words, over which gcc sits for a
# quarter of a minute at -O3, have that for one processor. Without EDGEC_TEST_ALL they are compiled for that one alone, and what compiles or
# runs slowly has -O1: what gcc would make of x86's words at -O3, and -O0 in an emulator.
BUILDS = [
    (*variant, *made)
    for n, variant in enumerate(VARIANTS)
    for m, made in enumerate(COMPILERS)
    if (n + m) % len(COMPILERS) == 0 or (WHOLE and made[1] != ("-O0",))
]
if WHOLE:
    BUILDS = [
        (target, vocabulary, compiler, ("-O2",) if vocabulary == "portable" and target is not X86 and flags == ("-O3",) else flags)
        for target, vocabulary, compiler, flags in BUILDS
    ]
else:
    BUILDS = [
        (target, vocabulary, compiler, ("-O1",) if flags == (("-O3",) if target is X86 else ("-O0",)) else flags)
        for target, vocabulary, compiler, flags in BUILDS
        if vocabulary not in ("avxvnni", "i8mm", "neon32", "sse41")  # which others stand for
        and (vocabulary == "portable" or available(vocabulary) if target is X86 else vocabulary != "portable")  # SIMDe would compute others
    ]


def agree(program: Program, cases: list[tuple[Any, np.ndarray]], *parts: float, variant: Variant | None = None) -> None:
    results = program.run([case for case, _ in cases], *([parts] if parts else []), variant=variant)
    for index, ((case, expected), y) in enumerate(zip(cases, results, strict=True)):
        wrong = np.flatnonzero(y != expected)
        assert not wrong.size, f"case {index}: {wrong.size} of {y.size} bytes differ, first at {wrong[0]}; {case}"


@cache
def conv_cases(target: Target) -> list[tuple[Any, np.ndarray]]:
    random = np.random.default_rng(1)
    cases = []
    for index in range(80 if WHOLE else 30):
        groups = int(random.choice([1, 1, 1, 2, 3]))
        ci, co = (int(v) for v in random.integers(1, 71, 2))
        cases.append(conv_case(random, target, groups, ci, co, simple=index % 3 == 0, residual=index % 4 < 2))
    for co in (128, 129, 160, 272):  # more panels than one work item holds
        cases.append(conv_case(random, target, 1, 24, co, simple=True, residual=co % 2 == 0))
    for index, co in enumerate((8, 24, 40, 56) * 4):  # half a panel at the end
        cases.append(conv_case(random, target, 1, int(random.choice([8, 16, 24, 40])), co, simple=index < 8, residual=index % 2 == 0))
    for index, co in enumerate((16, 17, 20, 24, 24, 24, 32, 48, 96) * 2):  # matrices of several blocks of pixels
        ci, stride = int(random.choice([8, 12, 16, 24, 40])), co + int(random.choice([0, 0, 3]))
        window = Window(2, 11, 13, ci, 11, 13, stride, 1, 1, 1, 1, 1, 1, 0, 0)
        cases.append(conv_case(random, target, 1, ci, co, True, index % 3 < 2, window))
    for index in range(24):  # taps in a row of a window that are neighbours in memory
        ci, co = int(random.choice([8, 16, 24, 40])), int(random.integers(1, 40))
        window = square(random, ci, int(random.integers(2, 6)), int(random.integers(1, 3))) if index % 2 else geometry(random, ci, co)
        window = replace(window, in_pixel_stride=ci, out_pixel_stride=co, dilation_width=1)
        cases.append(conv_case(random, target, 1, ci, co, False, index % 4 < 2, window))
    return cases


@cache
def few_channels_cases(target: Target) -> list[tuple[Any, np.ndarray]]:
    random = np.random.default_rng(8)
    sizes = [(1 + index % 3, int(random.integers(1, 36))) for index in range(36)]
    cases = [conv_case(random, target, 1, ci, co, False, co % 4 == 0, few_channels(random, ci, co)) for ci, co in sizes]
    for index, co in enumerate((16, 32, 32, 24, 48, 64, 7, 33, 130, 8) * 4):
        cases.append(conv_case(random, target, 1, 3, co, False, index % 8 == 7, three_of_nine(random, co), relu=index % 8 < 5))
    return [*cases, function_case(random, target, WITH_FUNCTIONS[0].function, 1, 3, 32, False, three_of_nine(random, 32))]


@cache
def winograd_cases(target: Target) -> list[tuple[Any, np.ndarray]]:
    """Tiles over the ends of images, some in blocks, with tails of inputs and of panels; and the largest numbers at each point."""
    random, cases = np.random.default_rng(9), []
    for index in range(48 if WHOLE else 16):
        ci, co, *size = (int(random.integers(*few)) for few in ((4, 80), (12, 70), (3, 20), (3, 20)))
        window = three_by_three(random, ci, co, (size[0], size[1]))
        if index % 8 == 7:
            cases.append(function_case(random, target, WITH_FUNCTIONS[0].function, 1, ci, co, False, window))
        else:
            cases.append(conv_case(random, target, 1, ci, co, False, index % 2 == 0, window))
    rows, columns = np.indices((12, 13)) % 2
    across, down = np.indices((3, 3)).reshape(2, -1) % 2
    codes, weights = (rows < 2, rows == 0, columns == 0, rows == columns), (across < 2, across == 0, down == 0, across == down)
    for extreme in product(codes, [*weights, across > 2]):
        cases.append(conv_case(random, target, 1, 19, 31, False, False, three_by_three(random, 19, 31, (12, 13)), extreme))
    cases += [conv_case(random, target, 1, 19, 31, False, False, three_by_three(random, 19, 31, (24, 25)), one) for one in large_extremes()]
    for index in range(12):  # few tiles, inputs and outputs, where little is gained or nothing
        ci, co, *size = (int(random.integers(*few)) for few in ((4, 12), (1, 18), (3, 8), (3, 8)))
        cases.append(conv_case(random, target, 1, ci, co, False, index % 2 == 0, three_by_three(random, ci, co, (size[0], size[1]))))
    for most in (most_inputs(64), most_inputs(4)):
        window = three_by_three(random, most, 31, (12, 13))
        cases.append(conv_case(random, target, 1, most, 31, False, False, window, (codes[0], weights[0])))
    assert sum(WINOGRAD.admits(case[0]) for case in cases) > 0.7 * len(cases)
    return cases


def agree_by_winograd(program: Program, target: Target) -> None:
    """Either form, whatever gains more; and in more pieces than some layers have."""
    cases = winograd_cases(target)
    large = [case for case in cases if 64 * case[0].largest_sum < 2**31 and isinstance(case[0], ConvInt8)]
    for variant, able in ((WINOGRAD, [case for case in cases if isinstance(case[0], ConvInt8)]), (WINOGRAD_LARGE, large), (None, cases)):
        agree(program, able, variant=variant)
        agree(program, able[:12] if WHOLE else able[:6], *(part / 16 for part in range(1, 17)), variant=variant)


def most_inputs(multiple: int) -> int:
    """Of a layer so many times whose sums fit 32 bits whatever the codes and weights."""
    return (2**31 - 1) // (multiple * 9 * 255 * 127)


def large_extremes() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Codes and weights that are the largest at points of F(4x4, 3x3), where tiles of images with one pixel of padding have them."""
    rows, columns = np.indices((24, 25)) % 4
    across, down = np.indices((3, 3)).reshape(2, -1)
    codes = ((rows < 2) == (columns < 2), (rows % 2 == 0) == (columns % 2 == 0), (rows < 2) == (columns % 2 == 0))
    yield from product(codes, (across < 3, (across % 2 == 0) == (down % 2 == 0)))


@cache
def float_cases(target: Target) -> list[tuple[Any, np.ndarray]]:
    """Panels and rows with tails, more panels than one work item holds, and all that a panel may lack of sixteen channels."""
    random = np.random.default_rng(4)
    sizes = [(1, 24, co) for co in (*range(1, 18), 31, 33, 128, 129, 272)] + [(3, 5, 19), (2, 16, 16), (4, 1, 7)]
    return [float_case(random, target, *size, simple=index % 2 == 0) for index, size in enumerate(sizes)]


@cache
def depthwise_cases(target: Target) -> list[tuple[Any, np.ndarray]]:
    random = np.random.default_rng(2)
    cases = [depthwise_case(random, target, int(channels)) for channels in (*range(1, 36), 48, 63, 64, 65, 96, 130)]
    for index, channels in enumerate((15, 16, 17, 32, 33, 48, 64, 65, 96, 130) * 4):
        op = WITH_FUNCTIONS[1 + index % 2].function if index % 5 == 0 else ""
        window = square(random, channels, 3 if index < 24 else 5, 1 + index // 3 % 2)
        cases.append(depthwise_case(random, target, channels, op, window))
    for index, channels in enumerate((16, 32, 48, 64, 96, 130) * 4):  # as behind a Relu
        cases.append(depthwise_case(random, target, channels, "", square(random, channels, 3, 1 + index // 6 % 2), relu=True))
    return cases


@cache
def any_cases(target: Target) -> list[tuple[Any, np.ndarray]]:
    random = np.random.default_rng(3)
    return [any_case(random, target, int(random.integers(1, 4)), int(random.integers(1, 9)), int(random.integers(1, 9))) for _ in range(20)]


@cache
def attention_cases(target: Target) -> list[tuple[Any, np.ndarray]]:
    """Extents around those of panels, of blocks of rows and of a step's inputs."""
    random = np.random.default_rng(5)
    cases = [pack_case(random, target, *(int(n) for n in random.integers(1, 40, 2))) for _ in range(24)]
    for index in range(24):
        sizes = (int(random.choice([1, 2, 7, 57, 60])), int(random.integers(1, 70)), int(random.integers(1, 70)))
        cases.append(product_case(random, target, *sizes, floats=index % 3 == 0))
    cases += [layer_norm_case(random, target, columns) for columns in (2, 3, 15, 16, 17, 31, 64, 65, 197, 768)]
    cases += [multiply_case(random, target, channels) for channels in (1, 3, 15, 16, 17, 40, 96, 300)]
    return cases + [softmax_case(random, target, columns) for columns in (1, 2, 3, 15, 16, 17, 31, 64, 65, 197, 300)]


@cache
def function_cases(target: Target) -> list[tuple[Any, np.ndarray]]:
    """Convolutions and depthwise ones with a function of their sums, with tails of panels and of rows."""
    random, cases = np.random.default_rng(5), []
    for kind in WITH_FUNCTIONS:
        if issubclass(kind, ConvInt8Function):
            sizes = [(1, 24, co) for co in (*range(1, 18), 31, 33, 129)] + [(3, 5, 19), (2, 16, 16)]
            cases += [function_case(random, target, kind.function, *size, simple=index % 2 == 0) for index, size in enumerate(sizes)]
        else:
            cases += [depthwise_case(random, target, channels, kind.function) for channels in (*range(1, 18), 31, 33, 48, 64, 65, 130)]
    return cases


def agree_in_all(program: Program, target: Target) -> None:
    for cases in (conv_cases, few_channels_cases, float_cases, depthwise_cases, function_cases, any_cases, attention_cases):
        agree(program, cases(target))
    agree(program, [layer_norm_case(np.random.default_rng(6), target, LONGEST)])  # apart: Node ends on so much among all the others
    agree_by_winograd(program, target)


def parameter(target: Target, vocabulary: str, compiler: str, flags: tuple[str, ...]) -> Any:
    """What a compiler is busy with for a quarter of a minute starts early."""
    level = {"portable": "-O3", "neon32": "-O0"}.get(vocabulary)
    busy = flags == (level,) or (vocabulary == "avx512vnni" and flags != ("-O0",))
    words = f"{target.arch}-{vocabulary}-{compiler}{flags[0]}"
    return pytest.param((target, vocabulary, compiler, flags), id=words, marks=pytest.mark.long if busy else ())


@pytest.mark.sampled
@pytest.mark.parametrize("build", [parameter(*build) for build in BUILDS])
def test_every_kernel(build: Made, shared: Path) -> None:
    """In one test, since nearly all of the time goes into the compilation of what runs."""
    target, vocabulary, compiler, flags = build
    program = compile_driver(shared, vocabulary, target, compiler, flags)
    agree_in_all(program, target)


def test_sums_beyond_what_is_exact_are_not_by_winograd() -> None:
    *_, (fewer, _), (more, _) = winograd_cases(X86)
    for variant, multiple, case in ((WINOGRAD, 4, more), (WINOGRAD_NARROW, 64, fewer)):
        most = (2**31 - 1) // multiple
        assert variant.admits(case) and variant.admits(replace(case, largest_sum=most))
        assert not variant.admits(replace(case, largest_sum=most + 1))


@pytest.mark.thorough
@pytest.mark.parametrize(("compiler", "flags"), [("gcc", UNDEFINED), ("clang", OPTIMIZED)])
def test_sse41_takes_signed_activations(compiler: str, flags: tuple[str, ...], shared: Path) -> None:
    program = compile_driver(shared, "sse41", X86_SIGNED, compiler, flags)
    agree_in_all(program, X86_SIGNED)


def walked(heights: tuple[int, ...], count: int) -> int:
    """How many pixels of a block the tiles for `count` of them touch."""
    row = 0
    for rows, after in zip(heights, (*heights[1:], None), strict=True):
        while row < count if after is None else count - row > 2 * after - 1:
            row += rows
    return row


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_tiles_fit_the_pixel_block(vocabulary: str) -> None:
    tile = TILES[vocabulary]
    assert {rows for heights in tile.heights for rows in heights} == set(tile.rows)
    assert len(tile.heights) == tile.panels
    for heights, count in product(tile.heights, range(1, PIXEL_BLOCK + 1)):
        assert walked(heights, count) <= min(count + tile.rows[0] - 1, PIXEL_BLOCK)
    assert all(heights[-1] == tile.row_step for heights in tile.heights)
    assert all(step <= min(left + 1, tile.panels) for left, step in enumerate(tile.split))


@pytest.mark.thorough
@pytest.mark.parametrize("vocabulary", X86.vocabularies[1:])
def test_simde_serves_where_the_cpu_lacks_instructions(vocabulary: str, shared: Path) -> None:
    program = compile_driver(shared, vocabulary, X86, "gcc", ("-O0",), simulated=True)
    agree_in_all(program, X86)


@pytest.mark.parametrize("vocabulary", ["portable", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("avx2", "avx512vnni"))])
def test_no_undefined_behaviour(vocabulary: str, shared: Path) -> None:
    program = compile_driver(shared, vocabulary, X86, "gcc", UNDEFINED)
    agree_in_all(program, X86)
