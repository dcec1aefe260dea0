"""What of a package travels to a board: its exam program, libraries and headers, its lists and the signature over them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path

from edgec.base.errors import DeviceError, Problem, UsageError
from edgec.boards.deploy.executable import made_for
from edgec.package.manifest import Manifest, read_manifest, read_small
from edgec.package.single_values import BUILD, BYTES, MANIFEST, SIGNATURE
from edgec.package.summary import summarize
from edgec.records.results import PackageFacts
from edgec.targets import EVERYWHERE, load_target

LISTING = "files.json"  # in every version on a board: what it consists of
_TAKEN = ("lock",)  # names beside the packages in a board's work folder
_SAFE_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
# arch -> the target that has all of its vocabularies
_WIDEST = {"x86_64": "x86-64", "aarch64": "linux-arm64", "armv7": "rpi-32bit"}
_EXECUTABLE = 0o755
_PLAIN = 0o644


@dataclass(frozen=True)
class Parcel:
    """files: content by path, `/` between its parts; every path stays below the folder it is put in. program: path of the exam.

    inputs_bytes, outputs_bytes: one set of inputs and its answer, as the exam program's --run takes and gives them.
    """

    facts: PackageFacts
    files: Mapping[str, bytes]
    program: str
    arch: str
    os: str
    vocabularies: tuple[str, ...]
    inputs_bytes: int
    outputs_bytes: int
    manifest: Manifest

    @cached_property
    def listing(self) -> bytes:
        """files.json: size and sha256 of every file."""
        rows = {path: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for path, data in sorted(self.files.items())}
        return (json.dumps({"schema_version": 1, "files": rows}, indent=1) + "\n").encode()

    @cached_property
    def version(self) -> str:
        """The name of exactly these files on a board: sha256 of the listing."""
        return hashlib.sha256(self.listing).hexdigest()

    @property
    def gpu_calls(self) -> frozenset[int]:
        """Calls that go to a GPU where the board has one."""
        gpu = self.manifest.gpu
        return frozenset(index for index, call in enumerate(gpu.calls if gpu else ()) if call.on == "gpu")

    @property
    def checked_listing(self) -> str:
        """What its exam program is told to check files by; "" where it is one that does not know how."""
        return self.version if f"exam/{self.facts.name}_files.h" in self.manifest.files else ""

    @property
    def bytes(self) -> int:
        return sum(map(len, self.files.values()))

    def mode(self, path: str) -> int:
        """Permissions of a file on the board."""
        return _EXECUTABLE if path == self.program else _PLAIN


def open_parcel(directory: Path) -> Parcel:
    """The parcel of a compiled package. UsageError: not a package, or one that lies; DeviceError: no program to run on a board."""
    manifest, text = read_manifest(directory)
    name = manifest.name
    if name in _TAKEN:
        raise UsageError(f"a package on a board cannot be called {name!r}", where=str(directory), hint="build it with another --name")
    if manifest.arch == "wasm32":
        raise DeviceError(
            "a package for the web runs in browsers and in Node, not on boards", where=str(directory), hint="copy its folder web"
        )
    program = f"build/{name}_exam"
    if not (directory / program).is_file():
        hint = "build it without --no-compile, or run `make` in it, where the target can be linked"
        raise DeviceError("the package has no exam program", where=str(directory), hint=hint)
    lists = [path for path in (BUILD, SIGNATURE) if (directory / path).is_file()]
    files = {MANIFEST: text} | {path: read_small(directory, path) for path in lists}
    for path in (program, *_beside(directory, name, manifest.weights.form)):
        files[path] = _read(directory, path, "not a whole package")
    arch, system = _machine(directory, manifest, files[program])
    inputs, outputs = (sum(prod(port.shape) * BYTES[port.dtype] for port in ports) for ports in (manifest.inputs, manifest.outputs))
    return Parcel(summarize(manifest, text), files, program, arch, system, _vocabularies(manifest, arch), inputs, outputs, manifest)


def _beside(directory: Path, name: str, form: str) -> Iterable[str]:
    """What an application on the board would use, and the weights where the program loads them."""
    libraries = [path for path in (f"build/lib{name}.so", f"build/lib{name}.dylib", f"build/lib{name}.a") if (directory / path).is_file()]
    headers = [f"include/{path.name}" for path in sorted((directory / "include").glob("*.h"))]
    strange = [path for path in headers if not _SAFE_PART.fullmatch(path.removeprefix("include/"))]
    if strange:
        problems = [Problem("not a name that every board takes", ascii(path)) for path in strange]
        raise UsageError("the package has files that edgec did not write", problems, where=str(directory), hint="remove them")
    return [*libraries, *headers, *([f"src/{name}_weights.bin"] if form == "bin" else [])]


def _read(directory: Path, path: str, what: str, hint: str = "build it again") -> bytes:
    """A regular file of the package; a link may not lead out of it."""
    place = directory / path
    try:
        if not place.resolve().is_relative_to(directory.resolve()):
            raise UsageError(what, [Problem("leads out of the package", path)], where=str(directory), hint=hint)
        with open(os.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as stream:  # a pipe would keep it waiting
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise UsageError(what, [Problem("is no regular file", path)], where=str(directory), hint=hint)
            return stream.read()
    except OSError as error:
        raise UsageError(what, [Problem(str(error.strerror or error), path)], where=str(directory), hint=hint) from error


def _machine(directory: Path, manifest: Manifest, program: bytes) -> tuple[str, str]:
    """(architecture, system) that the exam program needs; DeviceError when its first bytes contradict the manifest."""
    target = load_target(manifest.target)
    system, arch = made_for(program) if target.os != "none" else ("", "")  # an image without a system says nothing of one
    wanted_arch = manifest.arch if manifest.arch not in EVERYWHERE else arch
    wanted_system = _family(target.os) if target.os != "any" else system
    if (arch and arch != wanted_arch) or (system and system != wanted_system):
        found = " ".join(filter(None, (arch, system)))
        hint = f"build the package again for {target.name}, or set the right --target"
        what = f"its exam program is for {found}, the package is for {target.name} ({wanted_arch} {target.os})"
        raise DeviceError(what, where=str(directory), hint=hint)
    return wanted_arch or manifest.arch, (system or "any") if target.os == "any" else target.os


def _vocabularies(manifest: Manifest, arch: str) -> tuple[str, ...]:
    """What the exam program can run in: of a package for several processors, what its own one has."""
    if manifest.arch != "universal":
        return manifest.vocabularies
    own = load_target(_WIDEST[arch]).vocabularies if arch in _WIDEST else ()
    return tuple(isa for isa in manifest.vocabularies if isa in own) or ("portable",)


def _family(system: str) -> str:
    """Whose file format a system runs."""
    return {"android": "linux", "ios": "macos"}.get(system, system)
