"""Runs a package's Metal host without a Mac: its Objective-C on a GNU runtime, a Metal that is a fake (stubs/), and the package's own
kernels, which tests/gpu/msl compiles for the CPU."""

from __future__ import annotations

import atexit
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import require
from tests.gpu.msl.run import SIMDGROUPS, compile_metal, in_its_form

STUBS = Path(__file__).parent / "stubs"
_STUBS = ("foundation", "metal", "blocks", "arc")
_OBJECTIVE_C = ("-x", "objective-c", "-fblocks", "-fconstant-string-class=NSConstantString", f"-I{STUBS}")
_STRICT = ("-Wall", "-Wextra", "-Wshadow", "-Werror")
_DEBUG = ("-O0", "-gdwarf-4")  # of a version that valgrind reads
# The module that ARC makes says it is of another version than the runtime: stubs/arc.m.
_RUNTIMES = {"arc": ("-fobjc-runtime=objfw", "-fobjc-arc"), "manual": ("-fobjc-runtime=gcc",)}


def call(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"[:8000]
    return done.stdout


def parse_host(package: Path, *flags: str) -> None:
    """The host is good Objective-C by Apple's documentation, with these flags of clang."""
    require("clang")
    (host,) = package.glob("src/*_metal.m")
    call("clang", "-std=c99", *_STRICT, *_OBJECTIVE_C, *flags, "-fsyntax-only", f"-I{package}/include", f"-I{package}/src", str(host))


@cache
def runtime_folder() -> str:
    """Where gcc keeps the Objective-C runtime."""
    require("gcc")
    found = Path(call("gcc", "-print-file-name=libobjc.so").strip())
    if not found.is_absolute():
        pytest.skip("needs libobjc: apt-get install gobjc")
    return str(found.parent)


def link(package: Path, memory: str, sources: list[Path], program: Path, simdgroups: bool = False) -> Path:
    """A program of the package in C, `sources`, and of its host with `memory` kept by ARC or manually.

    Only with `simdgroups` has it the kernels for devices of Apple's family 7 and later.
    """
    require("clang", "g++")
    (host,) = package.glob("src/*_metal.m")
    (metal,) = package.glob("metal/*.metal")
    folder = program.parent
    forms = {"run": metal.read_text()} | ({"run_simdgroups": SIMDGROUPS + metal.read_text()} if simdgroups else {})
    for prefix, text in forms.items():
        (folder / f"{prefix}.so").write_bytes(compile_metal(text, prefix))
    (folder / "kernels.c").write_text(_kernels(forms))
    includes = [f"-I{package}/{name}" for name in ("include", "src", "exam")]
    objects = [*_stubs(), _compile(host, folder, "-std=c99", *_RUNTIMES[memory], *includes)]
    core = [path for path in sorted(package.glob("src/*.c")) if not path.stem.endswith("_none")]
    files = [*core, *sources, folder / "kernels.c", *objects, *(folder / f"{prefix}.so" for prefix in forms)]
    linking = ["-Wl,--wrap=__objc_exec_class", f"-Wl,-rpath,{folder}", f"-L{runtime_folder()}", "-lobjc", "-lpthread"]
    call("clang", *_DEBUG, "-w", f"-I{STUBS}", *includes, *map(str, files), *linking, "-o", str(program))
    return program


@cache
def _stubs() -> list[Path]:
    folder = tempfile.mkdtemp(prefix="edgec-stubs-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return [_compile(STUBS / f"{name}.m", Path(folder), *_RUNTIMES["manual"]) for name in _STUBS]


def _compile(source: Path, folder: Path, *flags: str) -> Path:
    result = folder / f"{source.stem}.o"
    call("clang", *_DEBUG, *_STRICT, *_OBJECTIVE_C, *flags, "-c", str(source), "-o", str(result))
    return result


def _kernels(forms: Mapping[str, str]) -> str:
    """The table of the kernels for the fake. forms: what the functions' names begin with -> the source that has them."""
    found = {prefix: re.findall(r"kernel void (\w+)\(", in_its_form(text)) for prefix, text in forms.items()}
    parameters = "const int *, const int *, unsigned, unsigned char *const *, const long *, char *"
    declared = "".join(f"int {prefix}_{name}({parameters});\n" for prefix, names in found.items() for name in names)
    rows = [
        (name, ", ".join(f"{prefix}_{name}" if name in names else "NULL" for prefix, names in found.items()))
        for name in dict.fromkeys(name for names in found.values() for name in names)
    ]
    table = "".join(f'    {{"{name}", {{{functions}}}}},\n' for name, functions in rows)
    includes = '#include "fake.h"\n#include <stddef.h>\n'
    return f"{includes}{declared}const struct fake_kernel fake_kernels[] = {{\n{table}    {{NULL, {{NULL}}}},\n}};\n"
