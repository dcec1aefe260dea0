"""The SIMD vocabularies: for each, how compilers enable it, and which headers define its words."""

from __future__ import annotations

from dataclasses import dataclass

from edgec.emit.float_words import AVX2, AVX512, HELIUM, NEON, NEON32, PORTABLE, SSE41, WASM128, FloatWords

UNIVERSAL = "universal"  # Target.arch of one tree of sources for several processors
SEVERAL = (UNIVERSAL, "wasm32")  # of sources that choose vocabularies by what they are compiled for: wasm32 with SIMD128 or without


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
    float: FloatWords
    look_up: str  # the header of the look-up in tables of 256 codes
    features: tuple[str, ...]  # what the processor must have, in /proc/cpuinfo's words
    wide: str = "int8_wide.h"  # the header of the dot product with weights down to -128
    half: str = ""  # the header of words for halves, where packages have kernels of them
    pace: int = 2  # multiply-accumulates of 8 bits that a core does in a nanosecond, about: see program/effort.py
    baseline: str = ""  # the condition that holds where every such processor can begin with it, when that is not the guard


def _x86(
    name: str, target: str, int8_headers: tuple[str, ...], real: FloatWords, look_up: str, features: str, pace: int
) -> Vocabulary:  # fmt: skip
    guard = "defined(__x86_64__) || defined(__i386__)"
    words = tuple(features.split())
    small = name == "sse41"
    archs = ("x86_64", UNIVERSAL) if small else ("x86_64",)
    header = "smmintrin.h" if small else "immintrin.h"  # a tenth of the other, which takes a compiler longer than our kernels do
    return Vocabulary(name, archs, guard, target, target, header, int8_headers, real, look_up, words, pace=pace)


def _arm64(
    name: str, gcc: str, clang: str, int8_header: str, features: str, taps: str = "int8_taps_dotprod.h", wide: str = "int8_wide.h",
    half: str = "", pace: int = 25,
) -> Vocabulary:  # fmt: skip
    headers = ("int8_lanes_neon.h", int8_header, taps, "int8_taps_ends_neon.h")
    words = tuple(features.split())
    archs, guard = ("aarch64", UNIVERSAL), "defined(__aarch64__)"
    return Vocabulary(name, archs, guard, gcc, clang, "arm_neon.h", headers, NEON, "look_up_neon.h", words, wide, half, pace)


_AVX2, _AVX512 = "avx2,fma", "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"
_ARM82 = "arch=armv8.2-a"
_RELAXED = "defined(__wasm_relaxed_simd__) && __clang_major__ >= 17"  # older ones take the flag and lack the instructions

VOCABULARIES: dict[str, Vocabulary] = {
    vocabulary.name: vocabulary
    for vocabulary in (
        Vocabulary(
            "portable", (), "1", "", "", "", ("int8_lanes_portable.h", "int8_portable.h", "int8_taps_portable.h"),
            float=PORTABLE, look_up="look_up_portable.h", features=(),
        ),
        _x86(
            "sse41", "sse4.1", ("int8_lanes_sse41.h", "int8_sse41.h", "int8_taps_sse41.h"), SSE41, "look_up_portable.h", "sse4_1", 30,
        ),
        _x86(
            "avx2", _AVX2, ("int8_lanes_avx2.h", "int8_avx2.h", "int8_rows_avx2.h", "int8_taps_avx2.h"),
            AVX2, "look_up_avx2.h", "avx2 fma", 80,
        ),
        _x86(
            "avxvnni", _AVX2 + ",avxvnni", ("int8_lanes_avx2.h", "int8_avxvnni.h", "int8_rows_avx2.h", "int8_taps_avxvnni.h"),
            AVX2, "look_up_avx2.h", "avx2 fma avx_vnni", 150,
        ),
        _x86(
            "avx512vnni", _AVX512, ("int8_lanes_avx512.h", "int8_avx512vnni.h", "int8_rows_avx512.h", "int8_taps_avx512.h"),
            AVX512, "look_up_avx512.h", "avx2 fma avx512f avx512bw avx512dq avx512vl avx512_vnni", 300,
        ),
        _arm64("neon", "", "", "int8_neon.h", "asimd", "int8_taps_neon.h", "int8_wide_neon.h", "half_neon.h", 6),
        _arm64("dotprod", f"{_ARM82}+dotprod", "dotprod", "int8_dotprod.h", "asimddp"),
        _arm64("i8mm", f"{_ARM82}+dotprod+i8mm", "dotprod,i8mm", "int8_i8mm.h", "asimddp i8mm", pace=40),
        _arm64(
            "fp16", f"{_ARM82}+fp16", "fullfp16", "int8_neon.h", "asimdhp", "int8_taps_neon.h", "int8_wide_neon.h", "half_fp16.h", 10,
        ),
        Vocabulary(
            "neon32", ("armv7", UNIVERSAL), "defined(__arm__)", "fpu=neon", "", "arm_neon.h",
            ("int8_lanes_neon32.h", "int8_neon32.h", "int8_taps_neon.h", "int8_taps_ends_neon.h"),
            float=NEON32, look_up="look_up_portable.h", features=("neon",),
            wide="int8_wide_neon32.h", pace=4, baseline="defined(__arm__) && defined(__ARM_NEON)",
        ),
        Vocabulary(
            "dsp", ("cortex-m",), "defined(__ARM_FEATURE_DSP)", "", "", "arm_acle.h",
            ("int8_lanes_portable.h", "int8_dsp.h", "int8_taps_dsp.h"),
            float=PORTABLE, look_up="look_up_portable.h", features=("dsp",),
        ),
        Vocabulary(
            "helium", ("cortex-m",), "defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE & 2", "", "", "arm_mve.h",
            ("int8_lanes_helium.h", "int8_helium.h", "int8_eights_helium.h", "int8_taps_helium.h"),
            float=HELIUM, look_up="look_up_helium.h", features=("mve",),
        ),
        Vocabulary(
            "wasm128", ("wasm32",), "defined(__wasm_simd128__)", "", "", "wasm_simd128.h",
            ("int8_lanes_wasm128.h", "int8_wasm128.h", "int8_taps_ends_wasm128.h", "int8_taps_wasm128.h"),
            float=WASM128, look_up="look_up_portable.h", features=("simd128",), pace=30,
            baseline=f"defined(__wasm_simd128__) && !({_RELAXED})",
        ),
        *(
            Vocabulary(
                name, ("wasm32",), _RELAXED, "", "", "wasm_simd128.h",
                ("int8_lanes_wasm128.h", f"int8_{name}.h", "int8_taps_ends_wasm128.h", taps),
                float=WASM128, look_up="look_up_portable.h", features=("relaxed_simd",), pace=50,
            )
            for name, taps in (("relaxed7", "int8_taps_wasm128.h"), ("relaxed8", "int8_taps_relaxed8.h"))
        ),
    )
}  # fmt: skip


def processors(vocabularies: tuple[str, ...]) -> list[tuple[str, list[str]]]:
    """The processors that a universal package tells apart: (preprocessor condition, its vocabularies); others have plain C."""
    found: dict[str, list[str]] = {}
    for words in (VOCABULARIES[name] for name in vocabularies if VOCABULARIES[name].archs):
        found.setdefault(words.baseline or words.guard, []).append(words.name)
    return list(found.items())
