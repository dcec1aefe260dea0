"""manifest.json of a package, read as the words of a stranger: everything that is used of it is checked."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from edgec.errors import Problem, UsageError
from edgec.results import Block, Layer, PackageFacts

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_HASH = re.compile(r"[0-9a-f]{64}")
_MOST = 2**48  # bytes, MACs or elements: beyond it nothing is meant
_BYTES = {"float64": 8, "int64": 8, "uint64": 8, "float32": 4, "int32": 4, "uint32": 4, "float16": 2, "int16": 2, "uint16": 2}
_BYTES |= {"int8": 1, "uint8": 1, "bool": 1}
_FORMS = ("incbin", "c", "bin")

Ports = tuple[tuple[tuple[int, ...], int], ...]  # shape and bytes of an element, of each input or output


@dataclass(frozen=True)
class Manifest:
    """What devices and reports need of it. raw: everything it says."""

    name: str
    arch: str
    vocabularies: tuple[str, ...]
    weights_form: str
    inputs: Ports
    outputs: Ports
    facts: PackageFacts
    raw: Mapping[str, Any]

    @classmethod
    def parse(cls, text: bytes, where: str) -> Manifest:
        """UsageError, naming `where`, lists all that is wrong."""
        try:
            raw = json.loads(text, parse_constant=_no_number)
        except (ValueError, RecursionError):
            raw = None
        if not isinstance(raw, dict) or "edgec_version" not in raw:
            raise UsageError("not an edgec package", where=where, hint="give the directory that edgec build wrote")
        reader = _Reader()
        manifest = _manifest(reader, raw, hashlib.sha256(text).hexdigest())
        if reader.problems:
            raise UsageError("the manifest is broken", reader.problems[:20], where=where, hint="build the package again")
        return manifest


@dataclass
class _Reader:
    """Takes values out of JSON and remembers what is wrong with them, so that all of it is said at once."""

    problems: list[Problem] = field(default_factory=list)

    def take(self, facts: Any, key: str, where: str, test: Callable[[Any], bool], wanted: str, fallback: Any) -> Any:
        value = facts.get(key) if isinstance(facts, dict) else None
        if test(value):
            return value
        self.problems.append(Problem(f"must be {wanted}", f"{where}{key}"))
        return fallback

    def text(self, facts: Any, key: str, where: str = "", pattern: re.Pattern[str] | None = None) -> str:
        def fits(value: Any) -> bool:
            return isinstance(value, str) and len(value) <= 4096 and (pattern is None or pattern.fullmatch(value) is not None)

        return str(self.take(facts, key, where, fits, "a name" if pattern else "text", ""))

    def count(self, facts: Any, key: str, where: str = "") -> int:
        return int(self.take(facts, key, where, _is_count, "a whole number, not negative", 0))

    def texts(self, facts: Any, key: str, where: str = "") -> tuple[str, ...]:
        def fits(value: Any) -> bool:
            return isinstance(value, list) and all(isinstance(item, str) for item in value)

        return tuple(self.take(facts, key, where, fits, "a list of texts", ()))

    def rows(self, facts: Any, key: str) -> list[Any]:
        return list(self.take(facts, key, "", lambda value: isinstance(value, list), "a list", []))


def _manifest(reader: _Reader, raw: Mapping[str, Any], sha256: str) -> Manifest:
    if raw.get("schema_version") != 1:
        reader.problems.append(Problem(f"is {str(raw.get('schema_version'))[:20]}, this edgec reads 1", "schema_version"))
    weights = raw.get("weights")
    form = reader.take(weights, "form", "weights.", lambda value: value in _FORMS, f"one of {', '.join(_FORMS)}", "")
    vocabularies = reader.texts(raw, "vocabularies")
    for word in vocabularies:
        if not _WORD.fullmatch(word):
            reader.problems.append(Problem(f"{ascii(word)[:80]} is not a name", "vocabularies"))
    facts = PackageFacts(
        sha256=sha256,
        name=reader.text(raw, "name", pattern=_NAME),
        target=reader.text(raw, "target", pattern=_WORD),
        precision=reader.text(raw, "precision", pattern=_WORD),
        model_sha256=reader.text(raw, "model_sha256", pattern=_HASH),
        macs=reader.count(raw, "macs"),
        arena_bytes=reader.count(raw.get("arena"), "bytes", "arena."),
        weights_bytes=reader.count(weights, "bytes", "weights."),
        layers=_layers(reader, raw),
        blocks=_blocks(reader, raw),
    )
    arch, inputs, outputs = reader.text(raw, "arch", pattern=_WORD), _ports(reader, raw, "inputs"), _ports(reader, raw, "outputs")
    return Manifest(facts.name, arch, vocabularies, form, inputs, outputs, facts, raw)


def _layers(reader: _Reader, raw: Mapping[str, Any]) -> tuple[Layer, ...]:
    types = {item["name"]: item.get("dtype") for item in _objects(raw, "memory") if isinstance(item.get("name"), str)}
    ratios = {item.get("node"): item.get("sqnr") for item in _objects(raw, "quantization") if isinstance(item.get("node"), str)}
    found = []
    for index, call in enumerate(reader.rows(raw, "calls")):
        where = f"calls[{index}]."
        nodes, writes = reader.texts(call, "nodes", where), reader.texts(call, "writes", where)
        kernel = reader.text(call, "kernel", where, _WORD)
        ratio = next((ratios[node] for node in reversed(nodes) if node in ratios), None)
        known = float(ratio) if isinstance(ratio, float) and math.isfinite(ratio) else None
        name, macs = reader.text(call, "name", where), reader.count(call, "macs", where)
        found.append(Layer(name, nodes, kernel, _precision(kernel, [types.get(buffer) for buffer in writes]), macs, known))
    return tuple(found)


def _precision(kernel: str, writes: list[Any]) -> str:
    """8-bit kernels compute in int8 whatever they write; any other call is as wide as what it writes first."""
    kind = writes[0] if writes and writes[0] in _BYTES else "float32"
    return "int8" if "int8" in kernel or kind == "uint8" else kind


def _blocks(reader: _Reader, raw: Mapping[str, Any]) -> tuple[Block, ...]:
    """Buffers of the arena and the thread's scratch, each from the first to the last call that reads or writes it."""
    calls = _objects(raw, "calls")
    used: dict[str, list[int]] = {}
    for index, call in enumerate(calls):
        for name in [*_strings(call.get("reads")), *_strings(call.get("writes"))]:
            used.setdefault(name, []).append(index)
    found = []
    for index, item in enumerate(reader.rows(raw, "memory")):
        where = f"memory[{index}]."
        name, kind, size = reader.text(item, "name", where), reader.text(item, "kind", where, _WORD), reader.count(item, "bytes", where)
        if kind == "arena" and name in used:
            found.append(Block(name, reader.count(item, "address", where), size, used[name][0], used[name][-1]))
    arena = raw.get("arena")
    if isinstance(arena, dict) and arena.get("scratch_bytes_per_thread"):
        tensors, scratch = reader.count(arena, "tensor_bytes", "arena."), reader.count(arena, "scratch_bytes_per_thread", "arena.")
        found.append(Block("scratch", tensors, scratch, 0, max(0, len(calls) - 1)))
    return tuple(found)


def _ports(reader: _Reader, raw: Mapping[str, Any], key: str) -> Ports:
    found = []
    for index, port in enumerate(reader.rows(raw, key)):
        where = f"{key}[{index}]."
        kind = reader.take(port, "dtype", where, lambda value: isinstance(value, str) and value in _BYTES, "an element type", "uint8")
        shape = reader.take(port, "shape", where, _is_shape, "a list of extents", [])
        found.append((tuple(shape), _BYTES[kind]))
    return tuple(found)


def _objects(raw: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    rows = raw.get(key)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _strings(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _MOST


def _is_shape(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= 64 and all(map(_is_count, value)) and math.prod(value) <= _MOST


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is not a number")
