"""From an ONNX file to a Graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import defs, numpy_helper

from edgec.base.budget import Budget, BudgetError, check_tensors, spending
from edgec.base.errors import ModelError, Problem, UsageError
from edgec.base.part import WHOLE, Part
from edgec.frontend.dispatch import dispatch
from edgec.frontend.domains.categories import told
from edgec.frontend.domains.own import OwnCall
from edgec.frontend.file.bodies import add_bodies, misread_bodies
from edgec.frontend.file.cutting import cut, fix
from edgec.frontend.file.declarations import declared
from edgec.frontend.file.external import load_external
from edgec.frontend.file.misread import misread
from edgec.frontend.file.origin import origin_of
from edgec.frontend.file.pinning import Shapes, pin_inputs
from edgec.frontend.file.states import check_states, keep_states
from edgec.frontend.file.structure import check_functions, check_text, drop_unread, label, ordered, reads
from edgec.frontend.translation.builder import CONVERSIONS, FLOATS, WIDENED, Builder
from edgec.frontend.translation.source import Names, Source, read_node
from edgec.ir.graph import Graph
from edgec.ir.types import HELD_ONLY, DType, TensorType
from edgec.ir.verify import verify
from edgec.ops.weights import check_weights

CROWD = 10_000  # initializers
LARGEST = 2**31 - 1  # bytes of a file, as protobuf counts them


@dataclass(frozen=True)
class Imported:
    """A canonical graph, what the import assumed, for the user to read, what the file says of itself, and nodes ONNX Runtime misreads.

    fixed: of inputs of the file that the graph has as constants. calls: of nodes of operators that the user defines.
    """

    graph: Graph
    notes: tuple[str, ...]
    origin: Mapping[str, str] = field(default_factory=dict)
    misread: tuple[str, ...] = ()
    fixed: Mapping[str, np.ndarray] = field(default_factory=dict)
    calls: tuple[OwnCall, ...] = ()


def load_model(
    path: str | Path, shapes: Shapes | None = None, budget: Budget | None = None, part: Part = WHOLE, operators: bytes = b""
) -> Imported:  # fmt: skip
    """Read the ONNX file at `path`; see from_proto. operators: the bundle of those that the user defines, see edgec/operators."""
    path = Path(path)
    model = _parsed(path)
    with spending(budget):
        return _read(model, shapes, path.parent, part, operators)


def _parsed(path: Path) -> onnx.ModelProto:
    try:
        if path.stat().st_size > LARGEST:  # nothing reads it, and memory may not hold it
            hint = "store its weights as external data beside it"
            raise ModelError("is larger than 2 GiB, the most that an ONNX file has", where=str(path), hint=hint)
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the model: {error.strerror}", where=str(path)) from None
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError:
        raise ModelError("not an ONNX file, or a truncated one", where=str(path), hint="compare its size with the original's") from None
    if not model.HasField("graph") or not model.opset_import:
        hint = "compare its size with the original's"
        raise ModelError("not an ONNX model: it has no graph or no operator set", where=str(path), hint=hint)
    return model


def from_proto(
    model: onnx.ModelProto, shapes: Shapes | None = None, base_dir: Path | None = None, budget: Budget | None = None, part: Part = WHOLE
) -> Imported:  # fmt: skip
    """The model as a canonical Graph with static shapes.

    shapes: extents (or Symbols) of inputs whose dimensions the file leaves open; a batch dimension that nobody decides is 1.
    base_dir: folder of external data. budget: what it may cost (the default, or what counts already). part: what of the model is wanted.
    UsageError for shapes and parts, ModelError for the model; each lists all problems at once, a BudgetError none but its own.
    `model` is not changed.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    with spending(budget):
        return _read(copy, shapes, base_dir, part)


