"""Runs compute shaders on lavapipe, Mesa's Vulkan device on the CPU, under core and synchronization validation.

With a GPU, `EDGEC_TEST_VULKAN=/path/of/its/icd.json` puts its driver in lavapipe's place in every test that calls shaders.
One device serves a whole test session. Any message of the validation layers, any word written behind a region's end and any
complaint about SPIR-V fails the test that caused it.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from edgec.kernels.gpu.limits import Extent
from tests.conftest import require
from tests.gpu.glsl import compile_glsl

VARIANTS = ("base", "bytes", "dot4")
GPU_DRIVER = os.environ.get("EDGEC_TEST_VULKAN", "")
_SOURCE = Path(__file__).with_suffix(".c")
_DRIVERS = (Path("/usr/share/vulkan/icd.d"), Path("/etc/vulkan/icd.d"))
# variant -> (-D switches, environment, whether the device says that it rounds to nearest even)
_KINDS: dict[str, tuple[tuple[str, ...], str, bool]] = {
    "base": ((), "vulkan1.0", False),
    "even": ((), "vulkan1.0", True),
    "bytes": (("-DBYTES",), "vulkan1.1", False),
    "dot4": (("-DDOT4",), "vulkan1.1", False),
    "subgroups": (("-DSUBGROUPS",), "vulkan1.1", False),
    "bytes_subgroups": (("-DBYTES", "-DSUBGROUPS"), "vulkan1.1", False),
    "half": (("-DHALF",), "vulkan1.1", False),
    "half_subgroups": (("-DHALF", "-DSUBGROUPS"), "vulkan1.1", False),
    "half_math": (("-DHALF_MATH",), "vulkan1.1", False),
}


@dataclass(frozen=True)
class Step:
    """One dispatch; `wait`: a barrier comes before it. views: (offset, bytes) of what it sees, as gpu.views has it; none: all."""

    source: str
    grid: Extent
    wait: bool = True
    views: tuple[tuple[int, int], ...] = ((0, 0),) * 4


class _Step(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_char_p), ("bytes", ctypes.c_size_t), ("grid", ctypes.c_uint32 * 3), ("wait", ctypes.c_uint32),
        ("views", ctypes.c_uint32 * 2 * 4),
    )  # fmt: skip


def run_shader(
    source: str, group: Extent, grid: Extent, arena: bytes, weights: bytes, io: bytes, variant: str = "base"
) -> tuple[bytes, bytes]:
    """What the arena and io hold after one dispatch. `group` is what the source says already."""
    return run_steps([Step(source, grid)], arena, weights, io, variant)


def run_steps(steps: Sequence[Step], arena: bytes, weights: bytes, io: bytes, variant: str = "base") -> tuple[bytes, bytes]:
    """What the arena and io hold after the dispatches of one command buffer.

    Variants are those of the host, and "even": the base on a device that reports rounding to nearest even.
    """
    library = _device()
    codes = [compile_shader(step.source, variant) for step in steps]
    array = (_Step * len(steps))(
        *(
            _Step(code, len(code), (ctypes.c_uint32 * 3)(*step.grid), step.wait, (ctypes.c_uint32 * 2 * 4)(*step.views))
            for step, code in zip(steps, codes, strict=True)
        )
    )
    regions = [ctypes.create_string_buffer(data, len(data)) for data in (padded(arena), padded(weights), padded(io))]
    pointers = (ctypes.c_void_p * 3)(*(ctypes.addressof(region) for region in regions))
    sizes = (ctypes.c_size_t * 3)(*(len(region) for region in regions))
    wrong = library.gpu_run(array, len(steps), int(_KINDS[variant][2]), pointers, sizes)
    messages = library.gpu_messages().decode()
    assert wrong is None and not messages, f"{(wrong or b'').decode()}\n{messages}"
    assert regions[1].raw == padded(weights), "a shader wrote to the weights"
    return regions[0].raw[: len(arena)], regions[2].raw[: len(io)]


def compile_shader(source: str, variant: str) -> bytes:
    """What runs of a shader, if it is good GLSL."""
    switches, environment, _ = _KINDS[variant]
    return compile_glsl(source, environment, switches)


def padded(data: bytes | memoryview) -> bytes:
    """Whole words, and at least one."""
    return bytes(data) + bytes(-len(data) % 4) if data else bytes(4)


def driver() -> Path:
    """The driver that runs shaders, as Vulkan's loader wants it named: Mesa's in software, if tests are not told of another."""
    if GPU_DRIVER:
        return Path(GPU_DRIVER)
    drivers = [path for folder in _DRIVERS for path in sorted(folder.glob("lvp_icd*.json"))]
    if not drivers:
        require("mesa-vulkan-drivers")
    return drivers[0]


def is_wanted(device: str) -> bool:
    """Whether this name is that of the device that driver() has."""
    return ("llvmpipe" in device) == (not GPU_DRIVER)


@cache
def _device() -> ctypes.CDLL:
    require("gcc")
    os.environ["VK_ICD_FILENAMES"] = os.environ["VK_DRIVER_FILES"] = str(driver())
    folder = Path(tempfile.mkdtemp(prefix="edgec-lavapipe-"))
    try:
        object_file = folder / "lavapipe.so"
        command = [
            "gcc",
            "-O1",
            "-Wall",
            "-Werror",
            "-Wno-missing-field-initializers",
            "-fPIC",
            "-shared",
            str(_SOURCE),
            "-o",
            str(object_file),
        ]
        subprocess.run([*command, "-lvulkan"], check=True)
        library = ctypes.CDLL(str(object_file))
    finally:
        shutil.rmtree(folder)
    for function in (library.gpu_open, library.gpu_run, library.gpu_messages, library.gpu_name):
        function.restype = ctypes.c_char_p
    wrong = library.gpu_open()
    assert wrong is None, f"{wrong.decode()}; needs vulkan-validationlayers and mesa-vulkan-drivers"
    assert is_wanted(library.gpu_name().decode()), library.gpu_name()
    return library
