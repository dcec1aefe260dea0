"""Runs template kernels of one vocabulary outside of a package: cases go in and results come out as bytes, also through an emulator.

A case is an argument dataclass of edgec/kernels whose pointers are numpy arrays. Every buffer ends right before a page
that may not be touched, so that a read or a write too far is a crash.
"""

from __future__ import annotations

import hashlib
import platform
import re
import shutil
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgec.emit.kernels import render_kernel_header, render_kernels
from edgec.emit.vocabularies import VOCABULARIES
from edgec.kernels import (
    CONV_INT8_FUNCTION,
    DEPTHWISE_INT8_FUNCTION,
    ConvInt8,
    ConvInt8Any,
    ConvInt8Float,
    ConvInt8Function,
    DepthwiseInt8,
    LayerNormInt8,
    MultiplyInt8,
    PackInt8,
    ProductInt8,
    ProductInt8Float,
    SoftmaxInt8,
    Variant,
)
from edgec.kernels.matrix_int8 import input_multiple
from edgec.program.arguments import Arguments, Window, in_struct
from edgec.schedule import choose_all
from edgec.targets import Target
from tests.conftest import once
from tests.contract.examiner import NOT_INLINED, STRICT
from tests.kernels.work import PLACES, place_of, scratch_bytes, slot_in, work_items

X86 = Target("x86-64", "", "x86_64", "linux", ("portable", "sse41", "avx2", "avxvnni", "avx512vnni"), False)
# The x86-64 part of packages for several processors
X86_SIGNED = Target("universal", "", "x86_64", "linux", ("portable", "sse41", "neon"), True)
NEON = Target("rpi4", "", "aarch64", "linux", ("portable", "neon"), True, reorders=True)
ARM64 = Target("linux-arm64", "", "aarch64", "linux", ("dotprod", "i8mm"), True)
ARMV7 = Target("rpi-32bit", "", "armv7", "linux", ("portable", "neon32"), True)
# ARMv7-A has the instructions of Cortex-M4 too
DSP = Target("cortex-m4", "", "armv7", "linux", ("dsp",), True)

# Each function in one kernel at least: what it computes is the same text in both.
WITH_FUNCTIONS = (
    CONV_INT8_FUNCTION["HardSwish"], DEPTHWISE_INT8_FUNCTION["HardSigmoid"], DEPTHWISE_INT8_FUNCTION["LeakyRelu"],
    CONV_INT8_FUNCTION["Swish"], DEPTHWISE_INT8_FUNCTION["Gelu none"],
)  # fmt: skip
USED = frozenset(
    {
        ConvInt8,
        ConvInt8Float,
        ConvInt8Any,
        DepthwiseInt8,
        PackInt8,
        ProductInt8,
        ProductInt8Float,
        SoftmaxInt8,
        LayerNormInt8,
        MultiplyInt8,
        *WITH_FUNCTIONS,
    }
)
PAST = (ConvInt8, ConvInt8Float, ConvInt8Function, ProductInt8, ProductInt8Float)  # which read a few bytes past x

_DRIVER = r"""
#define _GNU_SOURCE
#include "t_kernels.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void take(void *to, size_t count) {
    if (fread(to, 1, count, stdin) != count) exit(count ? 3 : 0);
}
static int32_t take_int(void) { int32_t value; take(&value, 4); return value; }

/* A buffer read from stdin, right before a forbidden page; `slack` bytes after it may be read. */
static void *take_buffer(int32_t slack, int32_t *size) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t whole;
    char *memory;
    *size = take_int();
    if (*size < 0) return 0;
    whole = ((size_t)*size + slack + page - 1) / page * page;
    memory = (char *)mmap(0, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + whole, page, PROT_NONE)) exit(4);
    memory += whole - slack - *size;
    take(memory, *size);
    return memory;
}
"""


