"""What a kernel template says in the words of one shading language: how a kernel begins, ends and where its shared memory stands.

All other words of kernel bodies (load_f32, store_8, dot4, requantize, barrier_group...) are defined by the preludes of
templates/gpu, so that one body is good GLSL and good MSL. `signed_activations` says what load_x8 and dot4 take bytes for; a kernel
with `teams` says the words of templates/gpu/teams.*.j2 too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from edgec.emit.templates import fill
from edgec.kernels.gpu.limits import Extent
from edgec.program.halves import NO_HALVES, Halves

Shared = Sequence[tuple[str, str, int]]  # (type word, name, elements)


class Dialect(Protocol):
    """A shading language. A file of kernels is `head` and then the kernels' sources (GLSL: one kernel a file, and no head)."""

    @property
    def name(self) -> str: ...
    @property
    def suffix(self) -> str: ...
    @property
    def head(self) -> str: ...
    @property
    def signed_activations(self) -> bool: ...
    @property
    def halves(self) -> Halves: ...
    def begin(self, name: str, group: Extent, shared: Shared = (), teams: bool = False) -> str: ...
    def end(self) -> str: ...
    def in_place(self, source: str) -> str: ...  # of a kernel that reads bytes that it writes


@dataclass(frozen=True)
class Glsl:
    """GLSL 450 for Vulkan: every source is complete. BYTES and DOT4 are the switches of the variants."""

    signed_activations: bool
    name: str = "glsl"
    suffix: str = ".comp"
    head: str = ""
    halves: Halves = NO_HALVES

    def begin(self, name: str, group: Extent, shared: Shared = (), teams: bool = False) -> str:
        prelude = fill("gpu", "prelude.glsl.j2", {"signed": self.signed_activations, "halves": self.halves})
        size = ", ".join(f"local_size_{axis} = {count}" for axis, count in zip("xyz", group, strict=True))
        arrays = "".join(f"shared {kind} {array}[{count}];\n" for kind, array, count in shared)
        words = fill("gpu", "teams.glsl.j2", {}) if teams else ""
        return f"{prelude}{words}\n/* {name} */\nlayout({size}) in;\n{arrays}void main() {{"

    def end(self) -> str:
        return "}"

    def in_place(self, source: str) -> str:
        return source.replace("#version 450\n", "#version 450\n#define IN_PLACE\n", 1)


@dataclass(frozen=True)
class Metal:
    """The Metal Shading Language: `head` stands once before all kernels of a package."""

    signed_activations: bool
    name: str = "metal"
    suffix: str = ".metal"
    halves: Halves = NO_HALVES

    @property
    def head(self) -> str:
        return fill("gpu", "prelude.metal.j2", {"signed": self.signed_activations, "halves": self.halves})

    def begin(self, name: str, group: Extent, shared: Shared = (), teams: bool = False) -> str:
        arrays = "".join(f"\n    threadgroup {kind} {array}[{count}];" for kind, array, count in shared)
        regions = "device uint *arena [[buffer(0)]], device const uint *weights [[buffer(1)]], device uint *io [[buffer(2)]]"
        also = " TEAM_POSITIONS" if teams else ""
        positions = (
            ("group", "threadgroup_position_in_grid"),
            ("local", "thread_position_in_threadgroup"),
            ("global", "thread_position_in_grid"),
        )
        where = ", ".join(f"uint3 {word}_position [[{attribute}]]" for word, attribute in positions)
        most = f"[[max_total_threads_per_threadgroup({group[0] * group[1] * group[2]})]]"
        return f"{most}\nkernel void {name}({regions}{also},\n    {where}) {{{arrays}"

    def end(self) -> str:
        return "}"

    def in_place(self, source: str) -> str:
        return source


def render_kernel(template: str, dialect: Dialect, **numbers: object) -> str:
    """templates/gpu/TEMPLATE.j2 in one dialect; `numbers` is all it needs, and a name that is missing is an error."""
    return fill("gpu", f"{template}.j2", {"dialect": dialect, **numbers})
