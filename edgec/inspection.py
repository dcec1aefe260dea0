"""What a model or a package holds: operators, MACs, parameters, memory, and everything that is not supported."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from edgec.config import BuildConfig
from edgec.errors import ModelError
from edgec.ir.graph import Graph
from edgec.lower import LowerOptions, lower
from edgec.lower.plan import plan
from edgec.package import Package
from edgec.pipeline import read_model
from edgec.program.program import Program
from edgec.targets import load_target


@dataclass(frozen=True)
class Layer:
    """One kernel call: the ONNX nodes it computes, its MACs, and the arena bytes it reads and writes."""

    name: str
    nodes: tuple[str, ...]
    macs: int
    bytes: int


@dataclass(frozen=True)
class Inspection:
    """arena_bytes, weights_bytes and layers are those of the float build for a model, and the package's own for a package."""

    name: str
    kind: str  # model or package
    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    macs: int
    arena_bytes: int
    weights_bytes: int
    parameters: int = 0
    operators: dict[str, int] = field(default_factory=dict)
    layers: list[Layer] = field(default_factory=list)
    unsupported: list[dict[str, str]] = field(default_factory=list)

    @property
    def facts(self) -> dict[str, Any]:
        return asdict(self)


def inspect_model(path: Path, config: BuildConfig) -> Inspection:
    """Import, optimize and lower the model in float; what cannot be lowered is listed, not raised."""
    loaded = read_model(path, config)
    program, unsupported = Program(loaded.name, config.target), list[dict[str, str]]()
    try:
        program = lower(loaded.graph, load_target(config.target), loaded.name, LowerOptions())
        plan(program)
    except ModelError as error:
        unsupported = [{"what": item.what, "where": item.where, "hint": item.hint} for item in error.problems]
    constants = loaded.graph.constants.values()
    return Inspection(
        loaded.name, "model", _values(loaded.graph, loaded.graph.inputs), _values(loaded.graph, loaded.graph.outputs),
        macs=sum(call.call.macs for call in program.calls), arena_bytes=program.arena_bytes + program.scratch_bytes,
        weights_bytes=sum(array.nbytes for array in constants), parameters=sum(array.size for array in constants),
        operators=dict(sorted(Counter(node.op for node in loaded.graph.nodes).items())), layers=_layers(program), unsupported=unsupported,
    )  # fmt: skip


def inspect_package(package: Package) -> Inspection:
    """What the manifest says."""
    facts = package.manifest
    size = {item["name"]: item["bytes"] for item in facts["memory"]}
    layers = [
        Layer(item["name"], tuple(item["nodes"]), item["macs"], sum(size[name] for name in dict.fromkeys(item["reads"] + item["writes"])))
        for item in facts["calls"]
    ]
    return Inspection(
        facts["name"], "package", facts["inputs"], facts["outputs"],
        macs=facts["macs"], arena_bytes=facts["arena"]["bytes"], weights_bytes=facts["weights"]["bytes"], layers=layers,
    )  # fmt: skip


def _values(graph: Graph, names: list[str]) -> list[dict[str, Any]]:
    return [{"name": name, "dtype": graph.dtype(name).value, "shape": list(map(str, graph.shape(name)))} for name in names]


def _layers(program: Program) -> list[Layer]:
    def touched(names: tuple[str, ...]) -> int:
        return sum(program.buffers[name].max_bytes for name in dict.fromkeys(names))

    return [Layer(item.call.name, item.call.nodes, item.call.macs, touched(item.call.reads + item.call.writes)) for item in program.calls]
