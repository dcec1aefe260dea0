"""manifest.json: all that devices and reports need to know of a package. Equal packages give equal bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from edgec.emit.addresses import root_of
from edgec.emit.calls import work_items
from edgec.program.expr import Const, Expr, Size, bound
from edgec.program.kernels import TEMPLATES
from edgec.program.program import AnyCall, Buffer, Kind, Port, Program, TemplateCall

SCHEMA_VERSION = 1


def describe(program: Program) -> dict[str, Any]:
    """What the manifest says of a planned Program."""
    return {
        "inputs": [_port(port) for port in program.inputs],
        "outputs": [_port(port) for port in program.outputs],
        "sizes": {size.name: {"minimum": 1, "maximum": size.bound} for size in program.sizes},
        "macs": sum(call.call.macs for call in program.calls),
        "calls": [_call(call) for call in program.calls],
        "memory": [_buffer(program, buffer) for buffer in program.buffers.values()],
    }


def _port(port: Port) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "name": port.name,
        "identifier": port.identifier,
        "dtype": port.dtype.value,
        "shape": [bound(extent) for extent in port.shape],
    }
    if any(not isinstance(extent, Const) for extent in port.shape):
        facts["symbolic_shape"] = [_extent(extent) for extent in port.shape]
    if port.scale is not None:
        facts |= {"scale": port.scale, "zero_point": port.zero_point}
    return facts


def _extent(extent: Expr) -> int | str:
    """An extent that runs decide: the size's name, or the bound where arithmetic is done on it."""
    return extent.name if isinstance(extent, Size) else bound(extent)


def _call(call: AnyCall) -> dict[str, Any]:
    kernel = TEMPLATES[type(call.arguments)] if isinstance(call, TemplateCall) else "loop"
    return {
        "name": call.call.name,
        "kernel": kernel,
        "nodes": list(call.call.nodes),
        "macs": call.call.macs,
        "items": bound(work_items(call)),
        "reads": list(call.call.reads),
        "writes": list(call.call.writes),
    }


def _buffer(program: Program, buffer: Buffer) -> dict[str, Any]:
    root, _ = root_of(program, buffer)
    facts: dict[str, Any] = {"name": buffer.name, "kind": root.kind.value, "dtype": buffer.dtype.value, "bytes": buffer.max_bytes}
    if root.kind in (Kind.ARENA, Kind.CONSTANT):
        facts["address"] = buffer.address
    return facts


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def to_json(facts: Mapping[str, Any]) -> bytes:
    return (json.dumps(facts, indent=1, ensure_ascii=False) + "\n").encode()


def add_facts(files: dict[str, bytes], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Put `facts` into the package's manifest.json, and return all that it says."""
    manifest: dict[str, Any] = json.loads(files["manifest.json"]) | dict(facts)
    files["manifest.json"] = to_json(manifest)
    return manifest


def finish_manifest(files: dict[str, bytes], facts: Mapping[str, Any] | None = None) -> None:
    """Bring manifest.json of a package in line with all of its files, and add `facts` (hashes of model and calibration,
    options, versions)."""
    manifest = add_facts(files, facts or {})
    manifest["files"] = {
        path: {"bytes": len(data), "sha256": sha256(data)} for path, data in sorted(files.items()) if path != "manifest.json"
    }
    files["manifest.json"] = to_json(manifest)
