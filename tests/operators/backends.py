"""The backends that run every case: a target, how its packages are compiled, and the sets of instructions that are tried."""

from __future__ import annotations

from dataclasses import dataclass, replace

from edgec.targets import Target, load_target
from tests.contract.examiner import WHOLE, available

SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g1")


@dataclass(frozen=True)
class Backend:
    """isas: "" is the one that the package chooses; of a GPU, the variants of its shaders. foreign: it runs in an emulator.

    compiler: instead of the first one that the target has.
    """

    name: str
    target: str
    isas: tuple[str, ...] = ("",)
    optimize: str = "-O0"
    flags: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    foreign: bool = False
    compiler: str = ""

    def isas_of(self, target: Target) -> list[str]:
        """Those that packages for the target have and that can run here."""
        return [isa for isa in self.isas if not isa or (isa in target.vocabularies and (self.foreign or available(isa)))]


def target_of(backend: Backend) -> Target:
    """With the vocabularies that can run here; without EDGEC_TEST_ALL a package has at most two to choose from."""
    target = load_target(backend.target)
    able = tuple(name for name in target.vocabularies if backend.foreign or available(name))
    compilers = (backend.compiler,) if backend.compiler else target.compilers
    return replace(target, vocabularies=able if WHOLE else able[:2], compilers=compilers)


NATIVE = (
    Backend("portable", "portable"),
    Backend("x86-64", "x86-64", ("sse41", "avx2", "avxvnni", "avx512vnni")),  # tests/kernels has them optimized
)
# Portable packages under watch: who runs it needs no other portable one. clang takes half as long as gcc, which has the other backends
SANITIZED = Backend("sanitized", "portable", flags=SANITIZE, needs=("clang",), compiler="clang")
FOREIGN = (
    Backend("aarch64", "linux-arm64", ("neon", "dotprod", "i8mm"), "-O1", (), ("aarch64-linux-gnu-gcc", "qemu-aarch64"), True),
    Backend("armv7", "rpi-32bit", ("neon32",), "-O1", (), ("arm-linux-gnueabihf-gcc", "qemu-arm"), True),
)
VULKAN = Backend(
    "vulkan", "linux-vulkan", ("base", "bytes", "dot4"), needs=("gcc", "clang", "glslc", "glslangValidator", "spirv-val"), compiler="clang"
)
