"""The files that a package has for Vulkan: the host, its tables, the shaders as GLSL, and as SPIR-V once that was compiled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from textwrap import wrap

from edgec.emit.gpu.compression import packed
from edgec.emit.gpu.host import GpuPlan
from edgec.emit.gpu.numbers import Module, modules
from edgec.emit.gpu.shader import Shader
from edgec.emit.gpu.variants import VARIANTS, Variant, variants_of
from edgec.emit.templates import render_template, runtime
from edgec.package.draft import Draft

_HEADERS = ("api", "api_work", "cache", "code", "device", "features", "host", "memory", "pipelines")  # of runtimes/vulkan
_LINE = 130  # characters


@dataclass(frozen=True)
class SpirvJob:
    """A module to be compiled in one variant: the GLSL file of its first shader, the text, and the compiler's words."""

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


def vulkan_variants(plan: GpuPlan) -> dict[str, tuple[str, ...]]:
    """For the manifest: GLSL file -> the variants in which it is compiled, in the order of the shaders."""
    return {glsl_file(shader): tuple(variant.name for variant in variants_of(shader)) for shader in plan.shaders}


def spirv_jobs(draft: Draft) -> list[SpirvJob]:
    """What must be compiled of a package's files before it is complete."""
    known = {variant.name: variant for variant in VARIANTS}

    def job(file: str, text: str, variant: Variant) -> SpirvJob:
        return SpirvJob(file, text, variant.name, variant.switches, variant.environment)

    return [job(file, module.text, known[name]) for file, names, module in _modules(draft) for name in names]


def spirv_file(draft: Draft, compiled: Sequence[tuple[SpirvJob, bytes]]) -> dict[str, bytes]:
    """src/NAME_shaders.c: the packed SPIR-V of all modules, which shader has which one in which variant, and its numbers."""
    name = draft.manifest.name
    codes = {(job.file, job.variant): code for job, code in compiled}
    order = {variant.name: number for number, variant in enumerate(VARIANTS)}
    shaders = {file: number for number, file in enumerate(_variants(draft))}
    arrays: dict[bytes, int] = {}
    rows: list[tuple[int, int, int]] = []
    numbers: dict[int, tuple[int, ...]] = {}
    for first, names, module in _modules(draft):
        for variant in names:
            array = arrays.setdefault(codes[first, variant], len(arrays))
            rows += [(shaders[file], order[variant], array) for file in module.numbers]
        numbers |= {shaders[file]: values for file, values in module.numbers.items()}
    counted = [(len(numbers[shader]), "".join(f"{value}, " for value in numbers[shader])) for shader in sorted(numbers)]
    starts = [0, *accumulate(count for count, _ in counted)]
    parts = [
        f"/* The shaders of {name} in SPIR-V, compiled from the sources in vulkan and packed: {name}_vulkan_code.h unpacks them. */\n",
        f'#include "{name}_gpu_tables.h"\n',
        *(f"\nstatic const uint8_t code{at}[] = {{\n{_lines(packed(code))}}};\n" for code, at in arrays.items()),
        f"\nconst struct {name}_code {name}_codes[] = {{\n",
        *(f"    {{code{at}, {len(code) // 4}}},\n" for code, at in arrays.items()),
        f"    {{NULL, 0}},\n}};\n\nconst uint32_t {name}_most_words = {max((len(code) // 4 for code in arrays), default=0)};\n",
        f"\nconst struct {name}_spirv {name}_spirv[] = {{\n",
        *(f"    {{{shader}, {variant}, {array}}},\n" for shader, variant, array in sorted(rows)),
        "    {SHADERS, 0, 0},\n};\n",
        f"\nconst uint32_t {name}_numbers[] = {{\n",
        *(f"    {values.rstrip()} /* of {file} */\n" for file, (_, values) in zip(shaders, counted, strict=True) if values),
        f"    0,\n}};\n\nconst uint32_t {name}_numbers_start[SHADERS + 1] = {{\n{_lines(starts)}}};\n",
    ]
    return {f"src/{name}_shaders.c": "".join(parts).encode()}


def _modules(draft: Draft) -> list[tuple[str, tuple[str, ...], Module]]:
    """Of each module to compile the file of its first shader, and the variants, which all its shaders have."""
    found = _variants(draft)
    return [
        (next(iter(module.numbers)), kind, module)
        for kind in dict.fromkeys(found.values())
        for module in modules({file: str(draft.files[file], "utf-8") for file, names in found.items() if names == kind})
    ]


def _variants(draft: Draft) -> Mapping[str, tuple[str, ...]]:
    gpu = draft.manifest.gpu
    assert gpu is not None and gpu.glsl is not None
    return gpu.glsl


def _lines(numbers: Iterable[int]) -> str:
    return "".join(f"    {line},\n" for line in wrap(", ".join(map(str, numbers)), _LINE, break_long_words=False)).replace(",,", ",")
