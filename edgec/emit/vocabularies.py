"""The SIMD vocabularies: for each, how compilers enable it, which headers define its words and which tiles fit its registers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tile:
    """Registers of a matrix tile: `rows` output pixels by `panels` weight panels of 16 channels.

    A panel is held in `units` registers (or register pairs) a row; a step takes `k_step` blocks of 4 input channels
    (int8) or `k_step` channels (float), for `row_step` rows at once.
    """

    rows: tuple[int, ...]  # tile heights, the best first; the last one is row_step
    panels: int
    units: int
    k_step: int = 1
    row_step: int = 1
    hold: str = "weights"  # the operand that stays in registers while the other one passes: "weights" or "pixels"


@dataclass(frozen=True)
class Vocabulary:
    """One instruction set. Headers lie in runtimes/c/vocabulary and are printed, in order, into the kernels' source."""

    name: str
    archs: tuple[str, ...]  # Target.arch values that may use it; empty: all
    guard: str  # preprocessor condition that a compiler for such a processor fulfils
    gcc: str  # argument of __attribute__((target(...))), empty: none
    clang: str
    include: str  # the compiler's header of intrinsics
    int8_headers: tuple[str, ...]
    float_headers: tuple[str, ...]
    int8: Tile
    float: Tile
    features: tuple[str, ...]  # what the processor must have, in /proc/cpuinfo's words


_X86 = {"archs": ("x86_64",), "guard": "defined(__x86_64__) || defined(__i386__)", "include": "immintrin.h"}
_ARM64 = {"archs": ("aarch64",), "guard": "defined(__aarch64__)", "include": "arm_neon.h"}
_AVX512 = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma"

VOCABULARIES: dict[str, Vocabulary] = {
    vocabulary.name: vocabulary
    for vocabulary in (
        Vocabulary(
            "portable", (), "1", "", "", "", ("int8_portable.h",), ("float_portable.h",),
            int8=Tile((4, 1), 1, 1), float=Tile((4, 1), 1, 1), features=(),
        ),
        Vocabulary(
            "sse41", gcc="sse4.1", clang="sse4.1", int8_headers=("int8_sse41.h",), float_headers=("float_sse41.h",),
            int8=Tile((1,), 1, 8, hold="pixels"), float=Tile((2, 1), 1, 4), features=("sse4_1",), **_X86,
        ),
        Vocabulary(
            "avx2", gcc="avx2,fma", clang="avx2,fma", int8_headers=("int8_lanes_avx2.h", "int8_avx2.h"), float_headers=("float_avx2.h",),
            int8=Tile((2, 1), 1, 4, hold="pixels"), float=Tile((6, 1), 1, 2), features=("avx2", "fma"), **_X86,
        ),
        Vocabulary(
            "avxvnni", gcc="avx2,fma,avxvnni", clang="avx2,fma,avxvnni",
            int8_headers=("int8_lanes_avx2.h", "int8_avxvnni.h"), float_headers=("float_avx2.h",),
            int8=Tile((6, 1), 1, 2), float=Tile((6, 1), 1, 2), features=("avx2", "fma", "avx_vnni"), **_X86,
        ),
        Vocabulary(
            "avx512vnni", gcc=_AVX512, clang=_AVX512, int8_headers=("int8_avx512vnni.h",), float_headers=("float_avx512.h",),
            int8=Tile((7, 1), 2, 1), float=Tile((7, 1), 2, 1),
            features=("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx2", "fma"), **_X86,
        ),
        Vocabulary(
            "neon", gcc="", clang="", int8_headers=("int8_lanes_neon.h", "int8_neon.h"), float_headers=("float_neon.h",),
            int8=Tile((2, 1), 1, 4, k_step=2, hold="pixels"), float=Tile((4, 1), 1, 4), features=(), **_ARM64,
        ),
        Vocabulary(
            "dotprod", gcc="arch=armv8.2-a+dotprod", clang="dotprod",
            int8_headers=("int8_lanes_neon.h", "int8_dotprod.h"), float_headers=("float_neon.h",),
            int8=Tile((4, 1), 1, 4, k_step=2, hold="pixels"), float=Tile((4, 1), 1, 4), features=("asimddp",), **_ARM64,
        ),
        Vocabulary(
            "i8mm", gcc="arch=armv8.2-a+dotprod+i8mm", clang="dotprod,i8mm",
            int8_headers=("int8_lanes_neon.h", "int8_i8mm.h"), float_headers=("float_neon.h",),
            int8=Tile((4, 2), 1, 4, k_step=2, row_step=2, hold="pixels"), float=Tile((4, 1), 1, 4), features=("asimddp", "i8mm"), **_ARM64,
        ),
        Vocabulary(
            "neon32", ("armv7",), "defined(__arm__)", gcc="fpu=neon", clang="", include="arm_neon.h",
            int8_headers=("int8_neon32.h",), float_headers=("float_neon32.h",),
            int8=Tile((1,), 1, 4, k_step=2, hold="pixels"), float=Tile((2, 1), 1, 4), features=("neon",),
        ),
    )
}  # fmt: skip
