"""run a package over the arrays of an .npz file, here or through the target's emulator"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import rich.table

import edgec
from edgec.cli.console import Console, table
from edgec.cli.settings import declare_key, resolve_key


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("package", type=Path, help="a package directory that edgec build wrote")
    parser.add_argument("--input", type=Path, required=True, help=".npz whose names are the inputs', or .npy for a single input")
    parser.add_argument("-o", "--output", type=Path, default=Path("out.npz"), help="where the outputs go (out.npz)")
    parser.add_argument("--isa", default=None, help="force a vocabulary, e.g. avx2")
    parser.add_argument("--threads", type=int, default=1, help="threads to run on (1)")
    parser.add_argument("--force", action="store_true", help="replace the input, or a file that edgec did not write")
    declare_key(parser)


def _ends(array: Any) -> tuple[float, float]:
    return (float(array.min()), float(array.max())) if array.size else (float("nan"), float("nan"))


def act(options: argparse.Namespace, console: Console) -> None:
    outputs = edgec.run(
        options.package, options.input, out=options.output, isa=options.isa, threads=options.threads, key=resolve_key(options),
        force=options.force,
    )  # fmt: skip
    rows = [(name, array.dtype, str(list(array.shape)), *_ends(array)) for name, array in outputs.items()]
    facts = [{"name": name, "dtype": str(array.dtype), "shape": list(array.shape)} for name, array in outputs.items()]
    shown: list[rich.table.Table | str] = [table("", ["output", "type", "shape", "smallest", "largest"], rows), f"wrote {options.output}"]
    console.result({"output": str(options.output), "outputs": facts}, shown)
