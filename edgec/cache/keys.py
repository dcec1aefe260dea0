"""Keys of entries: hashes of all that a result depends on, edgec itself and the machine among it."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from edgec.base.resources import KINDS, resource

# What computes, reads or writes a package's content: the names their installed folders begin with
LIBRARIES = ("jinja2", "ml_dtypes", "numpy", "onnx", "onnxruntime", "pillow", "protobuf", "pyyaml")
PROCESSOR = ("vendor_id", "model name", "flags", "features", "cpu implementer", "cpu part")  # lines of Linux's /proc/cpuinfo


def key_of(kind: str, *parts: Any) -> str:
    """The name of the entry of this kind that is made from `parts` alone: numbers, texts, tables, bytes, frozen facts.

    A path is none of them: what its file holds is, see of_file and of_files. What edgec itself computes depends on own(), too.
    """
    return f"{kind}-{hashlib.sha256(json.dumps(parts, default=_plain).encode()).hexdigest()}"


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__name__, asdict(value)]
    if isinstance(value, (bytes, memoryview)):
        return ["bytes", hashlib.sha256(value).hexdigest()]
    raise TypeError(f"no part of a key: {value!r}")


def of_file(path: Path) -> str:
    """The hash of what a file holds."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def of_files(paths: Iterable[Path]) -> list[tuple[str, str]]:
    """The names and hashes of the files of a folder that count, in their order."""
    return [(path.name, of_file(path)) for path in paths]


@cache
def own() -> str:
    """The hash of edgec's own sources, with the versions of Python and of the libraries that decide bytes, the processor and its cores."""
    digest = hashlib.sha256()
    for name, path in _sources():
        content = path.read_bytes()
        digest.update(f"{name} {len(content)}\n".encode())
        digest.update(content)
    digest.update(json.dumps([sys.version, sys.platform, sorted(_versions()), _processor(), os.cpu_count()]).encode())
    return digest.hexdigest()


def _sources() -> Iterator[tuple[str, Path]]:
    """What edgec is made of, with names that do not say where it is installed."""
    for folder in (Path(__file__).resolve().parents[1], *(resource(kind) for kind in KINDS)):
        for place, folders, names in os.walk(folder):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            paths = [Path(place, name) for name in sorted(names) if not name.endswith((".pyc", ".pyo"))]
            yield from ((path.relative_to(folder.parent).as_posix(), path) for path in paths if path.is_file())  # not an editor's lock


def _versions() -> Iterator[tuple[str, int]]:
    """The folders that say which version of a library is installed, and when it was: importing them all takes longer."""
    for folder in dict.fromkeys(sys.path):
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.endswith((".dist-info", ".egg-info")) and name.lower().split("-")[0] in LIBRARIES:
                with suppress(OSError):
                    yield name, Path(folder, name).stat().st_mtime_ns


def _processor() -> list[str]:
    """What libraries choose their kernels by."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            lines = stream.read(1 << 16).split("\n\n")[0].splitlines()
    except OSError:
        lines = []
    machine = os.uname().machine if hasattr(os, "uname") else os.environ.get("PROCESSOR_IDENTIFIER", "")
    return [machine, *(line for line in lines if line.split(":")[0].strip().lower() in PROCESSOR)]
