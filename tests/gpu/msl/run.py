"""Executes MSL kernels on the CPU: the text becomes C++ over the shim's checked memory, and threads of a group become fibers.

What is found on the way fails: an access outside of a region, a read of threadgroup memory that nobody wrote, threads that miss a
barrier, and two threads that meet at one element with no barrier between them.
"""

from __future__ import annotations

import atexit
import ctypes
import re
import shutil
import subprocess
import tempfile
from functools import cache, lru_cache
from pathlib import Path

from edgec.kernels.gpu.limits import Extent
from tests.conftest import require

SIMDGROUPS = "#define SIMDGROUPS\n"  # before a file: as the host compiles it for devices that have them
ORDERS = (0, 1, 7)  # of a group's threads and of groups: as numbered, backwards, shuffled
_SHIM = Path(__file__).parent / "shim"
_KERNEL = re.compile(r"(?:\[\[[^]]*\]\]\s*)?kernel void (\w+)\((.*?)\) \{(.*?)\n\}", re.S)
_PARAMETER = re.compile(r"\s*\[\[(\w+)(?:\((\d+)\))?\]\]|(TEAM_POSITIONS)")
_REGIONS = ("arena", "weights", "io")
_POSITIONS = {
    "threadgroup_position_in_grid": "uint3{uint(gx), uint(gy), uint(gz)}",
    "thread_position_in_threadgroup": "uint3{uint(lx), uint(ly), uint(lz)}",
    "thread_position_in_grid": "uint3{uint(gx * size[0] + lx), uint(gy * size[1] + ly), uint(gz * size[2] + lz)}",
    "simdgroup_index_in_threadgroup": "uint(members[size_t(thread)].team)",
    "thread_index_in_simdgroup": "uint(members[size_t(thread)].lane)",
    "simdgroups_per_threadgroup": "uint(team_sizes.size())",
}
# What templates/gpu/teams.metal.j2 adds to a kernel
_TEAM_POSITIONS = ("simdgroup_index_in_threadgroup", "simdgroups_per_threadgroup", "thread_index_in_simdgroup")
_TEAMS = f"""
#ifdef SIMDGROUPS
#define TEAM_ARGUMENTS , {", ".join(_POSITIONS[name] for name in _TEAM_POSITIONS)}
#else
#define TEAM_ARGUMENTS
#endif
"""
# What is not C++, in the words of the shim.
_WORDS = (
    (r"\[\[max_total_threads_per_threadgroup\(\d+\)\]\]\s*", ""),
    (r"\s*\[\[\w+(?:\(\d+\))?\]\]", ""),
    (r"\bkernel void\b", "static void"),
    (r"\bthreadgroup (\w+) (\w+)\[(\d+)\];", r'static threadgroup_array<\1, \3> \2{"\2"};'),
    (r"\bdevice (const )?(\w+) \*", r"device_pointer<\1\2> "),
    (r"\bthread (\w+) &", r"\1 &"),
)


class Wrong(AssertionError):
    """A kernel did what no kernel may do."""


def run_metal(
    source: str, name: str, group: Extent, grid: Extent, arena: bytes, weights: bytes, io: bytes, order: int = 0, team: int = 32
) -> tuple[bytes, bytes]:
    """What the arena and io hold after a dispatch of the kernel `name` of a whole .metal file; `team` threads are a simdgroup."""
    library = _load(compile_metal(source))
    ctypes.c_int.in_dll(library, "team_width").value = team
    regions = [ctypes.create_string_buffer(data, max(len(data), 1)) for data in (arena, bytes(weights), io)]
    pointers = (ctypes.c_void_p * 3)(*(ctypes.addressof(region) for region in regions))
    sizes = (ctypes.c_long * 3)(len(arena), len(weights), len(io))
    why = ctypes.create_string_buffer(256)
    if getattr(library, f"run_{name}")((ctypes.c_int * 3)(*group), (ctypes.c_int * 3)(*grid), order, pointers, sizes, why):
        raise Wrong(f"{name}: {why.value.decode()}")
    return regions[0].raw[: len(arena)], regions[2].raw[: len(io)]


