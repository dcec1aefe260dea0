"""What a model or a package holds: operators, MACs, parameters, memory, and everything that is not supported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from edgec.base.budget import BudgetError, spending
from edgec.base.codec import encode
from edgec.base.errors import ModelError, Problem
from edgec.emit.manifest import calls_of, memory_of
from edgec.exporters import path_of
from edgec.frontend.file.formats import refuse_foreign
from edgec.integer import match
from edgec.ir.graph import Graph
from edgec.ir.loop import all_graphs
from edgec.ir.types import Dim
from edgec.isolation.requests import outline_model
from edgec.lower import lower
from edgec.lower.limits import check_limits
from edgec.lower.plan import plan
from edgec.package import Package
from edgec.package.parts import Call, Memory, Port
from edgec.pipeline.models import Model, read_model
from edgec.pipeline.prepare import check_file, identifier
from edgec.program.program import Kind, Program
from edgec.quant import is_quantized
from edgec.quant.scope.coverage import select
from edgec.schedule import schedule
from edgec.settings.config import BuildConfig, configure
from edgec.targets import load_target


@dataclass(frozen=True)
class InspectedLayer:
    """One kernel call: the ONNX nodes it computes, its MACs, and the bytes of tensors and of weights it reads and writes."""

    name: str
    nodes: tuple[str, ...]
    macs: int
    bytes: int
    weights_bytes: int


@dataclass(frozen=True)
class Inspection:
    """arena_bytes, weights_bytes and layers are those of the float build for a model, and the package's own for a package.

    states: what runs leave for the next ones, each with the `output` that it comes from and the number that it starts with.
    unsupported: every blocker, as what, where and hint. kept_in_float: the nodes that int8 would leave in float, and why; of a model that
    comes quantized those that do stay, though they read quantized numbers or a QuantizeLinear reads them.
    """

    name: str
    kind: str  # model or package
    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    states: list[dict[str, Any]] = field(default_factory=list)
    macs: int = 0
    arena_bytes: int = 0
    weights_bytes: int = 0
    parameters: int = 0
    operators: dict[str, int] = field(default_factory=dict)
    layers: list[InspectedLayer] = field(default_factory=list)
    unsupported: list[dict[str, str]] = field(default_factory=list)
    kept_in_float: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def facts(self) -> dict[str, Any]:
        return asdict(self)


def inspect(model: Any, *, config: BuildConfig | None = None, example_inputs: Any = None, **settings: Any) -> Inspection:
    """What a model, as build() takes it, or a package directory holds."""
    config = config or configure(**settings)
    path = path_of(model, config, example_inputs)
    refuse_foreign(path)
    if path.is_dir():
        return inspect_package(Package(path))
    check_file(path)
    return inspect_model(path, config)


def inspect_model(path: Path, config: BuildConfig) -> Inspection:
    """Import, optimize and lower the model in float; what cannot be imported or lowered is listed, not raised.

    ModelError only for a file that holds no ONNX graph, UsageError for a shape that is missing or does not fit.
    """
    target = load_target(config.target)
    try:
        loaded = read_model(path, replace(config, dump=None))  # it writes nothing
    except ModelError as error:
        if not error.problems:
            raise
        return _blocked(path, error, config)
    try:
        with spending(config.budget):
            program = schedule(lower(loaded.graph, target, loaded.name), target)
        plan(program)
        check_limits(program, target)
    except BudgetError:
        raise
    except ModelError as error:
        return _of_model(loaded, Program(loaded.name, target.name), _blockers(error.problems))
    return _of_model(loaded, program, [])


def inspect_package(package: Package) -> Inspection:
    """What the manifest says."""
    found = package.manifest
    return Inspection(
        found.name, "package", _ports(found.inputs), _ports(found.outputs), encode(found.states or ()),
        macs=found.macs, arena_bytes=found.arena.bytes,
        weights_bytes=found.weights.bytes, layers=_layers(found.calls, found.memory), notes=list(found.notes),
    )  # fmt: skip


def _ports(ports: Iterable[Port]) -> list[dict[str, Any]]:
    return [{key: value for key, value in encode(port).items() if key != "identifier"} for port in ports]


def _of_model(loaded: Model, program: Program, unsupported: list[dict[str, str]]) -> Inspection:
    graph = loaded.graph
    graphs = list(all_graphs(graph))
    constants = [array for each in graphs for array in each.constants.values()]
    layers = _layers(calls_of(program), memory_of(program))
    return Inspection(
        loaded.name, "model",
        _values(graph, graph.given), _values(graph, graph.answered), _states(graph),
        macs=sum(layer.macs for layer in layers), arena_bytes=program.arena_bytes + program.scratch_bytes,
        weights_bytes=sum(array.nbytes for array in constants), parameters=sum(array.size for array in constants),
        operators=dict(sorted(Counter(node.op for each in graphs for node in each.nodes).items())), layers=layers,
        unsupported=unsupported, kept_in_float=_kept_in_float(graph), notes=list(loaded.notes),
    )  # fmt: skip


def _kept_in_float(graph: Graph) -> dict[str, str]:
    if not is_quantized(graph):
        return select(graph).refused
    return {node.name or node.outputs[0]: why for node, why in match(graph).refused.items()}


def _blocked(path: Path, error: ModelError, config: BuildConfig) -> Inspection:
    """A model that cannot be imported: what its file says, and every reason."""
    found = outline_model(path, config.budget)
    inputs, outputs = (
        [{"name": name, "dtype": kind, "shape": shape} for name, kind, shape in part] for part in (found.inputs, found.outputs)
    )
    return Inspection(identifier(path.stem), "model", inputs, outputs, operators=found.operators, unsupported=_blockers(error.problems))


def _blockers(problems: Iterable[Problem]) -> list[dict[str, str]]:
    return [{"what": item.what, "where": item.where, "hint": item.hint} for item in problems]


def _values(graph: Graph, names: list[str]) -> list[dict[str, Any]]:
    return [{"name": name, "dtype": graph.dtype(name).value, "shape": [_extent(dim) for dim in graph.shape(name)]} for name in names]


def _states(graph: Graph) -> list[dict[str, Any]]:
    return [{**facts, **asdict(graph.states[facts["name"]])} for facts in _values(graph, list(graph.states))]


def _extent(dim: Dim) -> int | str:
    return dim if isinstance(dim, int) else str(dim)


def _layers(calls: Sequence[Call], memory: Iterable[Memory]) -> list[InspectedLayer]:
    buffers = {item.name: item for item in memory}

    def touched(call: Call, constant: bool) -> int:
        names = dict.fromkeys(call.reads + call.writes)
        return sum(buffers[name].bytes for name in names if (buffers[name].kind == Kind.CONSTANT.value) is constant)

    return [InspectedLayer(call.name, call.nodes, call.macs, touched(call, False), touched(call, True)) for call in calls]
