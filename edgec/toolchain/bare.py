"""Compiling a package for a processor without a system: a library, and the exam as an image that an emulator or a debugger starts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from edgec.cache import NOTHING, Store
from edgec.package.manifest import read_manifest
from edgec.targets import Target
from edgec.toolchain.call import Built, call, optimization
from edgec.toolchain.elf import memory_of
from edgec.toolchain.find import Compiler, find_compiler
from edgec.toolchain.made import Made, write_made
from edgec.toolchain.objects import compile_object
from edgec.toolchain.sources import core_sources
from edgec.toolchain.together import each

COMPILING = (
    "-std=c99", "-ffreestanding", "-ffunction-sections", "-fdata-sections", "-fno-stack-protector", "-fno-asynchronous-unwind-tables",
    "-fno-unwind-tables", "-Iexam", "-Iinclude", "-Isrc",
)  # fmt: skip
LINKING = ("-nostdlib", "-static", "-Wl,--gc-sections")


def compile_bare(
    directory: Path, target: Target, cc: str | None = None, optimize: str = "-O3", extra_flags: Sequence[str] = (), store: Store = NOTHING
) -> Built:
    """What compile_package does, for targets without an operating system. build/micro/README.txt says what takes how much memory."""
    compiler = find_compiler(target, cc)
    manifest, _ = read_manifest(directory)
    name, out = manifest.name, directory / "build"
    out.mkdir(exist_ok=True)
    core = core_sources(manifest, directory)
    exam = [f"exam/{name}_exam.c", f"exam/{name}_vectors.c"] if (directory / f"exam/{name}_exam.c").exists() else []
    exam += ["exam/board.c", "exam/memory.c", *_helpers(compiler)] if exam else []
    flags = [*COMPILING, *optimization(compiler, optimize), *target.flags, *extra_flags]

    def one(source: str) -> str:
        result = f"build/{Path(source).stem}.o"
        compile_object(compiler, directory, source, flags, result, store)
        return result

    objects = each(one, [*core, *exam])
    library = out / f"lib{name}.a"
    library.unlink(missing_ok=True)
    call([*compiler.archiver, "rcs", f"build/{library.name}", *objects[: len(core)]], compiler, directory, library.name)
    if exam:
        words = [*compiler.command, *target.flags, *extra_flags, *LINKING, f"-Wl,-T,exam/{name}_board.ld", "-o", f"build/{name}_exam"]
        call([*words, *objects, *_libraries(compiler)], compiler, directory, f"{name}_exam")
    made = tuple(directory / path for path in objects[: len(core)])
    flash, ram = (sum(column) for column in zip(*(memory_of(path.read_bytes()) for path in made), strict=True))
    notes = _told(flash, ram, manifest.weights.bytes, manifest.arena.bytes, target)
    write_made(directory, "micro", "What the package takes of a microcontroller's memory.", Made((), notes))
    return Built(out / f"{name}_exam" if exam else None, library, made, compiler)


def _is_clang(compiler: Compiler) -> bool:
    return "clang" in Path(compiler.command[0]).name


def _helpers(compiler: Compiler) -> list[str]:
    """What clang calls by itself, and comes without; gcc has a library of it."""
    return ["exam/arm.c"] if _is_clang(compiler) else []


def _libraries(compiler: Compiler) -> list[str]:
    return [] if _is_clang(compiler) else ["-lgcc"]


def _told(flash: int, ram: int, weights: int, arena: int, target: Target) -> tuple[str, ...]:
    """Sentences for whoever chooses a microcontroller."""
    flash_there, ram_there = target.board[1], target.board[3]
    return (
        f"flash: {flash:,} bytes, of which {weights:,} are weights; the emulated board has {flash_there}iB",
        f"RAM: {ram + arena:,} bytes of arena, beside the stack, the inputs and the outputs; the emulated board has {ram_there}iB",
    )