def _read(model: onnx.ModelProto, shapes: Shapes | None, base_dir: Path | None, part: Part, operators: bytes = b"") -> Imported:
    """Translate a model that is ours to change."""
    own, hidden = add_bodies(model, operators)
    check_text(model)
    check_functions(model)
    origin, versions = origin_of(model), _versions(model)
    found = cut(model, part)
    fixed, strange = fix(model, part.constants), list(misread(model))
    check_states(model.graph, part.states)
    problems = load_external(model, base_dir)
    if problems:
        raise ModelError(f"{len(problems)} tensor(s) could not be read", problems)
    file = model.graph
    initializers = {tensor.name for tensor in file.initializer}
    types, notes = pin_inputs([value for value in file.input if value.name not in initializers], shapes or {})
    _check_sizes(types)
    empty = {name: types.pop(name) for name in list(types) if 0 in types[name].shape}
    notes += [f"input {name}: {kind} holds nothing, so it is no input of the package" for name, kind in empty.items()]
    nodes = ordered(file, set(types) | set(empty) | initializers | {tensor.values.name for tensor in file.sparse_initializer})
    functions = {(item.domain, item.name, item.overload): item for item in model.functions}
    graph = Graph(file.name or "model", list(types), [value.name for value in file.output])
    graph.types.update(types)
    graph.metadata.update(_metadata(model))
    taken = set(types) | set(empty) | initializers | {name for node in file.node for name in (*node.input, *node.output)}
    builder = Builder(
        graph, functions, taken, dispatch, notes=[*found, *notes, *hidden], misread=strange, versions=versions, declared=declared(file),
        own=own,
    )  # fmt: skip
    _hold_inputs(builder, file)
    fixed = {**fixed, **{name: np.zeros(kind.static_shape, kind.dtype.numpy) for name, kind in empty.items()}}
    for name in empty:
        builder.define(name, fixed[name])
    _read_initializers(builder, file)
    names = {name: name for name in taken}
    read = {name for node in nodes for name in reads(node)} | set(graph.outputs)
    for index, node in enumerate(nodes):
        if not node.name:
            node.name = f"{node.op_type}_{index}"
        drop_unread(node, read)
        _add(builder, node, versions, names)
    _check_outputs(builder)
    if builder.problems:
        raise ModelError(f"{len(builder.problems)} operator(s) or tensor(s) are not supported", builder.problems)
    _say_texts(builder)
    _hold_outputs(builder)
    rounded = [*_rounded(builder), *_widened(builder)]
    keep_states(graph, part.states, tuple(empty))
    _say_shapes(builder)
    _prune(graph)
    check_weights(graph, "the training diverged, or the file is damaged")
    verify(graph, "export the model again")
    nothing = [Problem(f"{graph.types[name]} holds nothing", f"output {name}") for name in graph.outputs if 0 in graph.shape(name)]
    if nothing:
        raise ModelError(f"{len(nothing)} output(s) are empty tensors", nothing, hint="leave them out of the model")
    strange += misread_bodies(model, {call.operator for call in builder.calls})
    if strange:
        builder.notes.append(
            f"ONNX Runtime misreads {', '.join(strange)}: answers are compared with what edgec imported, not with the file"
        )
    return Imported(graph, tuple(builder.notes), origin, (*strange, *rounded, *builder.believed), fixed, tuple(builder.calls))


def _check_sizes(types: Mapping[str, TensorType]) -> None:
    for name, kind in types.items():
        spread = prod(max(1, extent) for extent in kind.static_shape)  # NumPy counts so in arrays that hold nothing
        check_tensors(spread * kind.dtype.bytes, f"input {name}")


def _say_crowd(builder: Builder, file: onnx.GraphProto) -> None:
    """Note initializers that nothing reads, where they are so many that ONNX Runtime, whose time grows by the square, is not asked."""
    read = {name for node in file.node for name in reads(node)} | {value.name for value in file.output}
    unread = sum(tensor.name not in read for tensor in file.initializer)
    if unread > CROWD:
        crowd = f"nothing reads {unread:,} initializers"
        builder.notes.append(f"{crowd}: ONNX Runtime would be slow with them, so answers are compared with what edgec imported")
        builder.believed.append(crowd)


def _metadata(model: onnx.ModelProto) -> dict[str, str]:
    """Less what is not UTF-8, which comes as bytes."""
    said = [(item.key, item.value) for item in model.metadata_props]
    return {key: value for key, value in said if isinstance(key, str) and isinstance(value, str)}


def _add(builder: Builder, node: onnx.NodeProto, versions: Mapping[str, int], names: Names) -> None:
    try:
        builder.add(read_node(builder.fresh, node, versions, names, ""))
    except BudgetError:
        raise
    except ModelError as error:
        builder.problems.append(Problem(error.summary, label(node), error.hint))
        builder.broken.update(node.output)


def _check_outputs(builder: Builder) -> None:
    """Note what is no tensor, what no node makes, and what a run may not make all of."""
    for name in builder.graph.outputs:
        if name in builder.lists or name in builder.nothing:
            builder.problems.append(Problem("is no tensor", f"output {name}", "leave it out of the model, or cut the graph before it"))
        elif name not in builder.graph.types and not builder.problems:
            builder.problems.append(Problem("no node makes it", f"output {name}", "export the model again"))
        if name in builder.ragged:
            builder.notes.append(f"output {name}: rows of iterations that a run does not make are 0")
            builder.believed.append(f"output {name}")  # of which ONNX Runtime gives fewer


def _versions(model: onnx.ModelProto) -> dict[str, int]:
    """Operator set per domain; ModelError outside of what edgec and the installed onnx know."""
    versions = {"" if item.domain == "ai.onnx" else item.domain: item.version for item in model.opset_import}
    newest = defs.onnx_opset_version()
    if not 1 <= versions.get("", 1) <= newest:
        raise ModelError(f"operator set {versions['']} is not supported, 1 to {newest} are", hint="a newer onnx package may know it")
    return versions


