"""Which of a package's C sources make its core: what every form of its library holds."""

from __future__ import annotations

from pathlib import Path

from edgec.package.manifest import Manifest


def core_sources(manifest: Manifest, directory: Path) -> list[str]:
    """The interface, the kernels of each vocabulary, the task and the weights, as paths in the package."""
    name = manifest.name
    core = [f"src/{name}.c", f"src/{name}_dispatch.c", *(f"src/{name}_kernels_{isa}.c" for isa in manifest.vocabularies)]
    core += [f"src/{name}_task.c"] if (directory / f"src/{name}_task.c").exists() else []
    return core + {"incbin": [f"src/{name}_weights.S"], "c": [f"src/{name}_weights.c"], "bin": []}[manifest.weights.form]
