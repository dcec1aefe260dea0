"""Compiling a package directory into objects, libraries and the exam program, under DIRECTORY/build."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from edgec.base.environment import child_environment
from edgec.base.errors import ToolchainError, UsageError
from edgec.cache import NOTHING, Store
from edgec.package.manifest import read_manifest
from edgec.targets import Target, command_of, runs_here
from edgec.toolchain.android import make_android
from edgec.toolchain.apple import make_apple
from edgec.toolchain.bare import compile_bare
from edgec.toolchain.call import Built, call, optimization
from edgec.toolchain.find import Compiler, find_compiler
from edgec.toolchain.objects import compile_object
from edgec.toolchain.sources import core_sources
from edgec.toolchain.together import Tell, each, silent
from edgec.toolchain.wasm import compile_web

# system -> what a shared library is called there, and the linker's words for it; packages for other systems get an archive alone
SHARED = {
    "linux": ("lib{}.so", "-shared"),
    "macos": ("lib{}.dylib", "-shared", "-Wl,-install_name,@rpath/lib{}.dylib"),
    "windows": ("{}.dll", "-shared", "-Wl,--out-implib,build/{}.lib"),
}
LEVELS = {"none": "-O2"}  # where -O3 takes more flash, and more instructions
_HERE = {"darwin": "macos", "win32": "windows"}  # sys.platform -> system; all others are taken for Linux


def compile_package(
    directory: Path, target: Target, cc: str | None = None, optimize: str = "", extra_flags: Sequence[str] = (),
    store: Store = NOTHING, tell: Tell = silent,
) -> Built:  # fmt: skip
    """Compile the package in `directory`, with objects of the store where it has them. ToolchainError as the compiler words it."""
    optimize = optimize or LEVELS.get(target.os, "-O3")
    alone = {"web": compile_web, "none": compile_bare}.get(target.os)
    if alone is not None:
        return alone(directory, target, cc, optimize, extra_flags, store)
    compiler = find_compiler(target, cc)
    manifest, _ = read_manifest(directory)
    name, gpu = manifest.name, manifest.gpu.api if manifest.gpu else None
    out = directory / "build"
    try:
        out.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write: {error.strerror}", where=str(out)) from error
    flags = [
        "-std=c99",
        *optimization(compiler, optimize),
        *_position(target),
        *(target.zig_flags if compiler.is_zig else target.flags),
        "-Iinclude",
        "-Isrc",
        "-Iexam",
        *extra_flags,
    ]
    core = core_sources(manifest, directory)
    linking = () if compiler.is_zig else target.flags  # zig would make its C library anew for the processor
    hosts, libraries = _gpu_part(name, gpu, compiler)
    pool = [] if target.os == "windows" else [f"src/{name}_pool.c"]
    pool += hosts
    exam = (
        [f"exam/{name}_exam.c", f"exam/{name}_vectors.c"]
        if (directory / f"exam/{name}_exam.c").exists() and target.os not in ("ios", "windows")
        else []
    )
    sources = [*core, *pool, *exam]
    objects = each(lambda source: _compile(compiler, directory, source, flags, store), sources, tell=tell)
    inner, linked = objects[: len(core)], objects[: len(core) + len(pool)]
    library = _archive(compiler, directory, linked, out / f"lib{name}.a")
    shared = SHARED.get(_system(target))
    if shared is not None:
        words = [word.format(name) for word in shared[1:]]
        library = _link(compiler, directory, linked, out / shared[0].format(name), [*linking, *words, *extra_flags], libraries)
    program = None
    if exam:
        program = _link(
            compiler, directory, objects, out / f"{name}_exam", [*linking, *_static(target, compiler, gpu), *extra_flags], libraries
        )
    if manifest.android:
        make_android(directory, optimize, store)
    if manifest.swift:
        make_apple(directory, optimize)
    return Built(program, library, tuple(inner), compiler)


def run_exam(built: Built, target: Target, args: Sequence[str] = (), stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run the exam program, through the target's emulator where this machine needs one."""
    if built.exam is None:
        raise ToolchainError("the exam was not compiled", hint=f"target {target.name} cannot be linked here")
    try:
        command = command_of(target.emulator, str(built.exam), *args)
        return subprocess.run(command, env=child_environment(), input=stdin, capture_output=True, check=False)
    except OSError as error:
        raise ToolchainError(str(error), where=target.emulator[0] if target.emulator else str(built.exam)) from error


def _system(target: Target) -> str:
    """The system that the target's programs are for; those for any are compiled for this one."""
    return _HERE.get(sys.platform, "linux") if target.os == "any" else target.os


def _position(target: Target) -> list[str]:
    return [] if target.os == "windows" else ["-fPIC", "-fvisibility=hidden"]


def _gpu_part(name: str, api: str | None, compiler: Compiler) -> tuple[list[str], list[str]]:
    """The sources of the package's host for GPUs, and what they are linked with. Metal's needs a Mac; elsewhere the library says NO_GPU."""
    if api == "vulkan":
        return [f"src/{name}_vulkan_host.c", f"src/{name}_gpu_tables.c", f"src/{name}_shaders.c"], ["-ldl"]
    if api == "metal":
        tables = [f"src/{name}_gpu_tables.c", f"src/{name}_metal_source.c"]
        if sys.platform == "darwin" and not compiler.is_zig:
            return [*tables, f"src/{name}_metal.m"], ["-framework", "Foundation", "-framework", "Metal"]
        return [*tables, f"src/{name}_metal_none.c"], []
    return [], []


def _static(target: Target, compiler: Compiler, gpu: str | None) -> list[str]:
    """A program for another machine brings its C library along, unless it opens the driver of a GPU there."""
    foreign = not runs_here(target) and target.os in ("linux", "android") and "android" not in compiler.command[0]
    return ["-static"] if foreign and not (gpu and target.os == "linux") else []


def _compile(compiler: Compiler, directory: Path, source: str, flags: Sequence[str], store: Store) -> Path:
    result = directory / "build" / f"{Path(source).stem}.o"
    arc = ["-fobjc-arc"] if source.endswith(".m") else []
    compile_object(compiler, directory, source, [*flags, *arc], f"build/{result.name}", store)
    return result


def _archive(compiler: Compiler, directory: Path, objects: Sequence[Path], result: Path) -> Path:
    result.unlink(missing_ok=True)
    call([*compiler.archiver, "rcs", *_names([result, *objects])], compiler, directory, result.name)
    return result


def _link(
    compiler: Compiler, directory: Path, objects: Sequence[Path], result: Path, flags: Sequence[str], libraries: Sequence[str]
) -> Path:
    words = [*compiler.command, *flags, "-o", f"build/{result.name}", *_names(objects), "-pthread", *libraries]
    call(words, compiler, directory, result.name)
    return result


def _names(paths: Sequence[Path]) -> list[str]:
    return [f"build/{path.name}" for path in paths]
