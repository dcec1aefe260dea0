"""Ready-made shared libraries of packages that load with any C library, or none: they need no other library and carry what they call."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from edgec.base.errors import Problem, ToolchainError, UsageError, did_you_mean
from edgec.base.resources import resource
from edgec.cache import NOTHING, Store
from edgec.package.manifest import read_manifest
from edgec.toolchain.call import call, optimization
from edgec.toolchain.find import PREFIXES, Compiler, machine_of, words_of
from edgec.toolchain.objects import compile_object
from edgec.toolchain.sources import core_sources
from edgec.toolchain.together import each


@dataclass(frozen=True)
class Abi:
    """A processor and how its functions are called. The triples make compilers use no more than the ABI; no system's headers are read."""

    name: str
    arch: str  # as Target.arch
    clang: str  # -target of clang and of the NDK's
    zig: str  # -target of zig; for Android it calls functions that are not there, or has no NEON
    gcc: str  # the cross compiler of distributions
    gcc_flags: tuple[str, ...] = ()
    clang_flags: tuple[str, ...] = ()
    zig_flags: tuple[str, ...] = ()  # zig knows processors by -mcpu alone


_ARM = ("-march=armv7-a", "-mfpu=neon")
_ZIG_ARM = ("-mcpu=generic+v7a+neon",)
ABIS = {
    abi.name: abi
    for abi in (
        # the names that Android has
        Abi(
            "arm64-v8a", "aarch64", "aarch64-linux-android21", "aarch64-linux-musl", "aarch64-linux-gnu-gcc",
            gcc_flags=("-mno-outline-atomics",), clang_flags=("-mno-outline-atomics",), zig_flags=("-mno-outline-atomics",),
        ),
        Abi(
            "armeabi-v7a", "armv7", "armv7a-linux-androideabi21", "arm-linux-musleabihf", "arm-linux-gnueabihf-gcc",
            gcc_flags=(*_ARM, "-mthumb", "-mfloat-abi=softfp"), clang_flags=(*_ARM, "-mthumb", "-mfloat-abi=softfp"),
            zig_flags=(*_ZIG_ARM, "-mfloat-abi=softfp"),
        ),
        Abi("x86_64", "x86_64", "x86_64-linux-android21", "x86_64-linux-musl", "x86_64-linux-gnu-gcc"),
        # 32-bit ARM Linux, which passes floats in floating-point registers
        Abi(
            "armhf", "armv7", "armv7a-linux-gnueabihf", "arm-linux-musleabihf", "arm-linux-gnueabihf-gcc",
            gcc_flags=(*_ARM, "-mthumb"), clang_flags=(*_ARM, "-mthumb", "-mfloat-abi=hard"), zig_flags=_ZIG_ARM,
        ),
    )
}  # fmt: skip

COMPILING = (
    "-std=c99", "-ffreestanding", "-fPIC", "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections", "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-ident",
)  # fmt: skip
LINKING = (
    "-nostdlib", "-shared", "-Wl,-s", "-Wl,--gc-sections", "-Wl,-Bsymbolic", "-Wl,--build-id=none", "-Wl,--hash-style=both",
    "-Wl,-z,defs", "-Wl,-z,noexecstack", "-Wl,-z,relro", "-Wl,-z,now",
    "-Wl,-z,max-page-size=16384",
)  # fmt: skip


def link_freestanding(
    directory: Path,
    abi: str,
    cc: str | None = None,
    sources: Sequence[str] = (),
    flags: Sequence[str] = (),
    result: str | None = None,
    optimize: str = "-O3",
    store: Store = NOTHING,
) -> Path:
    """The shared library of the package in `directory` for one of ABIS: its core, its task and its pool.

    It needs no library, its parts in memory begin at multiples of 16 KiB, and it shows the package's API (and what `sources` show)
    alone. Threads are those of the process, where it has pthread_create among its symbols; elsewhere the pool is one thread.
    sources: more C files, as paths in the package, which may include what the package's own sources include. flags: for compiling.
    result: path in the package; build/ABI/libNAME.so unless given. Its file name becomes the library's name.
    UsageError for an unknown ABI; ToolchainError where no compiler makes code for it, or in the compiler's own words.
    """
    if abi not in ABIS:
        raise UsageError(f"unknown ABI {abi!r}", hint=did_you_mean(abi, ABIS))
    compiler = find_freestanding(abi, cc)
    manifest, _ = read_manifest(directory)
    name, out = manifest.name, f"build/{abi}"
    library = result or f"{out}/lib{name}.so"
    for folder in (directory / out, (directory / library).parent):
        folder.mkdir(parents=True, exist_ok=True)
    own = resource("runtimes", "freestanding")
    words = [*COMPILING, *optimization(compiler, optimize), f"-I{own}", "-Iinclude", "-Isrc", *flags]
    whole = [*core_sources(manifest, directory), f"src/{name}_pool.c", *sources, str(own / "memory.c"), str(own / "arm.c")]

    def compile_one(numbered: tuple[int, str]) -> str:
        index, source = numbered
        made = f"{out}/{index}_{Path(source).stem}.o"  # packages may be called as our own files are
        compile_object(compiler, directory, source, words, made, store)
        return made

    objects = each(compile_one, enumerate(whole))
    named = f"-Wl,-soname,{Path(library).name}"
    call([*compiler.command, *LINKING, named, "-o", library, *objects], compiler, directory, library)
    (directory / library).chmod(0o644)  # linkers take it for a program
    return directory / library


