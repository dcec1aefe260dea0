"""Packages with a GPU, compiled, and programs of tests linked with them."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from edgec.emit import ExamData
from edgec.emit.gpu.vulkan import SpirvJob, spirv_file, spirv_jobs
from edgec.package.draft import Draft
from edgec.package.manifest import read_manifest
from edgec.targets import Target
from edgec.toolchain import compile_shaders
from tests.conftest import once, require
from tests.contract.examiner import write_package
from tests.contract.subjects import Net, exam_of
from tests.gpu.lavapipe import driver

# what the validation layers look at; "synchronization" is "core" and more
VALIDATION = {
    "": {},
    "core": {"VK_INSTANCE_LAYERS": "VK_LAYER_KHRONOS_validation"},
    "synchronization": {
        "VK_INSTANCE_LAYERS": "VK_LAYER_KHRONOS_validation",
        "VK_LAYER_ENABLES": "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT",
    },
}


def write_vulkan_package(
    folder: Path, net: Net, target: Target, shared: Path | None, weights: str = "incbin", data: ExamData | None = None
) -> Path:  # fmt: skip
    """The package of `net` with its exam, or this one, and its SPIR-V; shared: see compiled()."""
    require("glslangValidator", "spirv-val")
    write_package(folder, net, target, data or exam_of(net), weights)
    shaders = {str(path.relative_to(folder)): path.read_bytes() for path in (folder / "vulkan").glob("*.comp")}
    draft = Draft(shaders, read_manifest(folder)[0])
    for name, content in spirv_file(draft, compiled(spirv_jobs(draft), shared)).items():
        (folder / name).write_bytes(content)
    return folder


def compiled(jobs: list[SpirvJob], shared: Path | None) -> list[tuple[SpirvJob, bytes]]:
    """The SPIR-V of a package's shaders: compiled once for all tests of a run that see `shared`, or here if that is None."""
    if shared is None:
        return compile_shaders(jobs)
    record = "codes.pickle"

    def make(folder: Path) -> None:
        (folder / record).write_bytes(pickle.dumps([code for _, code in compile_shaders(jobs)]))

    folder = once(shared / "spirv" / hashlib.sha256(repr(jobs).encode()).hexdigest(), make)
    return list(zip(jobs, pickle.loads((folder / record).read_bytes()), strict=True))


def lavapipe(validation: str = "") -> dict[str, str]:
    """The environment in which the device of driver() is the only one."""
    return {"VK_ICD_FILENAMES": str(driver()), "VK_DRIVER_FILES": str(driver()), **VALIDATION[validation]}


def start(
    command: Sequence[str | Path], environment: Mapping[str, str], status: int | None = 0, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program in the inherited environment with some more in it; `status` is the one it must end with, None: any.

    Of the Vulkan loader's variables only those that say where layers are come along.
    """
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("VK_") or key.endswith("LAYER_PATH")}
    done = subprocess.run(
        [str(word) for word in command],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
        timeout=300,
    )
    assert status is None or done.returncode == status, f"status {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done
