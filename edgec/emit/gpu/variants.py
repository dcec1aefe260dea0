"""The SPIR-V that one GLSL source gives: the base for every device, and what devices with more features run instead."""

from __future__ import annotations

from dataclasses import dataclass

from edgec.emit.gpu.shader import Shader


@dataclass(frozen=True)
class Variant:
    """`switches` and `environment` are glslangValidator's and glslc's words."""

    name: str
    switches: tuple[str, ...]
    environment: str


BASE = Variant("base", (), "vulkan1.0")  # nothing but Vulkan 1.0 compute
BYTES = Variant("bytes", ("-DBYTES",), "vulkan1.1")  # 8-bit storage, rounding to nearest even as an execution mode
DOT4 = Variant("dot4", ("-DDOT4",), "vulkan1.1")  # and integer dot products
VARIANTS = (BASE, BYTES, DOT4)  # a device takes the last one that it has the features of


def variants_of(shader: Shader) -> tuple[Variant, ...]:
    """Those that differ for this shader, in the order of VARIANTS."""
    return (BASE, *([BYTES] if shader.uses_bytes else []), *([DOT4] if shader.uses_dot else []))
