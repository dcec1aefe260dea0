"""The files that a package has for Metal: the host, its tables, and the shaders as a .metal file and inside of the library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from edgec.emit.constants import PIECE
from edgec.emit.gpu.host import GpuPlan
from edgec.emit.gpu.shader import Shader
from edgec.emit.templates import render_template, runtime


def metal_files(name: str, plan: GpuPlan, context: Mapping[str, object]) -> dict[str, bytes]:
    """Path -> content. metal/NAME.metal is the text that src/NAME_metal_source.c holds, byte by byte."""
    source = metal_source(plan)
    return {
        f"metal/{name}.metal": source.encode(),
        f"src/{name}_metal_source.c": _embedded(name, plan, source),
        f"src/{name}_metal.h": runtime("metal/host.h", name),
        f"src/{name}_metal.m": runtime("c/prologue.h", name) + runtime("metal/host.m", name),
        f"src/{name}_metal_none.c": runtime("metal/none.c", name),
        f"src/{name}_gpu_halves.h": runtime("gpu/halves.h", name),
        f"src/{name}_gpu_verify.h": runtime("gpu/verify.h", name),
        f"src/{name}_gpu_tables.h": render_template("gpu_tables.h.j2", context),
        f"src/{name}_gpu_tables.c": render_template("gpu_tables.c.j2", context),
    }


def metal_source(plan: GpuPlan) -> str:
    """All kernels of a package: what they share once, then each under a name of its own; those with matrices at the end."""
    plain = [shader.source for shader in plan.shaders]
    matrices = [shader.matrices.source for shader in plan.shaders if shader.matrices is not None]
    ends = ["#ifdef SIMDGROUPS\n", *matrices, "#endif\n"] if matrices else []
    return "\n".join([plan.dialect.head, *(source.strip("\n") + "\n" for source in (*plain, *ends))])


def _embedded(name: str, plan: GpuPlan, source: str) -> bytes:
    """The source as C strings, each short enough for every compiler, and the kernels in both forms."""
    forms = (plan.shaders, [shader.matrices or shader for shader in plan.shaders])
    parts = [
        f"/* The shaders of {name} as text, which is also metal/{name}.metal, and the kernels in it. */\n",
        f'#include "{name}_metal.h"\n\n#include <stddef.h>\n\n',
        f"const struct {name}_metal_kernel {name}_metal_kernels[2][SHADERS + 1] = {{\n",
        *("".join(["    {\n", *(_row(shader) for shader in form), "        {NULL, {0, 0, 0}, {0, 0, 0}, 0},\n    },\n"]) for form in forms),
        f"}};\n\nconst char *const {name}_metal_source[] = {{\n",
        *(f"{piece},\n" for piece in _pieces(source)),
        "    NULL,\n};\n",
    ]
    return "".join(parts).encode()


def _row(shader: Shader) -> str:
    group, grid = (f"{{{x}, {y}, {z}}}" for x, y, z in (shader.group, shader.grid))
    return f'        {{"{shader.name}", {group}, {grid}, {shader.shared_bytes}}},\n'


def _pieces(source: str) -> Iterator[str]:
    """Literals of whole lines; a literal's length is what its escapes stand for."""
    piece: list[str] = []
    length = 0
    for line in source.splitlines(keepends=True):
        count = len(line.encode())
        if piece and length + count > PIECE:
            yield "\n".join(piece)
            piece, length = [], 0
        piece.append(f'    "{_escaped(line)}"')
        length += count
    if piece:
        yield "\n".join(piece)


def _escaped(line: str) -> str:
    """The line in C: UTF-8, and what is no printable ASCII as three octal digits; a question mark begins no trigraph."""
    plain = {ord("\\"): "\\\\", ord('"'): '\\"', ord("?"): "\\?", ord("\n"): "\\n"}
    return "".join(plain.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in line.encode())
