"""The network as the configuration asks for it: read, less some of its channels, quantized or with coded weights, and compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from edgec.base.budget import spending
from edgec.base.errors import EdgecError, ModelError, UsageError
from edgec.base.output import write_file
from edgec.base.part import Part
from edgec.exam.comparison import Comparison
from edgec.exam.fidelity import compare_coded, compare_with_model
from edgec.exam.measurement import read_times
from edgec.exam.reference import FloatModel
from edgec.export import to_onnx
from edgec.frontend.domains.own import OwnCall
from edgec.ir.graph import Graph
from edgec.ir.text import dumps
from edgec.isolation.requests import import_model
from edgec.operators.definition import CustomOperator, bundle_of
from edgec.operators.finding import find
from edgec.operators.promised import broken_promise
from edgec.pipeline.kept import Entry
from edgec.pipeline.prepare import identifier
from edgec.prune import prune
from edgec.quant import Quantized, QuantizeOptions, Samples, quantize, recall
from edgec.quant.codes.weight_only import CodedGraph, code_weights
from edgec.quant.given.data import open_samples
from edgec.quant.given.preprocess import Preprocess
from edgec.quant.given.repeats import Watched
from edgec.quant.scope.cost import Costs
from edgec.settings.config import BuildConfig
from edgec.targets import load_target

PRUNED = "model.pruned.onnx"
NOT_KEPT = Entry()
Progress = Callable[[str, int, int], None]  # stage, steps done, steps in all (0: not known)


@dataclass(frozen=True)
class Model:
    """A model on its way: the graph as imported (the reference of every check) and as optimized."""

    name: str
    file: Path
    original: Graph
    graph: Graph
    notes: tuple[str, ...]
    origin: Mapping[str, str]  # what the file says of itself
    misread: tuple[str, ...] = ()  # what of the file ONNX Runtime cannot be asked about
    fixed: Mapping[str, np.ndarray] = field(default_factory=dict)  # inputs of the file that are constants in the graphs
    operators: Mapping[str, str] = field(default_factory=dict)  # that a user defines and the model has, with their hashes
    bundle: bytes = b""  # what makes ONNX Runtime know them, behind the file's bytes
    pruning: Pruning | None = None  # where `original` is no longer what the file has


@dataclass(frozen=True)
class Pruning:
    """What pruning left of a model, as an ONNX file that can be trained further; what it costs; and a hash of the samples that decided."""

    content: bytes
    report: Mapping[str, Any]
    samples_sha256: str | None


def read_model(model: Path, config: BuildConfig) -> Model:
    """Import and optimize, in a process of its own. Errors name the file."""
    fused = asdict(Preprocess.parse(config.preprocess)) if config.fuse_preprocess else None
    operators = find(model, config.operators)
    with about(model):
        graphs, bundle = [], bundle_of(operators)
        told = import_model(
            model, config.shape, fused, config.budget, codes=config.precision != "int8", part=config.part, operators=bundle
        )  # fmt: skip
        for stage, imported in zip(("1-imported", "2-optimized"), told, strict=True):
            _dump(config, stage, imported.graph)
            graphs.append(imported.graph)
        called = _called(operators, imported.calls)
    original, graph = graphs
    found = imported.notes, imported.origin, imported.misread, imported.fixed
    return Model(config.name or identifier(model.stem), model, original, graph, *found, operators=called, bundle=bundle)


def _called(operators: Sequence[CustomOperator], calls: Iterable[OwnCall]) -> dict[str, str]:
    """The operators that the model has nodes of, with their hashes. ModelError where one's shape rule is not what its body computes."""
    calls, known = list(calls), {str(item): item for item in operators}
    told = [broken_promise(known[it.operator], it.where, it.inputs, it.outputs, it.attributes) for it in calls if it.is_known]
    if problems := [problem for problem in told if problem is not None]:
        raise ModelError(f"{len(problems)} shape rule(s) do not hold", problems)
    return {name: known[name].sha256 for name in sorted({call.operator for call in calls})}


def prune_model(loaded: Model, config: BuildConfig, progress: Progress | None = None) -> Model:
    """The model without the channels that the configuration asks to remove: from here on it is as if the file had come like that."""
    samples = samples_of(loaded.graph, config)
    if config.prune is None or samples is None:
        return loaded
    watched = Watched(samples)
    with about(loaded.file), spending(config.budget):
        found = prune(loaded.graph, watched, config.prune, progress)
    _dump(config, "2-pruned", found.graph)
    content = bytes(to_onnx(found.graph, held=True).SerializeToString(deterministic=True))
    pruning = Pruning(content, asdict(found.report) | {"warning": found.report.warning}, watched.sha256)
    return replace(read_pruned(loaded, content, config), pruning=pruning)