@lru_cache(maxsize=256)
def compile_metal(source: str, prefix: str = "run") -> bytes:
    """A shared library with PREFIX_NAME for every kernel of the file."""
    require("g++")
    text = source = in_its_form(source)
    for pattern, word in _WORDS:
        text = re.sub(pattern, word, text)
    entries = "".join(_entry(prefix, *found) for found in _KERNEL.findall(source))
    assert entries, "no kernels in this file"
    with tempfile.TemporaryDirectory() as folder:
        path, library = Path(folder, "kernels.cpp"), Path(folder, "kernels.so")
        path.write_text(f'#include "dispatch.h"\n#line 1 "kernels.metal"\n{text}\n{_TEAMS}{entries}')
        ready = _precompiled()
        _compile(f"-I{ready}", f"-I{_SHIM}", "-shared", str(path), f"{ready}/dispatch.o", "-o", str(library))
        return library.read_bytes()


@cache
def _precompiled() -> str:
    """A folder with the shim's headers and its dispatch, compiled once in a test session."""
    folder = tempfile.mkdtemp(prefix="edgec-metal-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _compile("-x", "c++-header", str(_SHIM / "dispatch.h"), "-o", f"{folder}/dispatch.h.gch")
    _compile(f"-I{folder}", f"-I{_SHIM}", "-c", str(_SHIM / "dispatch.cpp"), "-o", f"{folder}/dispatch.o")
    return folder


def _compile(*arguments: str) -> None:
    flags = ["-std=c++17", "-O0", "-ffp-contract=off", "-fno-gnu-unique", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    quiet = ["-Wno-unused-function", "-Wno-unused-parameter", "-Wno-unknown-pragmas"]
    done = subprocess.run(["g++", *flags, *quiet, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:6000]


def in_its_form(source: str) -> str:
    """A package's file without the kernels that are there with SIMDGROUPS only, unless it begins with that."""
    return source if source.startswith(SIMDGROUPS) else re.sub(r"^#ifdef SIMDGROUPS\n\n.*?^#endif$", "", source, flags=re.S | re.M)


def _entry(prefix: str, name: str, parameters: str, body: str) -> str:
    """The C function that dispatches one kernel."""
    arguments: list[str] = []
    for attribute, index, teams in _PARAMETER.findall(parameters):
        if teams:
            arguments[-1] += " TEAM_ARGUMENTS"
        else:
            arguments.append(f"&regions[{index}]" if attribute == "buffer" else _POSITIONS[attribute])
    meets = "true" if "barrier" in body or "simd" in body else "false"
    names = ", ".join(f'{{"{region}", bytes[{i}], sizes[{i}], {{}}}}' for i, region in enumerate(_REGIONS))
    return f"""
extern "C" int {prefix}_{name}(const int *size, const int *grid, unsigned order, uchar *const *bytes, const long *sizes, char *why) {{
    Region regions[3] = {{{names}}};
    for (int i : {{0, 2}}) regions[i].visits.resize(size_t(sizes[i]));
    int wrong = run_grid(grid, size[0] * size[1] * size[2], order, {meets}, [&](int group, int thread) {{
        [[maybe_unused]] int lx = thread % size[0], ly = thread / size[0] % size[1], lz = thread / size[0] / size[1];
        [[maybe_unused]] int gx = group % grid[0], gy = group / grid[0] % grid[1], gz = group / grid[0] / grid[1];
        {name}({", ".join(arguments)});
    }});
    std::memcpy(why, complaint, sizeof complaint);
    return wrong;
}}
"""


@lru_cache(maxsize=256)
def _load(code: bytes) -> ctypes.CDLL:
    folder = Path(tempfile.mkdtemp(prefix="edgec-metal-"))
    try:
        path = folder / "kernels.so"
        path.write_bytes(code)
        return ctypes.CDLL(str(path))
    finally:
        shutil.rmtree(folder)
