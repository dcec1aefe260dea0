"""The SPIR-V that one GLSL source gives: the base for every device, and what devices with more features run instead."""

from __future__ import annotations

from dataclasses import dataclass

from edgec.emit.gpu.shader import Shader

# what a device may have besides Vulkan 1.0 compute -> its bit; runtimes/vulkan/device.h asks for each
FEATURES = {
    "BYTES": 1,  # 8-bit storage, and rounding to nearest even as an execution mode
    "DOT4": 2,  # integer dot products
    "SUBGROUPS": 4,  # arithmetic over subgroups in compute shaders
    "HALF": 8,  # 16-bit storage
    "HALF_MATH": 16,  # arithmetic in 16 bits
}
_NEEDS_TOO = {"DOT4": ("BYTES",), "HALF_MATH": ("HALF",)}


@dataclass(frozen=True)
class Variant:
    """`words` are those of FEATURES that a shader must profit from to have the variant; each is a switch of the source."""

    name: str
    words: tuple[str, ...] = ()

    @property
    def switches(self) -> tuple[str, ...]:
        return tuple(f"-D{word}" for word in self.words)

    @property
    def environment(self) -> str:
        return "vulkan1.1" if self.words else "vulkan1.0"

    @property
    def needs(self) -> int:
        """Bits of FEATURES."""
        words = {*self.words, *(other for word in self.words for other in _NEEDS_TOO.get(word, ()))}
        return sum(FEATURES[word] for word in words)


BASE = Variant("base")  # nothing but Vulkan 1.0 compute
BYTES = Variant("bytes", ("BYTES",))
DOT4 = Variant("dot4", ("DOT4",))
SUBGROUPS = Variant("subgroups", ("SUBGROUPS",))
BYTES_SUBGROUPS = Variant("bytes_subgroups", ("BYTES", "SUBGROUPS"))
HALF = Variant("half", ("HALF",))
HALF_SUBGROUPS = Variant("half_subgroups", ("HALF", "SUBGROUPS"))
HALF_MATH = Variant("half_math", ("HALF_MATH",))
# of its own variants a device runs each shader in the last one that it has the features of
VARIANTS = (BASE, BYTES, DOT4, SUBGROUPS, BYTES_SUBGROUPS, HALF, HALF_SUBGROUPS, HALF_MATH)


def variants_of(shader: Shader) -> tuple[Variant, ...]:
    """Those that differ for this shader, in the order of VARIANTS."""
    return tuple(variant for variant in VARIANTS if set(variant.words) <= shader.words)
