"""What a report needs to know of a package: its layers, and who lies where in the arena, from its manifest."""

from __future__ import annotations

import math

from edgec.package.manifest import Manifest, sha256
from edgec.records.results import BenchedLayer, Block, PackageFacts


def summarize(manifest: Manifest, text: bytes) -> PackageFacts:
    """text: the manifest's bytes, by whose hash packages are known."""
    return PackageFacts(
        sha256=sha256(text),
        name=manifest.name,
        target=manifest.target,
        precision=manifest.precision,
        model_sha256=manifest.model_sha256,
        macs=manifest.macs,
        arena_bytes=manifest.arena.bytes,
        weights_bytes=manifest.weights.bytes,
        layers=_layers(manifest),
        blocks=_blocks(manifest),
    )


def _layers(manifest: Manifest) -> tuple[BenchedLayer, ...]:
    types = {item.name: item.dtype for item in manifest.memory}
    ratios = {item.node: float(item.sqnr) for item in manifest.quantization if math.isfinite(item.sqnr)}
    found = []
    for call in manifest.calls:
        ratio = next((ratios[node] for node in reversed(call.nodes) if node in ratios), None)
        kind = types[call.writes[0]] if call.writes else "float32"
        # 8-bit kernels compute in int8 whatever they write; any other call is as wide as what it writes first
        precision = "int8" if "int8" in call.kernel or kind == "uint8" else kind
        found.append(BenchedLayer(call.name, call.nodes, call.kernel, precision, call.macs, ratio))
    return tuple(found)


def _blocks(manifest: Manifest) -> tuple[Block, ...]:
    """Buffers of the arena and the thread's scratch, each from the first to the last call that reads or writes it, and as long as a loop
    turns that others outside of it use as well."""
    used: dict[str, list[int]] = {}
    for index, call in enumerate(manifest.calls):
        for name in (*call.reads, *call.writes):
            used.setdefault(name, []).append(index)
    turns = _turns(manifest)
    found = [
        Block(item.name, item.address or 0, item.bytes, *_life(manifest, used[item.name], turns))
        for item in manifest.memory
        if item.kind == "arena" and item.name in used
    ]
    arena = manifest.arena
    if arena.scratch_bytes_per_thread:
        found.append(Block("scratch", arena.tensor_bytes, arena.scratch_bytes_per_thread, 0, max(0, len(manifest.calls) - 1)))
    return tuple(found)


def _turns(manifest: Manifest) -> dict[str, tuple[int, int]]:
    """The first and the last call of each loop's turns."""
    found: dict[str, tuple[int, int]] = {}
    for index, call in enumerate(manifest.calls):
        for loop in call.within or ():
            found[loop] = found[loop][0] if loop in found else index, index
    return found


def _life(manifest: Manifest, used: list[int], turns: dict[str, tuple[int, int]]) -> tuple[int, int]:
    """From the first to the last of the calls that need what those calls use."""
    first, last = used[0], used[-1]
    for loop in {name for index in used for name in manifest.calls[index].within or ()}:
        begin, end = turns[loop]
        if not begin <= used[0] <= used[-1] <= end:
            first, last = min(first, begin), max(last, end)
    return first, last
