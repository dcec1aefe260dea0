"""manifest.json: all that devices and reports need to know of a package. Equal packages give equal bytes.

This is its only writer and its only reader, which takes it for the words of a stranger.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path as Folder
from typing import Annotated, Any

from edgec.base.codec import Rule, decode, encode
from edgec.base.errors import Problem, UsageError
from edgec.base.strict_json import load_json
from edgec.package.card import FIELDS, MOST, OF_THE_FILE, printable
from edgec.package.goal import GoalFacts
from edgec.package.parts import (
    AndroidNames,
    Arena,
    Call,
    CodedWeights,
    File,
    Gpu,
    Kept,
    Labels,
    Memory,
    Options,
    Port,
    QuantizationStep,
    QuantizedValue,
    Size,
    SwiftNames,
    TaskFacts,
    Weights,
)
from edgec.package.pruning import PruningFacts
from edgec.package.single_values import BYTES, MANIFEST, Count, Hash, Identifier, Number, Path, Text, Word, one_of
from edgec.package.single_values import MOST as MOST_BYTES

SCHEMA_VERSION = 1
LARGEST = 1 << 25  # bytes of a manifest
LARGEST_LISTED = 1 << 28  # bytes of one that the manifest has a hash of
SHOWN = 20  # problems that are told
NO_PACKAGE = "give the directory that edgec build wrote"
Version = Annotated[int, Rule(lambda value: type(value) is int and value == SCHEMA_VERSION, f"{SCHEMA_VERSION}, which this edgec reads")]
Content = bytes | memoryview  # of a file; weights are not copied
_Field = Annotated[str, one_of(*FIELDS, *OF_THE_FILE)]
_Short = Rule(lambda value: isinstance(value, str) and len(value) <= MOST and printable(value) == value, "a short text in one line")
_Card = Mapping[_Field, Annotated[str, _Short]]


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What a package is."""

    schema_version: Version = SCHEMA_VERSION
    name: Identifier
    target: Word
    arch: Word
    vocabularies: tuple[Word, ...]
    abi_version: Count
    int8_contract: Count
    edgec_version: Text
    arena_bytes: Count
    weights_bytes: Count
    weights: Weights
    arena: Arena
    stack_bytes: Count
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    sizes: Mapping[Text, Size]
    macs: Count
    calls: tuple[Call, ...]
    memory: tuple[Memory, ...]
    gpu: Gpu | None = None
    states: tuple[Kept, ...] | None = None  # what runs leave for the next ones
    files: Mapping[Path, File] = field(default_factory=dict)  # all but the three that lists and signatures are in


@dataclass(frozen=True, kw_only=True)
class Origin:
    """What a package was made of."""

    precision: Word
    notes: tuple[Text, ...]
    card: _Card
    model_sha256: Hash
    network_sha256: Hash
    calibration_sha256: Hash | None
    options_sha256: Hash
    options: Options
    versions: Mapping[Word, Text]
    quantization: tuple[QuantizedValue, ...]
    sqnr_db: Mapping[Text, Number]  # of each output of a quantized model, or one with coded weights, against the file it was made from
    agreement: Mapping[Text, Number] | None = None  # share of samples with the same arg-max, of outputs that hold scores
    compared: Count | None = None  # samples, for both
    warnings: tuple[Text, ...] | None = None
    quantization_steps: tuple[QuantizationStep, ...] = ()
    coded_weights: CodedWeights | None = None
    goal: GoalFacts | None = None  # where layers stay in float32 for it
    pruning: PruningFacts | None = None  # where channels were removed: model.pruned.onnx is what was quantized
    package_version: Count | None = None  # which boards never let fall
    tuned_sha256: Hash | None = None  # of the record that chose variants of kernels


@dataclass(frozen=True, kw_only=True)
class Manifest(Origin, Contents):
    """Both, and what forms for applications add. made: files that are there once the package was compiled."""

    task: TaskFacts | None = None
    labels: Labels | None = None
    swift: SwiftNames | None = None
    android: AndroidNames | None = None
    made: tuple[Path, ...] | None = None

    @property
    def text(self) -> bytes:
        """manifest.json."""
        return (json.dumps(encode(self), indent=1, ensure_ascii=False) + "\n").encode()

    def listing(self, files: Mapping[str, Content]) -> Manifest:
        """The manifest of a package that consists of these files."""
        return replace(self, files={path: File(len(data), sha256(data)) for path, data in sorted(files.items()) if path != MANIFEST})


def sha256(data: Content) -> str:
    return hashlib.sha256(data).hexdigest()


