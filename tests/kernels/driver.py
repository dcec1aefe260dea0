"""Runs template kernels outside of any package: cases go to a small C program in one file, the bytes of `y` come back in another.

The same program serves every vocabulary, compiler and emulator. Each pointer argument ends right before a page that may not be touched, or
is an allocation of exactly its own size where AddressSanitizer sees one element too many; WebAssembly has neither.
"""

from __future__ import annotations

import functools
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from edgec.emit.kernels import render_kernel_header, render_kernels
from edgec.kernels import (
    HALF_OF,
    AttentionFloat,
    ConvFloat,
    ConvInt16,
    DepthwiseFloat,
    DepthwiseInt16,
    GeluFloat,
    PackFloat,
    PoolAverageFloat,
    PoolAverageInt8,
    PoolMaxFloat,
    PoolMaxInt8,
    ProductFloat,
    RowsCodes4,
    RowsCodes8,
    SwishFloat,
)
from edgec.program.arguments import Arguments, Window, in_struct
from edgec.schedule import choose_all
from edgec.targets import Target, command_of
from tests.conftest import once
from tests.kernels.int8_harness import cpu_has, need, simde_command
from tests.kernels.work import PLACES, place_of, scratch_bytes, slot_in, work_items

DRIVEN: frozenset[type[Arguments]] = frozenset({
    ConvInt16, DepthwiseInt16, ConvFloat, DepthwiseFloat, PoolMaxInt8, PoolMaxFloat, PoolAverageInt8, PoolAverageFloat,
    RowsCodes4, RowsCodes8, PackFloat, ProductFloat, AttentionFloat, SwishFloat, GeluFloat,
})  # fmt: skip
QEMU_ARM64 = ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-cpu", "max")
QEMU_ARM32 = ("qemu-arm", "-L", "/usr/arm-linux-gnueabihf")


@dataclass(frozen=True)
class Build:
    """One compilation of one vocabulary's kernels."""

    vocabulary: str
    compiler: tuple[str, ...] = ("gcc",)
    flags: tuple[str, ...] = ("-O1",)
    emulator: tuple[str, ...] = ()
    signed: bool = False
    halves: bool = False  # the kernels of halves in place of all others
    simde: bool = False  # intrinsics by SIMDe, as for a vocabulary that the processor lacks
    libraries: tuple[str, ...] = ("-lm",)

    def __str__(self) -> str:
        words = [
            self.vocabulary,
            *(["simde"] if self.simde else []),
            *(["signed"] if self.signed else []),
            *(["halves"] if self.halves else []),
            Path(self.compiler[0]).name,
            *self.compiler[1:],
            *self.flags,
        ]
        return "-".join(word.lstrip("-") for word in words)

    @property
    def kinds(self) -> frozenset[type[Arguments]]:
        """The kernels that are driven."""
        return frozenset(HALF_OF.values()) if self.halves else DRIVEN

    @property
    def target(self) -> Target:
        return Target("test", "", "", "", (self.vocabulary,), self.signed)


@dataclass(frozen=True)
class Case:
    """Arguments of one call: a dataclass of edgec/kernels with arrays for its pointers; `y` holds what lies there before."""

    arguments: object
    splits: tuple[int, ...] = ()  # borders between the item ranges of successive calls


def run(build: Build, cases: Sequence[Case], shared: Path) -> list[np.ndarray]:
    """What lies in each case's `y` after its call."""
    program = compile_driver(build, shared)
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, "cases"), Path(folder, "results")
        source.write_bytes(b"".join(_encode(case, build.target) for case in cases) + struct.pack("<i", -1))
        subprocess.run(command_of(build.emulator, str(program), str(source), str(result)), check=True, timeout=300)
        content = result.read_bytes()
    outputs, at = [], 0
    for case in cases:
        y: np.ndarray = case.arguments.y
        outputs.append(np.frombuffer(content, y.dtype, y.size, at).reshape(y.shape))
        at += y.nbytes
    assert at == len(content)
    return outputs


def compile_driver(build: Build, shared: Path) -> Path:
    """The driver with all kernels of the build in it; compiled once in a test run."""
    for tool in (build.compiler[0], *build.emulator[:1]):
        need(tool)
    return once(shared / "kernels" / str(build).replace("/", "_"), functools.partial(_compile, build)) / "driver"


def _compile(build: Build, folder: Path) -> None:
    suffix = "cpp" if "c++" in build.compiler else "c"
    slots = choose_all(build.kinds, build.vocabulary, build.target)
    (folder / "t_kernels.h").write_text(render_kernel_header("t", slots, build.target), encoding="utf-8")
    (folder / f"kernels.{suffix}").write_text(render_kernels("t", build.vocabulary, slots, build.target), encoding="utf-8")
    (folder / f"driver.{suffix}").write_text(_driver(build), encoding="utf-8")
    standard = "-std=c++17" if suffix == "cpp" else "-std=c99"
    strict = [standard] if build.simde else [standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    compiler = build.compiler
    if build.simde or not (build.emulator or cpu_has(build.vocabulary)):
        compiler = (*simde_command(compiler[0]), *compiler[1:])
    command = [*compiler, *strict, *build.flags, "-o", "driver", f"driver.{suffix}", f"kernels.{suffix}", *build.libraries]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)} in {folder}\n{done.stderr[:4000]}"


