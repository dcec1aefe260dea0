"""Compiles one model's package for every target with zig alone: `PYTHONPATH=FOLDER python benchmarks/zig_targets.py MODEL [TARGET ...]`.

ziglang is 400 MB installed, so the tests do without it: `pip install --target FOLDER ziglang`. Where an emulator is there, the exam runs.
The first build for a target takes minutes, since zig compiles its C library then.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from edgec.base.errors import EdgecError
from edgec.pipeline.finish import build
from edgec.settings.config import BuildConfig
from edgec.targets import Target, load_target, target_names
from edgec.toolchain import Built, compile_package, run_exam


def compile_for(model: Path, name: str, folder: Path) -> tuple[Target, Built]:
    """The package of `model` for one target, compiled by zig whatever other compilers there are."""
    target = replace(load_target(name), compilers=())
    out = folder / name
    build(model, BuildConfig(target=name, precision="fp32", out=out, name="model", compile=False))
    return target, compile_package(out, target, optimize="-O2")


def row(model: Path, name: str, folder: Path) -> str:
    start = time.monotonic()
    try:
        target, built = compile_for(model, name, folder)
    except EdgecError as error:
        return f"| {name} | {error} | | |"
    exam = "not linked" if built.exam is None else "not run"
    if built.exam is not None and target.os in ("linux", "any", "android") and (not target.emulator or shutil.which(target.emulator[0])):
        exam = "passed" if run_exam(built, target).returncode == 0 else "FAILED"
    library = built.library.name if built.library else "none"
    return f"| {name} | {len(built.objects)} objects, {library} | {exam} | {time.monotonic() - start:.0f} s |"


def main() -> None:
    model, names = Path(sys.argv[1]), sys.argv[2:] or [name for name in target_names() if name not in ("host", "portable")]
    print("| target | made | exam | time |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            print(row(model, name, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