def options_hash(options: Options) -> str:
    return sha256(json.dumps(encode(options), sort_keys=True).encode())


def read_manifest(directory: Folder) -> tuple[Manifest, bytes]:
    """The manifest of a package directory and its very bytes. UsageError: no package, or one whose manifest lies, with all its lies."""
    text = read_small(directory, MANIFEST)
    return parse_manifest(text, str(directory)), text


def parse_manifest(text: bytes, where: str) -> Manifest:
    """UsageError, naming `where`, lists all that is wrong."""
    raw = load_json(text, [])
    if raw is None or "edgec_version" not in raw:
        raise UsageError("not an edgec package", where=where, hint=NO_PACKAGE)
    problems: list[Problem] = []
    manifest = scan(raw, problems)
    if problems:
        more = [Problem(f"and {len(problems) - SHOWN} more")] if len(problems) > SHOWN else []
        raise UsageError("the manifest is broken", [*problems[:SHOWN], *more], where=where, hint="build the package again")
    return manifest


def scan(raw: Mapping[str, Any], problems: list[Problem]) -> Manifest:
    """What the JSON says; whole only when nothing is added to `problems`."""
    before = len(problems)
    manifest: Manifest = decode(Manifest, raw, "", problems)
    problems += _alike(manifest.files or ())
    if len(problems) == before:
        problems += _contradictions(manifest)
    return manifest


def read_listed(directory: Folder, manifest: Manifest, name: str) -> bytes:
    """A file of the package as the manifest lists it. UsageError: it is not there, or was changed since."""
    listed, where = manifest.files.get(name), str(directory / name)
    if listed is None:
        raise UsageError("the package has no such file", where=where, hint="build the package again")
    content = read_small(directory, name, LARGEST_LISTED)
    if sha256(content) != listed.sha256:
        raise UsageError("was changed since the build", where=where, hint="build the package again")
    return content


def read_small(directory: Folder, name: str, largest: int = LARGEST) -> bytes:
    """A regular file, no link, not too large. UsageError otherwise."""
    place = directory / name
    try:
        with open(os.open(place, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)), "rb") as stream:
            facts = os.fstat(stream.fileno())
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > largest:
                raise OSError("is no file of a size that can be")
            return stream.read(largest)
    except OSError as error:
        what = "is a link" if place.is_symlink() else (error.strerror or str(error))
        raise UsageError("not an edgec package", [Problem(what, name)], where=str(directory), hint=NO_PACKAGE) from error


def _contradictions(manifest: Manifest) -> Iterable[Problem]:
    """Where parts that are right by themselves do not fit each other."""
    known = Counter(item.name for item in manifest.memory)
    yield from (Problem(f"{ascii(name)[:80]} comes twice", "memory") for name, count in known.items() if count > 1)
    arena = (item for item in enumerate(manifest.memory) if item[1].kind == "arena" and item[1].address is None)
    yield from (Problem("is missing", f"memory[{index}].address") for index, _ in arena)
    for index, call in enumerate(manifest.calls):
        strange = [name for name in (*call.reads, *call.writes) if name not in known]
        yield from (Problem(f"{ascii(name)[:80]} is no memory of the package", f"calls[{index}]") for name in strange)
    for key, ports in (("inputs", manifest.inputs), ("outputs", manifest.outputs)):
        names = Counter(port.name for port in ports)
        yield from (Problem(f"{ascii(name)[:80]} comes twice", key) for name, count in names.items() if count > 1)
        for index, port in enumerate(ports):
            if prod(port.shape) * BYTES[port.dtype] > MOST_BYTES:
                yield Problem("is too large", f"{key}[{index}].shape")
            if (port.scale is None) != (port.zero_point is None):
                yield Problem("scale and zero_point come together", f"{key}[{index}]")
    pairs = (
        (manifest.arena_bytes, manifest.arena.bytes, "arena_bytes"),
        (manifest.weights_bytes, manifest.weights.bytes, "weights_bytes"),
        (manifest.options_sha256, options_hash(manifest.options), "options_sha256"),
        (len(manifest.gpu.calls if manifest.gpu else manifest.calls), len(manifest.calls), "gpu.calls"),
    )
    yield from (Problem("contradicts the rest of the manifest", where) for one, other, where in pairs if one != other)


def _alike(paths: Iterable[str]) -> Iterable[Problem]:
    """Paths that systems may not tell apart."""
    seen: set[str] = set()
    for path in paths:
        if path.lower() in seen:
            yield Problem("must be a path in a package, once", f"files {path!r}")
        seen.add(path.lower())