def read_pruned(loaded: Model, content: bytes, config: BuildConfig) -> Model:
    """`loaded` with the network of a file that `prune_model` made of it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / PRUNED
        write_file(path, content, ".onnx", force=False)
        told = import_model(path, {}, None, config.budget, part=Part(states=config.state))
        original, graph = (imported.graph for imported in told)
    return replace(loaded, original=original, graph=graph)


def quantize_model(loaded: Model, config: BuildConfig, progress: Progress | None = None, entry: Entry = NOT_KEPT) -> Quantized:
    """Calibrate and quantize, or do what an earlier build decided; a model that comes quantized needs no samples."""
    samples = samples_of(loaded.graph, config)
    if samples is None and not any(node.op == "DequantizeLinear" for node in loaded.graph.nodes):
        raise UsageError("int8 needs calibration data", hint="give --calib DATA, or --precision fp32")
    options = QuantizeOptions(
        config.observer or QuantizeOptions.observer, exclude=config.exclude, effort=config.effort or QuantizeOptions.effort,
        codes_out=config.io != "model", goal=config.goal, costs=_costs(loaded, config),
    )  # fmt: skip
    with about(loaded.file), spending(config.budget):
        quantized = _recalled(loaded.graph, entry)
        if quantized is None:
            quantized = quantize(loaded.graph, samples or (lambda: iter(())), options, progress=progress)
            entry.put(json.dumps(quantized.decisions).encode())
    if loaded.pruning is not None:
        quantized = replace(quantized, report=replace(quantized.report, pruning=dict(loaded.pruning.report)))
    _dump(config, "3-quantized", quantized.graph)
    return quantized


def _recalled(graph: Graph, entry: Entry) -> Quantized | None:
    """What an earlier build decided for this graph; None where it decided nothing that fits."""
    kept = entry.get()
    if kept is None or not entry.holds:  # another model was read than the entry is of
        return None
    with suppress(EdgecError):
        return recall(graph, json.loads(kept))
    return None


def _costs(loaded: Model, config: BuildConfig) -> Costs:
    """By which layers are chosen for a goal."""
    vocabularies = load_target(config.target).vocabularies
    if config.profile is None:
        return Costs.of_target(vocabularies)
    return Costs.of_target(vocabularies, read_times(config.profile, hashlib.sha256(loaded.file.read_bytes()).hexdigest()))


def code_model(loaded: Model, config: BuildConfig) -> CodedGraph | None:
    """The float graph with the weights of dense layers as codes, where the configuration asks for it."""
    if config.precision == "int8" or config.weight_bits is None:
        return None
    with about(loaded.file):
        coded = code_weights(loaded.graph, config.weight_bits, samples_of(loaded.graph, config))
        _dump(config, "3-quantized", coded.graph)
    return coded


def compare_model(loaded: Model, changed: Quantized | CodedGraph | None, config: BuildConfig, tell: Progress) -> Comparison | None:
    """The model whose numbers were changed against the file: whatever went wrong on the way shows here."""
    if changed is None:
        return None
    samples = samples_of(loaded.graph, config)
    with about(loaded.file):
        reference, told = reference_of(loaded, config), partial(tell, "comparing")
        if isinstance(changed, CodedGraph):
            return compare_coded(loaded.original, FloatModel(changed.graph), reference, samples, config.seed, told)
        return compare_with_model(loaded.original, changed, reference, samples, config.seed, told)


def samples_of(graph: Graph, config: BuildConfig) -> Samples | None:
    """The calibration samples that the configuration names, opened anew at each call; None when it names none."""
    if config.calib is None:
        return None
    preprocess = Preprocess.parse(config.preprocess) if config.preprocess else None
    if preprocess is not None and config.fuse_preprocess:  # the graph does the rest
        preprocess = replace(preprocess, layout="nhwc", color="gray" if preprocess.color == "gray" else "rgb")
    return open_samples(config.calib, graph, preprocess, limit=config.samples)


def reference_of(loaded: Model, config: BuildConfig) -> FloatModel:
    """The model file in ONNX Runtime; with fused preprocessing, nodes that it misreads, fewer channels or where it is cut the graph."""
    changed = config.fuse_preprocess or config.part.is_cut or loaded.misread or loaded.pruning
    return FloatModel(loaded.original, None if changed else loaded.file, fixed=loaded.fixed, functions=loaded.bundle)


def int8_model(quantized: Quantized) -> bytes:
    """The quantized graph as a standard ONNX file."""
    return bytes(to_onnx(quantized.graph, held=True).SerializeToString(deterministic=True))


def _dump(config: BuildConfig, stage: str, graph: Graph) -> None:
    """The graph as text, and as ONNX for other viewers."""
    if config.dump is not None:
        write_file(config.dump / f"{stage}.eir", dumps(graph).encode(), ".eir", force=config.force)
        content = to_onnx(graph, held=True).SerializeToString(deterministic=True)
        write_file(config.dump / f"{stage}.onnx", content, ".onnx", force=config.force)


@contextmanager
def about(file: Path) -> Iterator[None]:
    """Errors that name no place are about this file."""
    try:
        yield
    except EdgecError as error:
        raise type(error)(error.summary, error.problems, where=error.where or str(file), hint=error.hint) from error
