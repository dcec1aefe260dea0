"""Compiling a package into WebAssembly modules that import nothing: web/NAME.wasm, web/NAME_baseline.wasm and the exam's questions."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from edgec.base.errors import ToolchainError
from edgec.cache import NOTHING, Store
from edgec.package.manifest import read_manifest
from edgec.targets import Target
from edgec.toolchain.call import Built, call, optimization
from edgec.toolchain.find import Compiler, find_compiler
from edgec.toolchain.objects import compile_object
from edgec.toolchain.together import each

STACK_BYTES = 65536  # four times what a run takes; below the data, so that a stack too deep is a trap
# end of the module's name -> flags of its sources; engines that have SIMD128 have the instructions that copy, too
MODULES = {"": ("-msimd128", "-mbulk-memory"), "_baseline": ("-mno-simd128", "-mno-bulk-memory")}
FREESTANDING = ("-std=c99", "-ffunction-sections", "-fvisibility=hidden", "-nostdlibinc", "-Isrc/web", "-Iinclude", "-Isrc", "-Iexam")
LINKING = ("-nostdlib", "-Wl,--no-entry", "-Wl,--gc-sections", "-Wl,--strip-all", f"-Wl,-z,stack-size={STACK_BYTES}")
STACK_FIRST = "-Wl,--stack-first"  # zig does so by itself, and does not know the words


def compile_web(
    directory: Path, target: Target, cc: str | None = None, optimize: str = "-O3", extra_flags: Sequence[str] = (), store: Store = NOTHING
) -> Built:
    """What build.compile_package does, for packages of the form `web`. The exam is a program of Node's."""
    compiler = find_compiler(target, cc)
    _check_linker(compiler, directory)
    manifest, _ = read_manifest(directory)
    name, out = manifest.name, directory / "build"
    out.mkdir(exist_ok=True)
    core = [f"src/{name}", f"src/{name}_dispatch", f"src/web/{name}_web", "src/web/memory"]
    core += [f"src/{name}_kernels_{isa}" for isa in manifest.vocabularies]
    core += [f"src/{name}_task"] if (directory / f"src/{name}_task.c").exists() else []
    flags = [*FREESTANDING, *optimization(compiler, optimize), *extra_flags]
    (weights,) = _compile(compiler, directory, [f"src/{name}_weights"], flags, store=store)
    made: list[str] = []
    for end, features in MODULES.items():
        made = _compile(compiler, directory, core, [*flags, *features], end, store)
        _link(compiler, directory, [*made, weights], f"web/{name}{end}.wasm")
    if not (directory / f"exam/{name}_questions.c").exists():
        return Built(None, None, tuple(directory / path for path in made), compiler)
    questions = _compile(compiler, directory, [f"exam/{name}_questions", f"exam/{name}_vectors"], flags, store=store)
    _link(compiler, directory, questions, f"build/{name}_questions.wasm")
    program = out / f"{name}_exam.mjs"
    program.write_text(f'import "../exam/{name}_exam.mjs";\n', encoding="utf-8")
    return Built(program, None, tuple(directory / path for path in made), compiler)


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


def _link(compiler: Compiler, directory: Path, objects: Sequence[str], result: str) -> None:
    flags = LINKING if compiler.is_zig else (*LINKING, STACK_FIRST)
    call([*compiler.command, *flags, "-o", result, *objects], compiler, directory, result)
    (directory / result).chmod(0o644)  # linkers take it for a program
