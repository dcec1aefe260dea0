"""The compilations that the float kernels and the pools are tested in."""

from __future__ import annotations

from tests.contract.examiner import NOT_INLINED, WHOLE, available
from tests.kernels import micro
from tests.kernels.driver import QEMU_ARM32, QEMU_ARM64, Build
from tests.kernels.wasm import CLANG, NODE, relaxed

ARM64, ARM32 = ("aarch64-linux-gnu-gcc",), ("arm-linux-gnueabihf-gcc", "-march=armv7-a", "-mfpu=neon")
X86 = ("portable", "sse41", "avx2", "avx512vnni")
LEVEL = "-O0"  # of sanitized kernels, which compile for long and run for an instant
SANITIZE = (LEVEL, NOT_INLINED, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

AVXVNNI = Build("avxvnni", flags=("-O0",))
ALWAYS = (
    *(Build(vocabulary) for vocabulary in X86),
    *([AVXVNNI] if available("avxvnni") else []),
    Build("portable", flags=SANITIZE),
    Build("neon", ARM64, ("-O1", "-static"), QEMU_ARM64, signed=True),
    Build("neon32", ARM32, ("-O1", "-static"), QEMU_ARM32, signed=True),
    Build("wasm128", (*CLANG, "-msimd128"), ("-O1",), NODE),
    Build("helium", micro.CLANG, ("-O1",), micro.QEMU, signed=True, libraries=micro.LINKING),
)
# With EDGEC_TEST_ALL these too
MORE = (
    Build("sse41", signed=True),
    Build("relaxed8", (*CLANG, "-mrelaxed-simd", *relaxed("UNSIGNED")), ("-O1",), NODE),
    Build("sse41", ("clang",)),
    Build("dotprod", ARM64, ("-O3", "-static"), QEMU_ARM64, signed=True),
    *([] if available("avxvnni") else [AVXVNNI]),  # computed by SIMDe
    Build("avx512vnni", flags=("-O3",)),
    Build("avx512vnni", ("clang",), ("-O2", "-march=haswell")),
    Build("i8mm", ARM64, ("-O0", "-static"), QEMU_ARM64, signed=True),
    Build("neon32", ("clang", "--target=arm-linux-gnueabihf", "-march=armv7-a", "-mfpu=neon"), ("-O2", "-static"), QEMU_ARM32, signed=True),
    Build("avx2", ("g++", "-x", "c++")),
    *(Build(vocabulary, ("clang",), ("-O2", "-march=haswell")) for vocabulary in ("portable", "avx2")),
    Build("portable", flags=("-O3", "-march=haswell")),
    *(Build(vocabulary, simde=True) for vocabulary in ("avx2", "avx512vnni")),
    *(Build(vocabulary, flags=SANITIZE) for vocabulary in ("sse41", "avx2", "avx512vnni")),
    Build("portable", ARM64, ("-O2", "-static"), QEMU_ARM64, signed=True),
    Build("neon", ("clang", "--target=aarch64-linux-gnu"), ("-O2", "-static"), QEMU_ARM64, signed=True),
    Build("portable", ARM32, ("-O3", "-static"), QEMU_ARM32, signed=True),
    Build("neon32", ARM32, ("-O3", "-static"), QEMU_ARM32, signed=True),
)
# Of the kernels of halves
HALVES = (
    Build("fp16", ARM64, ("-O1", "-static"), QEMU_ARM64, signed=True, halves=True),
    *((
        Build("fp16", ARM64, ("-O0", "-static"), QEMU_ARM64, signed=True, halves=True),
        Build("fp16", ("clang", "--target=aarch64-linux-gnu"), ("-O2", "-static"), QEMU_ARM64, signed=True, halves=True),
        Build("neon", ("clang", "--target=aarch64-linux-gnu"), ("-O2", "-static"), QEMU_ARM64, signed=True, halves=True),
        Build("neon", ("aarch64-linux-gnu-g++", "-x", "c++"), ("-O1", "-static"), QEMU_ARM64, signed=True, halves=True),
        Build("fp16", ("aarch64-linux-gnu-g++", "-x", "c++"), ("-O1", "-static"), QEMU_ARM64, signed=True, halves=True),
    ) if WHOLE else ()),
)  # fmt: skip
BUILDS = (*ALWAYS, *MORE) if WHOLE else ALWAYS
