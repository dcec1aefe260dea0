"""Finding and calling compilers of C and of shaders; nothing else in edgec starts one."""

from edgec.toolchain.call import Built
from edgec.toolchain.compile import compile_package, run_exam
from edgec.toolchain.find import Compiler, find_compiler, version_of
from edgec.toolchain.freestanding import ABIS, link_freestanding
from edgec.toolchain.spirv import compile_shaders

__all__ = [
    "ABIS",
    "Built",
    "Compiler",
    "compile_package",
    "compile_shaders",
    "find_compiler",
    "link_freestanding",
    "run_exam",
    "version_of",
]
