"""The files that a package has for Vulkan: the host, its tables, the shaders as GLSL, and as SPIR-V once that was compiled."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgec.emit.gpu.host import GpuPlan
from edgec.emit.gpu.shader import Shader
from edgec.emit.gpu.variants import VARIANTS, Variant, variants_of
from edgec.emit.text import render_template, runtime

_HEADERS = ("api", "api_work", "cache", "device", "features", "host", "memory", "pipelines")  # of runtimes/vulkan
_WORDS_A_LINE = 12


@dataclass(frozen=True)
class SpirvJob:
    """One shader to be compiled in one variant: the GLSL file, its text, and the compiler's words."""

    file: str
    text: str
    variant: str
    switches: tuple[str, ...]
    environment: str


def vulkan_files(name: str, plan: GpuPlan, context: Mapping[str, object]) -> dict[str, bytes]:
    """Path -> content, without src/NAME_shaders.c, which spirv_file makes."""
    return {
        **{f"src/{name}_vulkan_{header}.h": runtime(f"vulkan/{header}.h", name) for header in _HEADERS},
        f"src/{name}_vulkan_host.c": runtime("c/prologue.h", name) + runtime("vulkan/host.c", name),
        f"src/{name}_gpu_halves.h": runtime("gpu/halves.h", name),
        f"src/{name}_gpu_verify.h": runtime("gpu/verify.h", name),
        f"src/{name}_gpu_tables.h": render_template("gpu_tables.h.j2", context),
        f"src/{name}_gpu_tables.c": render_template("gpu_tables.c.j2", context),
        **{glsl_file(shader): shader.source.encode() for shader in plan.shaders},
    }


def glsl_file(shader: Shader) -> str:
    return f"vulkan/{shader.call:03}_{shader.name}.comp"


def vulkan_variants(plan: GpuPlan) -> dict[str, list[str]]:
    """For the manifest: GLSL file -> the variants in which it is compiled, in the order of the shaders."""
    return {glsl_file(shader): [variant.name for variant in variants_of(shader)] for shader in plan.shaders}


def spirv_jobs(files: Mapping[str, bytes]) -> list[SpirvJob]:
    """What must be compiled of a package's files before it is complete."""
    known = {variant.name: variant for variant in VARIANTS}

    def job(file: str, variant: Variant) -> SpirvJob:
        return SpirvJob(file, files[file].decode(), variant.name, variant.switches, variant.environment)

    return [job(file, known[name]) for file, names in _variants(files).items() for name in names]


def spirv_file(files: Mapping[str, bytes], compiled: Sequence[tuple[SpirvJob, bytes]]) -> dict[str, bytes]:
    """src/NAME_shaders.c: the SPIR-V of every shader in its variants, equal ones once."""
    name = str(json.loads(files["manifest.json"])["name"])
    codes = {(job.file, job.variant): code for job, code in compiled}
    numbers = {variant.name: number for number, variant in enumerate(VARIANTS)}
    arrays: dict[bytes, str] = {}
    rows: list[str] = []
    for shader, (file, names) in enumerate(_variants(files).items()):
        for variant in names:
            code = codes[file, variant]
            symbol = arrays.setdefault(code, f"code{len(arrays)}")
            rows.append(f"    {{{shader}, {numbers[variant]}, {symbol}, sizeof {symbol}}}, /* {file}, {variant} */\n")
    parts = [
        f"/* The shaders of {name} in SPIR-V, compiled from the sources in vulkan. */\n",
        f'#include "{name}_gpu_tables.h"\n',
        *(f"\nstatic const uint32_t {symbol}[] = {{\n{_words(code)}}};\n" for code, symbol in arrays.items()),
        f"\nconst struct {name}_spirv {name}_spirv[] = {{\n",
        *rows,
        "    {SHADERS, 0, NULL, 0},\n};\n",
    ]
    return {f"src/{name}_shaders.c": "".join(parts).encode()}


def _variants(files: Mapping[str, bytes]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads(files["manifest.json"])["gpu"]["glsl"]
    return found


def _words(code: bytes) -> str:
    words = [f"0x{int.from_bytes(code[start : start + 4], 'little'):08x}" for start in range(0, len(code), 4)]
    lines = [", ".join(words[start : start + _WORDS_A_LINE]) for start in range(0, len(words), _WORDS_A_LINE)]
    return "".join(f"    {line},\n" for line in lines)
