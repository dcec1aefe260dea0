"""run a package over the arrays of an .npz file, here or through the target's emulator"""

from __future__ import annotations

import argparse
from pathlib import Path

import edgec
from edgec.cli.console import Console, table
from edgec.package import Package


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("package", type=Path, help="a package directory that edgec build wrote")
    parser.add_argument("--input", type=Path, required=True, help=".npz whose names are the inputs', or .npy for a single input")
    parser.add_argument("-o", "--output", type=Path, default=Path("out.npz"), help="where the outputs go (out.npz)")
    parser.add_argument("--isa", default=None, help="force a vocabulary, e.g. avx2")
    parser.add_argument("--threads", type=int, default=1)


def act(options: argparse.Namespace, console: Console) -> None:
    outputs = edgec.run(Package(options.package), options.input, out=options.output, isa=options.isa, threads=options.threads)
    rows = [(name, array.dtype, list(array.shape), float(array.min()), float(array.max())) for name, array in outputs.items() if array.size]
    facts = [{"name": row[0], "dtype": str(row[1]), "shape": row[2], "min": row[3], "max": row[4]} for row in rows]
    console.result({"output": str(options.output), "outputs": facts}, [table("", ["output", "type", "shape", "min", "max"], rows)])