def find_freestanding(abi: str, cc: str | None = None) -> Compiler:
    """The first that makes such libraries: `cc` (a clang, a gcc or "zig"), the NDK's clang, clang with lld, a cross gcc, ziglang."""
    known, tried = ABIS[abi], []
    if cc == "zig":
        return _zig(known)
    if cc:
        words = words_of(cc, "--cc")
        if not words or shutil.which(words[0]) is None:
            raise ToolchainError(f"no such compiler: {cc}", where="--cc", hint="name one that is installed")
        return _clang(words, known, "--cc") if "clang" in Path(words[0]).name else _gcc(words, known, "--cc")
    for program, origin in _candidates(known):
        found = shutil.which(program)
        if found is not None:
            return _clang((found,), known, origin) if "clang" in Path(program).name else _gcc((found,), known, origin)
        tried.append(Problem("not found", f"{program} ({origin})"))
    if find_spec("ziglang") is not None:
        return _zig(known)
    hint = f"set ANDROID_NDK_HOME, or apt install clang lld, or apt install {_package(known.gcc)}, or pip install 'edgec[zig]'"
    raise ToolchainError(f"no compiler for shared libraries of {abi}", tried, hint=hint)


def _candidates(abi: Abi) -> Iterator[tuple[str, str]]:
    ndk = os.environ.get("ANDROID_NDK_HOME") or os.environ.get("ANDROID_NDK_ROOT")
    if ndk:
        yield from ((str(folder / "clang"), "Android NDK") for folder in sorted(Path(ndk).glob("toolchains/llvm/prebuilt/*/bin")))
    if shutil.which("ld.lld"):
        yield "clang", "with lld"
    yield abi.gcc, "cross compiler"


def _clang(words: tuple[str, ...], abi: Abi, origin: str) -> Compiler:
    command = (*words, f"--target={abi.clang}", "-fuse-ld=lld", "-nostdlibinc", "-Qunused-arguments", *abi.clang_flags)
    return Compiler(command, ("llvm-ar",), origin)


def _gcc(words: tuple[str, ...], abi: Abi, origin: str) -> Compiler:
    """gcc keeps its own headers (of intrinsics, say) apart from the system's, which it may not read: they fit one ABI.

    GNU ld puts other data right behind what becomes read-only, so that must end with a page of 16 KiB. lld never does, and would
    count memory to it that is not there.
    """
    machine = machine_of(words)
    if not machine.startswith(PREFIXES[abi.arch]):
        what = f"{' '.join(words)} makes code for {machine or 'an unknown processor'}, not {abi.arch}"
        raise ToolchainError(what, where=origin, hint=f"name {abi.gcc}, or a clang where lld is installed")
    folder = Path(shutil.which(words[0]) or words[0])
    place = Compiler(words, ("ar",), origin)
    own = call([*words, "-print-file-name=include"], place, folder.parent, words[0]).strip()
    return Compiler(
        (*words, "-nostdinc", "-isystem", own, "-Wl,-z,noseparate-code", "-Wl,-z,common-page-size=16384", *abi.gcc_flags), ("ar",), origin
    )


def _zig(abi: Abi) -> Compiler:
    zig = (sys.executable, "-m", "ziglang")
    return Compiler((*zig, "cc", "-target", abi.zig, *abi.zig_flags, "-nostdlibinc"), (*zig, "ar"), "ziglang", is_zig=True)


def _package(gcc: str) -> str:
    return f"gcc-{gcc.removesuffix('-gcc').replace('_', '-')}"
