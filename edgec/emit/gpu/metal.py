"""The files that a package has for Metal: the host, its tables, and the shaders as a .metal file and inside of the library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from edgec.emit.constants import PIECE
from edgec.emit.gpu.host import GpuPlan
from edgec.emit.text import render_template, runtime


def metal_files(name: str, plan: GpuPlan, context: Mapping[str, object]) -> dict[str, bytes]:
    """Path -> content. metal/NAME.metal is the text that src/NAME_metal_source.c holds, byte by byte."""
    source = metal_source(plan)
    return {
        f"metal/{name}.metal": source.encode(),
        f"src/{name}_metal_source.c": _embedded(name, plan, source),
        f"src/{name}_metal.h": runtime("metal/host.h", name),
        f"src/{name}_metal.m": runtime("c/prologue.h", name) + runtime("metal/host.m", name),
        f"src/{name}_metal_none.c": runtime("metal/none.c", name),
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
    """The source as C strings, each short enough for every compiler, and the kernels' names."""
    parts = [
        f"/* The shaders of {name} as text, which is also metal/{name}.metal, and their names. */\n",
        f'#include "{name}_metal.h"\n\n#include <stddef.h>\n\n',
        f"const char *const {name}_metal_names[] = {{\n",
        *(f'    "{shader.name}",\n' for shader in plan.shaders),
        f"    NULL,\n}};\n\nconst char *const {name}_metal_source[] = {{\n",
        *(f"{piece},\n" for piece in _pieces(source)),
        "    NULL,\n};\n",
    ]
    return "".join(parts).encode()


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