def _encode(case: Case, target: Target) -> bytes:
    arguments = case.arguments
    items = work_items(arguments, target)
    borders = (0, *sorted(border % (items + 1) for border in case.splits), items)
    parts = [struct.pack("<i", place_of(arguments, target))]
    for field in in_struct(arguments):
        value = getattr(arguments, field.name)
        if isinstance(value, Window):
            parts += [struct.pack("<i", getattr(value, inner.name)) for inner in fields(Window)]
        elif field.metadata["c"].endswith("*"):
            content = b"" if value is None else np.ascontiguousarray(value).tobytes()
            parts += [struct.pack("<i", -1 if value is None else len(content)), content]
        else:
            parts.append(struct.pack("<f" if field.metadata["c"] == "float" else "<i", value))
    parts.append(struct.pack(f"<ii{len(borders)}i", scratch_bytes(arguments, target), len(borders), *borders))
    return b"".join(parts)


def _driver(build: Build) -> str:
    bodies, cases = [], []
    for place, (kind, variant) in enumerate(PLACES):
        if kind not in build.kinds:
            continue
        name, pointers = kind.kernel, [f.name for f in in_struct(kind) if f.name != "window" and f.metadata["c"].endswith("*")]
        lines = [
            f"static void run_{place}(FILE *in, FILE *out) {{",
            f"    struct t_{name} a;",
            f"    struct t_{name}_data data;",
            *(f"    int32_t {name}_size = 0;" for name in pointers),
        ]
        for field in in_struct(kind):
            if field.name == "window":
                lines.append("    get(in, &a.window, sizeof a.window);")
            elif field.metadata["c"].endswith("*"):
                lines.append(f"    data.{field.name} = ({field.metadata['c']})get_array(in, &{field.name}_size);")
            else:
                lines.append(f"    get(in, &a.{field.name}, 4);")
        lines += [
            f"    RUN_ITEMS({slot_in(kind, variant, build.target)})",
            "    if (fwrite(data.y, 1, (size_t)y_size, out) != (size_t)y_size) exit(3);",
        ]
        lines += [f"    leave((void *)data.{name}, (size_t){name}_size);" for name in pointers]
        bodies.append("\n".join([*lines, "}"]))
        cases.append(f"        case {place}: run_{place}(in, out); break;")
    text = _DRIVER.replace("@VOCABULARY@", build.vocabulary)
    return text.replace("@BODIES@", "\n\n".join(bodies)).replace("@CASES@", "\n".join(cases))


_DRIVER = """
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "t_kernels.h"
#if (defined(__linux__) || defined(MICRO)) && !defined(__SANITIZE_ADDRESS__)
#include <sys/mman.h>
#include <unistd.h>

static void *room(size_t size) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (size + page - 1) / page * page;
    char *const memory = (char *)mmap(0, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + whole, page, PROT_NONE)) exit(5);
    return memory + whole - size;
}

static void leave(void *p, size_t size) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (size + page - 1) / page * page;
    if (p) munmap((char *)p + size - whole, whole + page);
}
#else
static void *room(size_t size) { return malloc(size); }
static void leave(void *p, size_t size) { (void)size, free(p); }
#endif

static void get(FILE *in, void *to, size_t size) {
    if (fread(to, 1, size, in) != size) exit(2);
}

static void *get_array(FILE *in, int32_t *size) {
    void *p;
    get(in, size, 4);
    if (*size < 0) return 0;
    p = room((size_t)*size);
    get(in, p, (size_t)*size);
    return p;
}

#define RUN_ITEMS(slot) \\
    int32_t bytes, count, from, to, i; \\
    char *memory, *scratch; \\
    get(in, &bytes, 4); \\
    get(in, &count, 4); \\
    get(in, &from, 4); \\
    memory = (char *)malloc((size_t)bytes + 64); \\
    scratch = memory + 64 - (uintptr_t)memory % 64; \\
    memset(memory, 0xA5, (size_t)bytes + 64); \\
    for (i = 1; i < count; i++, from = to) { \\
        get(in, &to, 4); \\
        t_kernels_@VOCABULARY@.slot(&a, &data, from, to, scratch); \\
    } \\
    free(memory);

@BODIES@

int main(int argc, char **argv) {
    FILE *const in = fopen(argv[argc - 2], "rb"), *const out = fopen(argv[argc - 1], "wb");
    int32_t kind;
    if (!in || !out) return 4;
    for (get(in, &kind, 4); kind >= 0; get(in, &kind, 4)) {
        switch (kind) {
@CASES@
        }
    }
    return fclose(in) | fclose(out);
}
"""