def _reader(place: int, kind: type[Arguments], slot: str) -> str:
    """C that reads one case of `kind`, runs it in pieces and writes what became of y."""
    kernel, lines = kind.kernel, []
    for field in in_struct(kind):
        if field.name == "window":
            lines.append("take(&a.window, sizeof a.window);")
        elif field.metadata["c"].endswith("*"):
            slack = "SLACK" if field.name == "x" and issubclass(kind, PAST) else "0"
            lines.append(f"data.{field.name} = ({field.metadata['c']})take_buffer({slack}, &size);")
            lines += ["y_size = size;"] if field.name == "y" else []
        else:
            lines.append(f"take(&a.{field.name}, 4);")
    body = "\n    ".join(lines)
    return f"""
static void run_{place}(void) {{
    struct t_{kernel} a;
    struct t_{kernel}_data data;
    int32_t size, y_size, pieces, begin = 0, end;
    void *scratch;
    {body}
    scratch = take_buffer(0, &size);
    for (pieces = take_int(); pieces > 0; pieces--, begin = end) {{
        memset(scratch, 0xA5, size);
        end = take_int();
        t_kernels_VOCABULARY.{slot}(&a, &data, begin, end, scratch);
    }}
    fwrite(data.y, 1, y_size, stdout);
}}
"""


def driver_source(vocabulary: str, target: Target) -> str:
    places = {place: (kind, variant) for place, (kind, variant) in enumerate(PLACES) if kind in USED}
    readers = [_reader(place, kind, slot_in(kind, variant, target)) for place, (kind, variant) in places.items()]
    cases = "\n".join(f"        case {place}: run_{place}(); break;" for place in places)
    main = f"""
int main(void) {{
    int32_t count = take_int();
    while (count-- > 0) switch (take_int()) {{
{cases}
        default: return 5;
    }}
    return 0;
}}
"""
    source = _DRIVER + "".join(readers) + main
    return source.replace("VOCABULARY", vocabulary).replace("SLACK", str(input_multiple(target.vocabularies) - 1))


def encode(arguments: Any, target: Target, pieces: Sequence[int], variant: Variant | None = None) -> bytes:
    """One case as the driver reads it."""
    parts = [struct.pack("<i", place_of(arguments, target, variant))]
    for field in in_struct(arguments):
        value = getattr(arguments, field.name)
        if field.name == "window":
            parts.append(struct.pack("<15i", *(getattr(value, item.name) for item in fields(Window))))
        elif field.metadata["c"].endswith("*"):
            parts.append(_buffer(value))
        else:
            parts.append(struct.pack("<f" if field.metadata["c"] == "float" else "<i", value))
    parts.append(_buffer(np.zeros(scratch_bytes(arguments, target, variant) or 8, np.uint8)))
    return b"".join((*parts, struct.pack(f"<{len(pieces) + 1}i", len(pieces), *pieces)))


def _buffer(array: np.ndarray | None) -> bytes:
    return struct.pack("<i", -1) if array is None else struct.pack("<i", array.nbytes) + array.tobytes()


@dataclass(frozen=True)
class Program:
    """A driver that is ready to run."""

    command: tuple[str, ...]
    target: Target

    def run(self, cases: Sequence[Any], parts: Sequence[float] = (1 / 3, 1 / 2, 1), variant: Variant | None = None) -> list[np.ndarray]:
        """y of every case, by a variant or the first that admits it; the items are done in pieces that end at these parts of them, as
        threads would."""
        data = [struct.pack("<i", len(cases))]
        for case in cases:
            items = work_items(case, self.target)
            data.append(encode(case, self.target, [int(items * part) for part in parts], variant))
        done = subprocess.run(self.command, input=b"".join(data), capture_output=True, timeout=300, check=False)
        assert done.returncode == 0, f"{self.command} ended with {done.returncode}: {done.stderr.decode()}"
        results, offset = [], 0
        for case in cases:
            results.append(np.frombuffer(done.stdout, case.y.dtype, case.y.size, offset))
            offset += case.y.nbytes
        assert offset == len(done.stdout)
        return results


# Compiler, emulator and CPU for each processor family; the first CPU that has the vocabulary's instructions.
_FOREIGN = {
    "aarch64": ("aarch64-linux-gnu-gcc", "qemu-aarch64", "/usr/aarch64-linux-gnu", (), "aarch64-linux-gnu"),
    "armv7": ("arm-linux-gnueabihf-gcc", "qemu-arm", "/usr/arm-linux-gnueabihf", ("-march=armv7-a", "-mfpu=neon"), "arm-linux-gnueabihf"),
}
_CPUS = {"portable": "max", "neon": "cortex-a53", "dotprod": "cortex-a76", "i8mm": "max", "neon32": "cortex-a7", "dsp": "cortex-a7"}


