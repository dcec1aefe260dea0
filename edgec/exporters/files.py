"""Files of other libraries, exported by these in a process of its own, once for each content and each version of the exporter."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import packages_distributions, version
from pathlib import Path
from tempfile import TemporaryFile

from edgec.base.environment import child_environment
from edgec.base.errors import ModelError, Problem
from edgec.base.harmless import printable
from edgec.cache import opened
from edgec.cache.files import packed, unpacked
from edgec.exporters.marks import mark
from edgec.frontend.file.formats import Foreign, foreign_of

# No start may look for modules in the folder of the file; what this program finds, the exporter finds. It ends with who started it.
PROGRAM = (
    "import json, os, sys, threading; sys.path[:] = json.loads(sys.argv[1]); sys.argv[:] = sys.argv[2:]; "
    "threading.Thread(target=lambda: (sys.stdin.read(), os._exit(1)), daemon=True).start(); "
)
MODULE = "import runpy; runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
# PyTorch's loaders are held to tensors and plain values, and nothing looks for a GPU
ENVIRONMENT = {"TORCH_FORCE_WEIGHTS_ONLY_LOAD": "1", "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
MOST_LINES = 8  # of what an exporter says when it fails

_made: dict[str, Path] = {}  # by this program: key of the content and name -> the ONNX file


def exported_file(path: Path, trusted: bool, cached: bool, seconds: int, new_folder: Callable[[], Path]) -> Path:
    """`path` where edgec reads it itself, or nothing may export it here; else the ONNX file, of the same name in a folder of its own."""
    foreign = foreign_of(path)
    versions = _versions(foreign) if foreign is not None else ""
    if foreign is None or not versions:
        return path
    digest = _sha256(path)
    key = hashlib.sha256(json.dumps([foreign.what, versions, foreign.command, digest, path.stem]).encode()).hexdigest()
    if key in _made:
        return _made[key]
    store = opened(cached)
    content = store.get(key)
    if content is None and foreign.runs_code and not trusted:
        return path
    folder = new_folder()
    target = folder / f"{path.stem}.onnx"
    if content is None:
        _export(foreign, path, target, seconds)
        mark(target, f"{foreign.what}, sha256 {digest}, by {versions}")
        store.put(key, *packed({item.name: item.read_bytes() for item in sorted(folder.iterdir())}))
    else:
        for name, part in unpacked(content).items():
            (folder / Path(name).name).write_bytes(part)
    _made[key] = target
    return target


def _versions(foreign: Foreign) -> str:
    """Of the packages that export it; "" where one is not installed, or there are none."""
    known = packages_distributions() if foreign.packages else {}
    if not all(name in known for name in foreign.packages):
        return ""
    return ", ".join(f"{name} {version(known[name][0])}" for name in foreign.packages)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _export(foreign: Foreign, path: Path, target: Path, seconds: int) -> None:
    """ModelError with the exporter's last words where there is no file then."""
    words = foreign.words(path.absolute(), target)
    program = [words[0]] if foreign.script else [MODULE, *words[2:]]  # without `python -m`
    command = [sys.executable, "-c", PROGRAM + program[0], json.dumps(sys.path), *program[1:]]
    with TemporaryFile() as said:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=said, stderr=subprocess.STDOUT, cwd=target.parent, env=child_environment() | ENVIRONMENT
        )
        try:
            code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            with suppress(OSError):
                process.kill()
            process.communicate()
        said.seek(0)
        text = printable(said.read())
    if code != 0 or not target.is_file():
        how = f"takes longer than {seconds} s" if code is None else "cannot export it"
        lines = [Problem(line) for line in text.splitlines() if line.strip()][-MOST_LINES:]
        what = f"is {foreign.what}, and {foreign.packages[0]} {how}"
        raise ModelError(what, lines, where=str(path), hint="export an ONNX file of it by hand, where more can be chosen")
