"""Every way a package is compiled and run in the contract tests: processor, compiler, flags, vocabulary, threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tests.contract.subjects import FAMILIES

Item = TypeVar("Item")
X86 = ("sse41", "avx2", "avxvnni", "avx512vnni")
ARM = "qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu"
CLANG_ARM = "clang --target=aarch64-linux-gnu"
CLANG_ARM32 = "clang --target=arm-linux-gnueabihf -mfpu=neon -mcpu=cortex-a7"


@dataclass(frozen=True)
class Run:
    """One run of the exam: the vocabulary that must be the one that ran, whether it is forced, on how many threads, and how."""

    isa: str
    threads: int = 1
    forced: bool = True
    emulator: tuple[str, ...] = ()


@dataclass(frozen=True)
class Variant:
    """One compilation of a package, and the runs of its exam. `needs` are the programs it takes."""

    name: str
    target: str
    cc: str
    optimize: str
    flags: tuple[str, ...] = ()
    runs: tuple[Run, ...] = field(default=())
    needs: tuple[str, ...] = ()


def _x86(name: str, cc: str, optimize: str, *flags: str, threads: tuple[int, ...] = (1,)) -> Variant:
    runs = (*(Run(isa, count) for isa in X86 for count in threads), Run("avx512vnni", forced=False))
    return Variant(name, "x86-64", cc, optimize, flags, runs, (cc,))


def _emulated(*pairs: tuple[str, str]) -> tuple[Run, ...]:
    """(qemu processor, the vocabulary that init must choose there): the choice itself is under test."""
    return tuple(Run(isa, forced=False, emulator=(*ARM.split(), cpu)) for cpu, isa in pairs)


CORES = _emulated(("cortex-a53", "neon"), ("cortex-a72", "neon"), ("cortex-a76", "dotprod"), ("max", "i8mm"))
NEON32 = (Run("neon32", emulator=("qemu-arm", "-L", "/usr/arm-linux-gnueabihf")),)
RISCV = (Run("portable", emulator=("qemu-riscv64", "-L", "/usr/riscv64-linux-gnu")),)
AARCH64 = ("aarch64-linux-gnu-gcc", "qemu-aarch64")
ARMV7 = ("arm-linux-gnueabihf-gcc", "qemu-arm")

# One of each processor, our own flags: every net goes through these.
USUAL = (
    _x86("x86-gcc", "gcc", "-O3", threads=(1, 3)),
    Variant("portable-gcc", "portable", "gcc", "-O3", (), (Run("portable"),), ("gcc",)),
    Variant("arm64-gcc", "linux-arm64", "aarch64-linux-gnu-gcc", "-O3", (), CORES, AARCH64),
    Variant("armv7-gcc", "rpi-32bit", "arm-linux-gnueabihf-gcc", "-O3", (), NEON32, ARMV7),
    Variant("riscv64-gcc", "linux-riscv64", "riscv64-linux-gnu-gcc", "-O3", (), RISCV, ("riscv64-linux-gnu-gcc", "qemu-riscv64")),
)
# Compilers, optimization and flags that users have: bare -O2 with fused multiply-add allowed by the command line.
UNUSUAL = (
    _x86("x86-gcc-threads", "gcc", "-O3", threads=(1, 2, 3, 8)),
    _x86("x86-gcc-O0", "gcc", "-O0"),
    _x86("x86-gcc-bare-fma", "gcc", "-O2", "-mfma", "-mavx2", "-ffp-contract=fast"),
    _x86("x86-clang", "clang", "-O3", threads=(1, 2)),
    _x86("x86-clang-O0", "clang", "-O0"),
    _x86("x86-clang-bare-fma", "clang", "-O2", "-mfma", "-mavx2"),
    Variant("portable-clang-fma", "portable", "clang", "-O2", ("-march=x86-64-v3",), (Run("portable"),), ("clang",)),
    Variant("portable-gcc-fma", "portable", "gcc", "-O2", ("-march=x86-64-v3", "-ffp-contract=fast"), (Run("portable"),), ("gcc",)),
    Variant("portable-gcc-O0", "portable", "gcc", "-O0", (), (Run("portable"),), ("gcc",)),
    Variant("arm64-gcc-bare", "linux-arm64", "aarch64-linux-gnu-gcc", "-O2", ("-ffp-contract=fast",), CORES, AARCH64),
    Variant("arm64-gcc-O0", "linux-arm64", "aarch64-linux-gnu-gcc", "-O0", (), CORES, AARCH64),
    Variant("arm64-clang", "linux-arm64", CLANG_ARM, "-O2", (), CORES, ("clang", *AARCH64)),
    Variant("armv7-gcc-O0", "rpi-32bit", "arm-linux-gnueabihf-gcc", "-O0", (), NEON32, ARMV7),
    Variant("armv7-clang", "rpi-32bit", CLANG_ARM32, "-O2", (), NEON32, ("clang", *ARMV7)),
    # clang has no doubles for Cortex-M4, which sums of 16 bits take
    *(
        Variant(name, name, f"clang --target={triple}", "-O2", (), (Run(isa),), ("clang", "ld.lld", "qemu-system-arm"))
        for name, triple, isa in (("cortex-m7", "thumbv7em-none-eabihf", "dsp"), ("cortex-m55", "thumbv8.1m.main-none-eabihf", "helium"))
    ),
    Variant("riscv64-gcc-O0", "linux-riscv64", "riscv64-linux-gnu-gcc", "-O0", (), RISCV, ("riscv64-linux-gnu-gcc", "qemu-riscv64")),
)
# Those of every `make test`: optimized, since tests/kernels compiles the kernels alone without, and one for each kind of difference
OFTEN = tuple(
    variant
    for variant in UNUSUAL
    if variant.optimize != "-O0"
    and variant.name not in ("x86-gcc-threads", "x86-gcc-bare-fma", "x86-clang-bare-fma", "portable-clang-fma", "arm64-gcc-bare")
)


EVERY = {"int8": (len(FAMILIES), len(FAMILIES)), "float": (len(FAMILIES), 2)}  # of nets of a kind, as in_turns has it


def in_turns(items: Sequence[Item], first: int, others: int) -> list[tuple[Item, Variant]]:
    """Items with the usual variants: so many go through the first of these, and so many, in turns, through each other one."""
    return [
        (item, variant)
        for v, variant in enumerate(USUAL)
        for i, item in enumerate(items)
        if (i - v) % len(items) < (others if v else first)
    ]


def usual(kind: str, whole: bool) -> list[tuple[str, Variant]]:
    """The nets of a kind with the usual variants."""
    return in_turns(FAMILIES, *(EVERY[kind] if whole else (1, 1)))


def name_of(item: object) -> str:
    """What is told of a parameter in the name of a test."""
    return str(getattr(item, "name", item))


def turn(variant: Variant, after: int = 0) -> str:
    """Every unusual variant has one net or a few, and the nets take turns."""
    return FAMILIES[(after - UNUSUAL.index(variant)) % len(FAMILIES)]
