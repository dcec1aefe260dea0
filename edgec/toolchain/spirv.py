"""Finding and calling the compiler of shaders: GLSL in, SPIR-V out."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from edgec.base.environment import child_environment
from edgec.base.errors import Problem, ToolchainError
from edgec.toolchain.together import each

SHOWN_LINES = 12  # of a compiler's words
_AT_ONCE = 40  # shaders
_MAGIC, _HEADER_BYTES = b"\x03\x02\x23\x07", 20
# OpSourceContinued, OpSource, OpSourceExtension, OpName, OpMemberName, OpString, OpLine, OpNoLine, OpModuleProcessed: words for people
_DEBUG = frozenset({2, 3, 4, 5, 6, 7, 8, 317, 330})


class GlslSource(Protocol):
    """What is to be compiled: `switches` are -D words, `environment` is a version of Vulkan as compilers spell it."""

    @property
    def file(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def switches(self) -> tuple[str, ...]: ...
    @property
    def environment(self) -> str: ...


Source = TypeVar("Source", bound=GlslSource)


@dataclass(frozen=True)
class ShaderCompiler:
    """`command` compiles; `check` is spirv-val, empty where it is not installed."""

    command: str
    check: str

    @property
    def is_glslc(self) -> bool:
        return "glslc" in Path(self.command).name


def find_shader_compiler() -> ShaderCompiler:
    """glslc, or glslangValidator, or the Android NDK's glslc; ToolchainError when there is none."""
    for name in _candidates():
        found = shutil.which(name)
        if found is not None:
            return ShaderCompiler(found, shutil.which("spirv-val") or "")
    hint = "apt install glslc or brew install shaderc, or set ANDROID_NDK_HOME: the NDK has glslc"
    raise ToolchainError("no compiler for shaders", [Problem("not found", name) for name in ("glslc", "glslangValidator")], hint=hint)


def _candidates() -> Iterator[str]:
    yield from ("glslc", "glslangValidator", "glslang")
    ndk = os.environ.get("ANDROID_NDK_HOME") or os.environ.get("ANDROID_NDK_ROOT")
    if ndk:
        yield from (str(path) for path in sorted(Path(ndk).glob("shader-tools/*/glslc*")))


def compile_shaders(sources: Sequence[Source]) -> list[tuple[Source, bytes]]:
    """Each source with its SPIR-V, checked by spirv-val where that is installed. ToolchainError says which one is refused, and why."""
    if not sources:
        return []
    compiler = find_shader_compiler()
    with tempfile.TemporaryDirectory(prefix="edgec-spirv-") as name:
        folder = Path(name)
        for number, source in enumerate(sources):
            (folder / f"{number}.comp").write_text(source.text, encoding="utf-8")
        if compiler.is_glslc:
            each(lambda numbers: _compile_together(compiler, folder, sources, numbers), _alike(sources), 8)
        codes = each(lambda item: _compiled(compiler, folder, *item), enumerate(sources), 8)
    return list(zip(sources, codes, strict=True))


def _alike(sources: Sequence[GlslSource]) -> list[list[int]]:
    """Numbers of sources that the compiler is called alike for, so many at a time that all of a small machine's cores have some."""
    groups: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for number, source in enumerate(sources):
        groups.setdefault((source.environment, source.switches), []).append(number)
    return [numbers[start : start + _AT_ONCE] for numbers in groups.values() for start in range(0, len(numbers), _AT_ONCE)]


def _compile_together(compiler: ShaderCompiler, folder: Path, sources: Sequence[GlslSource], numbers: Sequence[int]) -> None:
    """Many sources by one process: starting glslc takes as long as ten shaders do. What it refuses is left to be compiled alone."""
    command = [compiler.command, *_words(compiler, sources[numbers[0]]), "-c", *(f"{number}.comp" for number in numbers)]
    done = subprocess.run(command, cwd=folder, env=child_environment(), capture_output=True, check=False)
    for number in numbers if done.returncode == 0 else ():
        (folder / f"{number}.comp.spv").rename(folder / f"{number}.spv")


def _words(compiler: ShaderCompiler, source: GlslSource) -> list[str]:
    if compiler.is_glslc:
        return [f"--target-env={source.environment}", "-fshader-stage=compute", *source.switches]
    return ["-V", "--target-env", source.environment, *source.switches]


def _compiled(compiler: ShaderCompiler, folder: Path, number: int, source: GlslSource) -> bytes:
    """Without names and checked; compiled here unless it was together with others."""
    code = folder / f"{number}.spv"
    if not code.exists():
        _call([compiler.command, *_words(compiler, source), "-o", str(code), str(folder / f"{number}.comp")], source)
    result = without_names(code.read_bytes())
    if compiler.check:
        code.write_bytes(result)
        _call([compiler.check, "--target-env", source.environment, str(code)], source)
    return result


def _call(command: Sequence[str], source: GlslSource) -> None:
    try:
        done = subprocess.run(list(command), env=child_environment(), capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise ToolchainError(str(error), where=command[0]) from error
    if done.returncode != 0:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        where = " ".join([source.file, *source.switches])
        hint = "this is a fault of edgec's or of that program's: please report it; --target with a CPU alone builds without shaders"
        raise ToolchainError(
            f"{Path(command[0]).name} refuses a shader", [Problem(line) for line in lines[:SHOWN_LINES]], where=where, hint=hint
        )


def without_names(code: bytes) -> bytes:
    """The SPIR-V without what only debuggers read: every compiler's names and source lines go, and what computes stays."""
    if len(code) % 4 or code[:4] != _MAGIC:
        raise ToolchainError("the shader compiler wrote something else than little-endian SPIR-V")
    kept, place = bytearray(code[:_HEADER_BYTES]), _HEADER_BYTES
    while place < len(code):
        operation, count = struct.unpack_from("<HH", code, place)
        end = place + 4 * max(count, 1)
        if operation not in _DEBUG:
            kept += code[place:end]
        place = end
    return bytes(kept)