@cache
def compile_driver(
    shared: Path, vocabulary: str, target: Target, compiler: str, flags: tuple[str, ...], simulated: bool = False
) -> Program:
    """Builds the driver of one vocabulary, once for all workers of a run; skips the test when a tool of the machine is missing, naming it.

    What the CPU lacks (or all when `simulated`) is computed by SIMDe, without optimization: of its vectors that takes a compiler minutes.
    """
    foreign = target.arch != "x86_64"
    simulated = simulated or (not foreign and not cpu_has(vocabulary))
    if simulated:
        flags = tuple("-O0" if flag.startswith("-O") else flag for flag in flags)
    if "-O0" in flags and not foreign:
        flags = (*flags, NOT_INLINED)
    words = (target.name, target.arch, vocabulary, *(["simde"] if simulated else []), compiler, *flags)
    folder = shared / "int8-kernels" / re.sub(r"[^\w-]+", "_", "_".join(words))
    command, run = compiler_command(target, compiler), (str(folder / "driver"),)
    if foreign:
        _, emulator, root, _, _ = _FOREIGN[target.arch]
        run = (need(emulator), "-L", root, "-cpu", _CPUS[vocabulary], *run)

    def make(folder: Path) -> None:
        slots, driver = choose_all(USED, vocabulary, target), folder / "driver.c"
        driver.write_text(driver_source(vocabulary, target))
        words = [*(simde_command(compiler) if simulated else command), *flags]
        strict = () if simulated else (*fused(target, vocabulary), *STRICT)
        texts = render_kernel_header("t", slots, target), render_kernels("t", vocabulary, slots, target)
        kernels = compile_kernels(shared, vocabulary, *texts, [*words, *strict])
        call([*words, "-std=gnu99", f"-I{kernels.parent}", "-c", str(driver), "-o", str(folder / "driver.o")])
        call([*words, str(kernels), str(folder / "driver.o"), "-o", str(folder / "driver"), "-lm"])

    once(folder, make)
    return Program(run, target)


def compile_kernels(shared: Path, vocabulary: str, header: str, text: str, command: Sequence[str]) -> Path:
    """The object that a command makes of the text, once for all tests of a run."""
    words = [*command, "-std=c99"]
    digest = hashlib.sha256("\0".join([*words, header, text]).encode()).hexdigest()[:16]

    def make(folder: Path) -> None:
        source = folder / f"t_kernels_{vocabulary}.c"
        (folder / "t_kernels.h").write_text(header)
        source.write_text(text)
        call([*words, "-c", str(source), "-o", str(folder / "kernels.o")])

    return once(shared / "int8-objects" / f"{vocabulary}-{digest}", make) / "kernels.o"


def fused(target: Target, vocabulary: str) -> tuple[str, ...]:
    """What lets a compiler fuse multiplications of floats with additions, as an app does that enables all that its processor has."""
    return ("-mfma",) if target.arch == "x86_64" and vocabulary not in ("portable", "sse41") else ()


def compiler_command(target: Target, compiler: str) -> tuple[str, ...]:
    if target.arch == "x86_64":
        if platform.machine() not in ("x86_64", "AMD64"):
            pytest.skip(f"this machine is {platform.machine()}: an x86-64 machine is missing")
        return (need(compiler),)
    gcc, _, _, flags, triple = _FOREIGN[target.arch]
    return (need(gcc), *flags) if compiler == "gcc" else (need(compiler), f"--target={triple}", *flags)


def simde_command(compiler: str) -> tuple[str, ...]:
    """A compiler call in which immintrin.h is SIMDe's: for vocabularies that this machine's CPU lacks. Its functions stay functions, since
    inlined ones take a compiler gigabytes."""
    if not Path("/usr/include/simde/x86/avx512.h").exists():
        pytest.skip("the CPU lacks the instructions, and SIMDe (Debian: libsimde-dev) is missing")
    shim = Path(__file__).parent / "simde"
    return (need(compiler), "-DKERNEL_TARGET=", "-DSIMDE_NO_INLINE", NOT_INLINED, f"-I{shim}", "-fno-strict-aliasing", "-Wno-psabi")


def cpu_has(vocabulary: str) -> bool:
    facts = Path("/proc/cpuinfo")
    flags = facts.read_text().split() if facts.exists() else []
    return all(feature in flags for feature in VOCABULARIES[vocabulary].features)


def need(tool: str) -> str:
    found = shutil.which(tool)
    if found is None:
        pytest.skip(f"{tool} is missing")
    return found


def call(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr[:4000]}"
    return done.stdout
