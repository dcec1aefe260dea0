"""Shared libraries that need no other library: what loaders read in them, and that they answer in any process."""

from __future__ import annotations

import ctypes
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from edgec.base.errors import ToolchainError, UsageError
from edgec.targets import load_target
from edgec.toolchain import freestanding
from edgec.toolchain.freestanding import link_freestanding
from tests.conftest import once, require
from tests.contract.examiner import WHOLE, write_package
from tests.contract.subjects import exam_of, random_net
from tests.toolchain.elf import (
    DF_BIND_NOW,
    DF_TEXTREL,
    EXECUTABLE,
    FLAGS,
    GNU_RELRO,
    GNU_STACK,
    LOAD,
    NEEDED,
    RPATH,
    RUNPATH,
    SONAME,
    TEXTREL,
    Elf,
)  # fmt: skip
from tests.toolchain.zig import need_zig

COMPILERS = ("clang", *(["gcc", "zig"] if WHOLE else []))  # the first is the toolchain's own; ziglang is 400 MB installed
NET = random_net("mobilenet")
PAGE, SMALL_PAGE = 16384, 4096  # memory comes in pages of either size
SHARED_OBJECT = 3
HARD_FLOAT = 0x400
# ABI -> bits, e_machine, its cross gcc and what runs its programs
ABIS = {
    "arm64-v8a": (64, 183, "aarch64-linux-gnu-gcc", ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")),
    "armeabi-v7a": (32, 40, "arm-linux-gnueabihf-gcc", ("qemu-arm", "-L", "/usr/arm-linux-gnueabihf")),
    "x86_64": (64, 62, "gcc", ()),
    "armhf": (32, 40, "arm-linux-gnueabihf-gcc", ("qemu-arm", "-L", "/usr/arm-linux-gnueabihf")),
}
THREADS = {"sched_yield", "sched_getaffinity", "sched_setaffinity", "open", "read", "close", "pthread_create", "pthread_join"} | {
    f"pthread_{what}" for what in ("mutex_init", "mutex_destroy", "mutex_lock", "mutex_unlock", "cond_init", "cond_destroy", "cond_wait")
} | {"pthread_cond_broadcast"}  # fmt: skip
# A function of an application beside the package's own: how many threads a pool gets, and what they do
PROBE = """
#include "NAME_pool.h"
static uint64_t memory[2048];
static void add(void *sum, int32_t part, int32_t parts) { __atomic_add_fetch((int32_t *)sum, part + parts, __ATOMIC_RELAXED); }
__attribute__((visibility("default"))) int32_t Java_org_probe(int32_t threads, int32_t *sum) {
    struct NAME_pool *const pool = NAME_pool_start(memory, sizeof memory, threads);
    int32_t count, round;
    if (pool == NULL) return -1;
    count = pool->threads;
    for (round = 0; round < 3; round++) NAME_pool_parallel_for(pool, add, sum, threads);
    NAME_pool_stop(pool);
    return count;
}
"""
# Loads the library named first, asks its model, prints the answer and the vocabulary
LOADER = """
#include <dlfcn.h>
#include <stdio.h>
#include "NAME.h"
static unsigned char arena[MACRO_ARENA_BYTES] __attribute__((aligned(MACRO_ARENA_ALIGNMENT)));
static float x[MACRO_INPUT_X_ELEMENTS], y[MACRO_OUTPUT_Y_ELEMENTS];
int main(int count, char **words) {
    void *const library = dlopen(words[1], RTLD_NOW);
    NAME_t model;
    if (library == NULL) return fprintf(stderr, "%s\\n", dlerror()), 2;
    if (fread(x, sizeof x, 1, stdin) != 1) return 3;
    if (((int (*)(NAME_t *, void *, size_t))dlsym(library, "NAME_init"))(&model, arena, sizeof arena) != 0) return 4;
    if (((int (*)(NAME_t *, const float *, float *))dlsym(library, "NAME_run"))(&model, x, y) != 0) return 5;
    fprintf(stderr, "%s", ((const char *(*)(const NAME_t *))dlsym(library, "NAME_isa"))(&model));
    return fwrite(y, sizeof y, 1, stdout) == 1 && count == 2 ? 0 : 6;
}
"""


def named(source: str) -> str:
    (output,) = NET.original.outputs
    return source.replace("OUTPUT_Y", f"OUTPUT_{output.upper()}").replace("NAME", NET.name).replace("MACRO", NET.name.upper())


@cache
def exam():
    return exam_of(NET)


def library(shared: Path, abi: str, compiler: str) -> Path:
    """The library for one ABI by clang, a cross gcc or zig, made once."""
    if compiler == "zig":
        need_zig()
    else:
        require(*(("clang", "ld.lld") if compiler == "clang" else (ABIS[abi][2],)))

    def make(folder: Path) -> None:
        write_package(folder, NET, load_target("universal"), exam())
        (folder / "probe.c").write_text(named(PROBE))
        link_freestanding(folder, abi, ABIS[abi][2] if compiler == "gcc" else compiler, ["probe.c"], optimize="-O0")

    return once(shared / f"freestanding-{abi}-{compiler}", make) / f"build/{abi}/lib{NET.name}.so"


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("abi", ABIS)
def test_a_loader_finds_all_it_needs_and_no_more(abi: str, compiler: str, shared: Path) -> None:
    path = library(shared, abi, compiler)
    elf = Elf(path.read_bytes())
    assert (elf.bits, elf.machine, elf.type) == (*ABIS[abi][:2], SHARED_OBJECT)
    assert elf.names(NEEDED) == [] and elf.names(SONAME) == [path.name] and elf.values(RPATH) == elf.values(RUNPATH) == []
    flags = sum(elf.values(FLAGS))
    assert not elf.values(TEXTREL) and not flags & DF_TEXTREL and flags & DF_BIND_NOW
    loads = elf.of(LOAD)
    assert loads and all(load.alignment % PAGE == 0 and (load.address - load.offset) % PAGE == 0 for load in loads)
    (stack,), (relro,) = elf.of(GNU_STACK), elf.of(GNU_RELRO)
    assert not stack.flags & EXECUTABLE
    end, (around,) = relro.address + relro.bytes, [load for load in loads if 0 <= relro.address - load.address < load.bytes]
    behind = around.address + around.bytes
    assert end <= -(-behind // SMALL_PAGE) * SMALL_PAGE, "what becomes read-only is there, even in small pages"
    assert end % PAGE == 0 or end >= behind, "nothing that is written later lies in a page that becomes read-only"
    assert all(load.flags & 3 != 3 for load in loads), "nothing is both written and executed"
    if abi == "armeabi-v7a":
        assert not elf.flags & HARD_FLOAT


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("abi", ABIS)
def test_it_shows_the_interface_and_asks_for_threads_alone(abi: str, compiler: str, shared: Path) -> None:
    symbols = Elf(library(shared, abi, compiler).read_bytes()).symbols
    asked = [symbol for symbol in symbols if not symbol.defined]
    assert {symbol.name for symbol in asked} == THREADS and all(symbol.weak for symbol in asked)
    shown = {symbol.name for symbol in symbols if symbol.defined}
    assert {f"{NET.name}_{what}" for what in ("init", "run", "strerror", "set_features")} | {"Java_org_probe"} <= shown
    assert all(name.startswith((f"{NET.name}_", "Java_")) and "_pool_" not in name and "_kernels_" not in name for name in shown)


@pytest.mark.parametrize(("abi", "isa"), [("x86_64", "sse41"), ("arm64-v8a", "i8mm"), ("armeabi-v7a", "neon32"), ("armhf", "neon32")])
def test_it_answers_as_the_exam_expects(abi: str, isa: str, shared: Path, tmp_path: Path) -> None:
    """Loaded by a program that has a C library."""
    path, (_, _, gcc, emulator) = library(shared, abi, "clang"), ABIS[abi]
    require(gcc, *emulator[:1])
    if abi == "armeabi-v7a":
        path = labelled_as_hard_float(path, tmp_path)
    (tmp_path / "loader.c").write_text(named(LOADER))
    include = library(shared, abi, "clang").parents[2] / "include"
    subprocess.run([gcc, "-O1", f"-I{include}", "loader.c", "-o", "loader", "-ldl"], cwd=tmp_path, check=True)
    for given, expected in zip(exam().inputs, exam().outputs, strict=True):
        done = subprocess.run(
            [*emulator, "./loader", str(path)], cwd=tmp_path, input=given["x"].tobytes(), capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        (answer,) = expected.values()
        assert done.stdout == answer.tobytes() and done.stderr.decode() == isa


def labelled_as_hard_float(path: Path, folder: Path) -> Path:
    """A copy that this machine's 32-bit loader takes: it wants libraries of its own float ABI; no function called here passes a float."""
    data = bytearray(path.read_bytes())
    data[36:40] = ((Elf(bytes(data)).flags & ~0x200) | HARD_FLOAT).to_bytes(4, "little")
    (folder / path.name).write_bytes(data)
    return folder / path.name


def test_threads_are_those_of_the_process(shared: Path) -> None:
    probe = ctypes.CDLL(str(library(shared, "x86_64", "gcc"))).Java_org_probe
    total = ctypes.c_int32(0)
    assert probe(3, ctypes.byref(total)) == 3
    assert total.value == 3 * (0 + 1 + 2 + 3 * 3)


def test_without_threads_the_pool_is_the_caller(shared: Path, tmp_path: Path) -> None:
    """A static program has no symbol that nothing but a weak one asks for."""
    objects = [str(path) for path in library(shared, "x86_64", "gcc").parent.glob("*.o")]
    main = "int Java_org_probe(int threads, int *sum);\nint main(void) { int sum = 0; return 100 * Java_org_probe(3, &sum) + sum; }\n"
    (tmp_path / "main.c").write_text(main)
    subprocess.run(["gcc", "-static", "main.c", *objects, "-o", "main"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"], check=False).returncode == 100 + 3 * (0 + 1 + 2 + 3 * 3)


def test_equal_packages_give_equal_libraries(shared: Path, tmp_path: Path) -> None:
    first = library(shared, "x86_64", "gcc")
    write_package(tmp_path, NET, load_target("universal"), exam())
    (tmp_path / "probe.c").write_text(named(PROBE))
    second = link_freestanding(tmp_path, "x86_64", "gcc", ["probe.c"], result=f"lib/{first.name}", optimize="-O0")
    assert second == tmp_path / f"lib/{first.name}" and second.read_bytes() == first.read_bytes()


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    require("gcc")
    with pytest.raises(UsageError, match="did you mean 'arm64-v8a'"):
        link_freestanding(tmp_path, "arm64-v8")
    with pytest.raises(ToolchainError, match="no such compiler"):
        link_freestanding(tmp_path, "x86_64", "no-such-cc")
    with pytest.raises(ToolchainError, match="not aarch64"):
        link_freestanding(tmp_path, "arm64-v8a", "gcc")
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(freestanding, "find_spec", lambda name: None)
    with pytest.raises(ToolchainError, match="ANDROID_NDK_HOME") as caught:
        link_freestanding(tmp_path, "arm64-v8a")
    assert any("aarch64-linux-gnu-gcc" in problem.where for problem in caught.value.problems)


ARITHMETIC = """
#include <stdint.h>
#include <stdio.h>
int main(void) {
    int64_t n, d;
    while (fread(&n, 8, 1, stdin) == 1 && fread(&d, 8, 1, stdin) == 1) {
        const uint64_t un = (uint64_t)n, ud = (uint64_t)d;
        const int32_t n32 = (int32_t)n >> 1, d32 = (int32_t)d | 1;
        const uint32_t un32 = (uint32_t)n, ud32 = (uint32_t)d | 1;
        const double x = (double)n, ux = (double)un;
        const float f = (float)n, uf = (float)un;
        const int64_t results[] = {n / d, n % d, (int64_t)(un / ud), (int64_t)(un % ud), n32 / d32, n32 % d32, un32 / ud32, un32 % ud32,
            (int64_t)(un << (ud & 63)), (int64_t)(un >> (ud & 63)), n >> (ud & 63), (int64_t)(x / 3), (int64_t)(uint64_t)(ux / 3)};
        fwrite(results, sizeof results, 1, stdout);
        fwrite(&x, 8, 1, stdout), fwrite(&ux, 8, 1, stdout), fwrite(&f, 4, 1, stdout), fwrite(&uf, 4, 1, stdout);
    }
    return 0;
}
"""


def test_what_compilers_call_on_32_bit_arm_is_right(needs, tmp_path: Path) -> None:
    needs("arm-linux-gnueabihf-gcc", "qemu-arm")
    (tmp_path / "main.c").write_text(ARITHMETIC)
    own = freestanding.resource("runtimes", "freestanding")
    command = ["arm-linux-gnueabihf-gcc", "-march=armv7-a", "-mfpu=neon", "-O1", "-static", "main.c", str(own / "arm.c"), "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    random = np.random.default_rng(5)
    wide = random.integers(-(2**63) + 1, 2**63 - 1, (400, 2)) >> random.integers(0, 63, (400, 2))
    edges = [-(2**63) + 1, -(2**53) - 1, -(2**32), -(2**31), -1, 1, 2**24 + 1, 2**31 - 1, 2**32 - 1, 2**53 + 1, 2**62 + 2**38, 2**63 - 1]
    pairs = np.concatenate([wide, [(n, d) for n in [0, *edges] for d in edges]])
    pairs[:, 1] = np.where(pairs[:, 1] == 0, 7, pairs[:, 1])
    done = subprocess.run(["qemu-arm", str(tmp_path / "main")], input=pairs.tobytes(), capture_output=True, check=True)
    row = np.dtype([("whole", "<i8", 13), ("double", "<f8", 2), ("float", "<f4", 2)])
    found = np.frombuffer(done.stdout, row)
    assert len(found) == len(pairs)
    for (n, d), got in zip(pairs.tolist(), found, strict=True):
        assert [int(value) for value in got["whole"]] == answers(n, d), (n, d)
        assert list(got["double"]) == [float(n), float(n % 2**64)] and list(got["float"]) == [
            np.float32(n),
            np.float32(np.uint64(n % 2**64)),
        ]


def answers(n: int, d: int) -> list[int]:
    """What the program must say, in Python's whole numbers and IEEE doubles."""
    un, ud, shift = n % 2**64, d % 2**64, d % 64
    n32, d32, un32, ud32 = signed(n, 32) >> 1, signed(d | 1, 32), n % 2**32, (d | 1) % 2**32
    whole = [*divided(n, d), un // ud, un % ud, *divided(n32, d32), un32 // ud32, un32 % ud32]
    whole += [un << shift, un >> shift, n >> shift, int(float(n) / 3), int(float(un) / 3)]
    return [signed(value, 64) for value in whole]


def divided(n: int, d: int) -> tuple[int, int]:
    """As C divides: towards zero."""
    quotient = abs(n) // abs(d) * (1 if (n < 0) == (d < 0) else -1)
    return quotient, n - quotient * d


def signed(value: int, bits: int) -> int:
    return (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
