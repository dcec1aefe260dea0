"""Compiling a package into its WebAssembly modules, web/NAME.wasm and the others that the manifest names, and the exam's questions."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from edgec.base.errors import ToolchainError
from edgec.cache import NOTHING, Store
from edgec.package.manifest import read_manifest
from edgec.targets import Target
from edgec.toolchain.call import Built, call, optimization
from edgec.toolchain.find import Compiler, find_compiler
from edgec.toolchain.made import Made, write_made
from edgec.toolchain.objects import compile_object
from edgec.toolchain.together import each

STACK_BYTES = 65536  # four times what a run takes; below the data, so that a stack too deep is a trap
# Engines that have SIMD128 have the instructions that copy, too; objects may say that they have atomics wherever they are linked
SIMD = ("-msimd128", "-mbulk-memory", "-matomics", "-mmutable-globals")
INSTRUCTIONS = {  # by what modules' names end with
    "": SIMD, "_baseline": ("-mno-simd128", "-mno-bulk-memory"), "_relaxed": (*SIMD, "-mrelaxed-simd"),
}  # fmt: skip
LEAST_RELAXED = 17  # version of clang that has the relaxed dot product, which kernels ask for too
FREESTANDING = ("-std=c99", "-ffunction-sections", "-fvisibility=hidden", "-nostdlibinc", "-Isrc/web", "-Iinclude", "-Isrc", "-Iexam")
LINKING = ("-nostdlib", "-Wl,--no-entry", "-Wl,--gc-sections", "-Wl,--strip-all", f"-Wl,-z,stack-size={STACK_BYTES}")
# a module for several threads takes the memory that they share, as much as JavaScript gives
MOST_MEMORY = (1 << 32) - 65536  # a page less than addresses reach, since zig takes 32 bits
SHARING = (
    "-matomics", "-mbulk-memory",  # which zig asks for
    "-Wl,--shared-memory", "-Wl,--import-memory", f"-Wl,--max-memory={MOST_MEMORY}", "-Wl,--export=__stack_pointer",
)  # fmt: skip
_TOO_OLD = (
    f"the modules named _relaxed are copies of those without: relaxed dot products need clang {LEAST_RELAXED} or later, or zig; "
    "--cc names another compiler"
)
STACK_FIRST = "-Wl,--stack-first"  # zig does so by itself, and does not know the words


def compile_web(
    directory: Path, target: Target, cc: str | None = None, optimize: str = "-O3", extra_flags: Sequence[str] = (), store: Store = NOTHING
) -> Built:
    """What build.compile_package does, for packages of the form `web`. The exam is a program of Node's."""
    compiler = find_compiler(target, cc)
    _check_linker(compiler, directory)
    manifest, _ = read_manifest(directory)
    name, modules, out = manifest.name, manifest.made or (), directory / "build"
    out.mkdir(exist_ok=True)
    web, weights = f"src/web/{name}_web", f"src/{name}_weights"
    core = [f"src/{name}", f"src/{name}_dispatch", "src/web/memory", *(f"src/{name}_kernels_{isa}" for isa in manifest.vocabularies)]
    core += [f"src/{name}_{part}" for part in ("task", "picture") if (directory / f"src/{name}_{part}.c").exists()]
    flags = [*FREESTANDING, *optimization(compiler, optimize), *extra_flags]
    made: list[str] = []
    old = f"web/{name}_relaxed.wasm" in modules and _lacks_relaxed(compiler, directory)
    for end, instructions in INSTRUCTIONS.items():
        if f"web/{name}{end}.wasm" not in modules or (old and end == "_relaxed"):
            continue
        objects = _compile(compiler, directory, [*core, weights, web], [*flags, *instructions], end, store)
        _link(compiler, directory, objects, f"web/{name}{end}.wasm")
        made += objects
        if f"web/{name}_threads{end}.wasm" in modules:
            own, words = [web, f"src/{name}_pool", "src/web/threads"], [*flags, *instructions, "-DEDGEC_WEB_THREADS"]
            sharing = _compile(compiler, directory, own, words, f"_threads{end}", store)
            _link(compiler, directory, [*objects[:-1], *sharing], f"web/{name}_threads{end}.wasm", SHARING)
            made += sharing
    if old:
        for kind in ("", "_threads"):  # JavaScript and bundlers look for both
            shutil.copyfile(directory / f"web/{name}{kind}.wasm", directory / f"web/{name}{kind}_relaxed.wasm")
    write_made(directory, "web", "What the modules are.", Made((), (_TOO_OLD,) if old else ()))
    paths = tuple(directory / path for path in made)
    if not (directory / f"exam/{name}_questions.c").exists():
        return Built(None, None, paths, compiler)
    questions = _compile(compiler, directory, [f"exam/{name}_questions", f"exam/{name}_vectors"], flags, store=store)
    _link(compiler, directory, questions, f"build/{name}_questions.wasm")
    program = out / f"{name}_exam.mjs"
    program.write_text(f'import "../exam/{name}_exam.mjs";\n', encoding="utf-8")
    return Built(program, None, paths, compiler)


def _lacks_relaxed(compiler: Compiler, directory: Path) -> bool:
    """Whether the compiler is a clang that knows relaxed dot products at most by their name."""
    words = call([*compiler.command, "-E", "-dM", "-x", "c", os.devnull], compiler, directory, "the version of the compiler")
    version = re.search(r"#define __clang_major__ (\d+)", words)
    return version is None or int(version[1]) < LEAST_RELAXED


def _check_linker(compiler: Compiler, directory: Path) -> None:
    """clang calls wasm-ld, which is a package of its own in most systems; zig brings it."""
    if compiler.is_zig:
        return
    linker = call([*compiler.command, "-print-prog-name=wasm-ld"], compiler, directory, "wasm-ld").strip()
    if shutil.which(linker) is None:
        hint = "apt install lld, or name another compiler with --cc, or --no-compile to leave the sources"
        raise ToolchainError("clang's linker for WebAssembly, wasm-ld, is missing", where=" ".join(compiler.command), hint=hint)


def _compile(
    compiler: Compiler, directory: Path, sources: Sequence[str], flags: Sequence[str], end: str = "", store: Store = NOTHING
) -> list[str]:
    """The objects of C sources (without .c), in their order; `end` tells those of one module from another's."""

    def one(source: str) -> str:
        result = f"build/{Path(source).name}{end}.o"
        compile_object(compiler, directory, f"{source}.c", flags, result, store)
        return result

    return each(one, sources)


def _link(compiler: Compiler, directory: Path, objects: Sequence[str], result: str, more: Sequence[str] = ()) -> None:
    flags = [*LINKING, *more] if compiler.is_zig else [*LINKING, STACK_FIRST, *more]
    call([*compiler.command, *flags, "-o", result, *objects], compiler, directory, result)
    (directory / result).chmod(0o644)  # linkers take it for a program
