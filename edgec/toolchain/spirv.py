"""Finding and calling the compiler of shaders: GLSL in, SPIR-V out."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from edgec.errors import Problem, ToolchainError

SHOWN_LINES = 12  # of a compiler's words
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


def find_shader_compiler() -> ShaderCompiler:
    """glslangValidator, or glslc, or the Android NDK's glslc; ToolchainError when there is none."""
    for name in _candidates():
        found = shutil.which(name)
        if found is not None:
            return ShaderCompiler(found, shutil.which("spirv-val") or "")
    hint = "apt install glslang-tools or brew install glslang, or set ANDROID_NDK_HOME: the NDK has glslc"
    raise ToolchainError("no compiler for shaders", [Problem("not found", name) for name in ("glslangValidator", "glslc")], hint=hint)


def _candidates() -> Iterator[str]:
    yield from ("glslangValidator", "glslang", "glslc")
    ndk = os.environ.get("ANDROID_NDK_HOME") or os.environ.get("ANDROID_NDK_ROOT")
    if ndk:
        yield from (str(path) for path in sorted(Path(ndk).glob("shader-tools/*/glslc*")))


def compile_shaders(sources: Sequence[Source]) -> list[tuple[Source, bytes]]:
    """Each source with its SPIR-V, checked by spirv-val where that is installed. ToolchainError says which one is refused, and why."""
    if not sources:
        return []
    compiler = find_shader_compiler()
    with (
        tempfile.TemporaryDirectory(prefix="edgec-spirv-") as folder,
        ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as workers,
    ):
        codes = list(workers.map(lambda item: _compile(compiler, Path(folder), *item), enumerate(sources)))
    return list(zip(sources, codes, strict=True))


def _compile(compiler: ShaderCompiler, folder: Path, number: int, source: GlslSource) -> bytes:
    text, code = folder / f"{number}.comp", folder / f"{number}.spv"
    text.write_text(source.text, encoding="utf-8")
    if "glslc" in Path(compiler.command).name:
        words = [f"--target-env={source.environment}", "-fshader-stage=compute"]
    else:
        words = ["-V", "--target-env", source.environment]
    _call([compiler.command, *words, *source.switches, "-o", str(code), str(text)], source)
    result = without_names(code.read_bytes())
    if compiler.check:
        code.write_bytes(result)
        _call([compiler.check, "--target-env", source.environment, str(code)], source)
    return result


def _call(command: Sequence[str], source: GlslSource) -> None:
    try:
        done = subprocess.run(list(command), capture_output=True, text=True, errors="replace", check=False)
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
