"""run a package over the arrays of an .npz file, here or through the target's emulator"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NoReturn

import rich.table

import edgec
from edgec.base.errors import UsageError
from edgec.cli.console import Console, table
from edgec.cli.settings import declare_key, resolve_key


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("package", type=Path, help="a package directory that edgec build wrote")
    parser.add_argument("-i", "--inputs", type=Path, required=True, help=".npz whose names are the inputs', or .npy for a single input")
    parser.add_argument("-o", "--out", type=Path, default=Path("out.npz"), help="where the outputs go (out.npz)")
    parser.add_argument("--input", action=_NamesTensors, const="-i, --inputs", help=argparse.SUPPRESS)
    parser.add_argument("--output", action=_NamesTensors, const="-o, --out", help=argparse.SUPPRESS)
    parser.add_argument("--isa", default=None, help="force a vocabulary, e.g. avx2")
    parser.add_argument("--threads", type=int, default=1, help="threads to run on (1)")
    parser.add_argument("--force", action="store_true", help="replace the input, or a file that edgec did not write")
    declare_key(parser)


class _NamesTensors(argparse.Action):
    """A flag that has a meaning where a model is read, and none here; `const` is the one that a file wants."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None) -> NoReturn:
        raise UsageError(f"{option} names tensors of a model, and a package has its own", hint=f"the file is {self.const}")


def _ends(array: Any) -> tuple[float, float]:
    return (float(array.min()), float(array.max())) if array.size else (float("nan"), float("nan"))


def act(options: argparse.Namespace, console: Console) -> None:
    outputs = edgec.run(
        options.package, options.inputs, out=options.out, isa=options.isa, threads=options.threads, key=resolve_key(options),
        force=options.force,
    )  # fmt: skip
    rows = [(name, array.dtype, str(list(array.shape)), *_ends(array)) for name, array in outputs.items()]
    facts = [{"name": name, "dtype": str(array.dtype), "shape": list(array.shape)} for name, array in outputs.items()]
    shown: list[rich.table.Table | str] = [table("", ["output", "type", "shape", "smallest", "largest"], rows), f"wrote {options.out}"]
    console.result({"output": str(options.out), "outputs": facts}, shown)
