"""Finding and calling C compilers; nothing else in edgec starts one."""

from edgec.toolchain.build import Built, compile_package, run_exam
from edgec.toolchain.find import Compiler, find_compiler

__all__ = ["Built", "Compiler", "compile_package", "find_compiler", "run_exam"]
