"""A kernel call of the Program as a compute shader: what the hosts, the manifest and the tests need to know of it."""

from __future__ import annotations

from dataclasses import dataclass

from edgec.emit.c_text import identifier
from edgec.kernels.gpu.limits import MOST_GROUPS, MOST_INVOCATIONS, MOST_SHARED_BYTES, Extent

LONGEST_NAME = 56


@dataclass(frozen=True)
class Shader:
    """One shader, shapes baked in. `loads` counts the words that all invocations read from arena, weights and io."""

    call: int  # index in program.calls
    name: str
    source: str
    group: Extent  # invocations of a workgroup
    grid: Extent  # workgroups of the dispatch
    shared_bytes: int = 0
    uses_bytes: bool = False  # stores 8-bit elements: better with 8-bit storage
    uses_dot: bool = False  # better with integer dot products
    uses_subgroups: bool = False  # better with arithmetic over subgroups
    uses_half: bool = False  # has operands that lie as 16-bit floats where the device has 16-bit storage
    uses_half_math: bool = False  # and computes with them
    loads: int = 0
    macs: int = 0
    matrices: Shader | None = None  # another kernel for it, for Apple GPUs whose simdgroups multiply matrices

    def __post_init__(self) -> None:
        invocations = self.group[0] * self.group[1] * self.group[2]
        fits = 1 <= invocations <= MOST_INVOCATIONS and self.shared_bytes <= MOST_SHARED_BYTES
        if not fits or not all(1 <= count <= MOST_GROUPS for count in self.grid):
            raise ValueError(f"{self.name}: {self.group} x {self.grid}, {self.shared_bytes} bytes shared, is more than every GPU has")

    @property
    def words(self) -> frozenset[str]:
        """The features of variants.FEATURES that it profits from."""
        uses = {
            "BYTES": self.uses_bytes, "DOT4": self.uses_dot, "SUBGROUPS": self.uses_subgroups, "HALF": self.uses_half,
            "HALF_MATH": self.uses_half_math,
        }  # fmt: skip
        return frozenset(word for word, used in uses.items() if used)


def kernel_name(index: int, name: str) -> str:
    """What the shader of call number `index` is called: an identifier of its own in either language."""
    return identifier(f"call_{index}_{name}".replace("__", "_"))[:LONGEST_NAME].rstrip("_")