def _read_initializers(builder: Builder, file: onnx.GraphProto) -> None:
    _say_crowd(builder, file)
    for tensor in file.initializer:
        try:
            if min(tensor.dims, default=0) < 0:
                raise ModelError(f"its shape [{','.join(map(str, tensor.dims))}] has an extent below 0")
            if tensor.data_type not in onnx.TensorProto.DataType.values():
                raise ModelError(f"its type {tensor.data_type} is none that ONNX has")
            builder.define(tensor.name, numpy_helper.to_array(tensor))
        except (ModelError, ValueError, TypeError, KeyError) as error:
            what = error.summary if isinstance(error, ModelError) else f"cannot be decoded: {error}"
            builder.problems.append(Problem(what, f"tensor {tensor.name}", "the file is damaged: copy or export it again"))
            builder.broken.add(tensor.name)
    for sparse in file.sparse_initializer:
        builder.problems.append(Problem("sparse tensors are not supported", f"tensor {sparse.values.name}", "store it densely"))
        builder.broken.add(sparse.values.name)


def _hold_inputs(builder: Builder, file: onnx.GraphProto) -> None:
    """Floats of 16 or 64 bits that are computed with are float32 here; not where they are but converted to other types than that."""
    graph = builder.graph
    for name in [name for name in graph.inputs if graph.dtype(name) in HELD_ONLY]:
        readers = [node for node in file.node if name in reads(node)]
        if not readers or not all(map(_converts, readers)):
            graph.held[name] = graph.dtype(name)
            builder.kinds[name] = graph.dtype(name).value
            graph.types[name] = replace(graph.types[name], dtype=DType.FLOAT32)


def _converts(node: onnx.NodeProto) -> bool:
    to = next((item.i for item in node.attribute if item.name == "to"), onnx.TensorProto.FLOAT)
    return node.domain in ("", "ai.onnx") and node.op_type in CONVERSIONS and to != onnx.TensorProto.FLOAT


def _hold_outputs(builder: Builder) -> None:
    graph = builder.graph
    found = {name: builder.file_type(name) for name in graph.outputs if graph.dtype(name) is DType.FLOAT32}
    graph.held.update({name: DType(kind) for name, kind in found.items() if kind in FLOATS})


def _rounded(builder: Builder) -> list[str]:
    """The types of floats that the file computes with, where the graph computes in float32: ONNX Runtime rounds between its nodes."""
    graph = builder.graph
    computed = {kind for name, kind in builder.kinds.items() if kind in FLOATS and name in graph.types and graph.producer(name) is not None}
    kinds = sorted(computed | {kind.value for kind in graph.held.values()})
    if kinds:
        builder.notes.append(f"what the model computes with {' and '.join(kinds)} is computed in float32, its weights too")
    return [f"all of {kind}" for kind in kinds]


def _widened(builder: Builder) -> list[str]:
    """Outputs whose type in the file a Graph has not, so that they come in one that holds it: ONNX Runtime does not hand them to numpy."""
    graph = builder.graph
    found = {name: kind for name in graph.outputs if (kind := builder.file_type(name)) in WIDENED and kind not in FLOATS}
    builder.notes += [f"output {name}: its numbers, {kind} in the model, come as {graph.dtype(name).value}" for name, kind in found.items()]
    return [f"output {name}" for name in found]


def _say_texts(b: Builder) -> None:
    """What the numbers of outputs stand for that are text in the file; ONNX Runtime tells the text."""
    for name in b.graph.outputs:
        if name in b.texts:
            b.notes.append(f"output {name}: in place of text its number, of {told(b.texts[name])}, from 0 on")
            b.believed.append(f"output {name}")


def _say_shapes(b: Builder) -> None:
    """Behind each output of which only a run knows how many elements it has, an output with its shape."""
    graph = b.graph
    for place, name in reversed(list(enumerate(graph.outputs))):
        if graph.types[name].is_counted:
            shape = b.fresh(f"{name}_shape")
            b.emit(Source("Shape", "", 15, (name,), (shape,), shape), "Shape", [name], [shape])
            graph.outputs.insert(place + 1, shape)
            b.notes.append(f"{shape} says how many elements of {name} there are, up to {graph.types[name].elements:,}")


def _prune(graph: Graph) -> None:
    """Drop constants that nobody reads; inputs stay, they belong to the interface."""
    used = {name for node in graph.nodes for name in node.inputs} | set(graph.outputs)
    for name in [name for name in graph.constants if name not in used]:
        del graph.constants[name], graph.types[name]
