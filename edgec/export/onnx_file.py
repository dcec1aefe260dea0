"""Graph -> ONNX. The same graph gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import onnx
from onnx import helper, numpy_helper

from edgec.export.expansions import EXPANSIONS, expansion_constants, is_whole_relu, whole_relu
from edgec.export.identities import folder_of, identities, identity_constants, with_identity
from edgec.export.loop import loop_protos
from edgec.export.saturation import without_saturated_clips
from edgec.ir.graph import Graph, Node
from edgec.ir.loop import loop_of, loops_in
from edgec.ir.types import DType, Symbol, TensorType
from edgec.ops.proto import IR_VERSION, OPSET, node_proto, schema, tensor_code
from edgec.ops.recurrent import CELLS

# Taken wherever it has what the graph needs: among the int8 codes of a younger model ONNX Runtime's optimizer puts nodes of its own
# that its type check then refuses, since it makes their zero points unsigned and leaves their output_dtype as it was.
LOADED_OPSET = 20
BITS_OPSET = 26  # has BitCast
CODED = ("QuantizeLinear", "DequantizeLinear")
_WIDE = (DType.INT16, DType.UINT16)


def to_onnx(graph: Graph, *, held: bool = False) -> onnx.ModelProto:
    """`graph` as a model in operator set LOADED_OPSET or OPSET; names are kept, operators that are younger are expanded,
    and Clips that say no more than the codes after them are left out.

    held: with inputs and outputs in the types that its caller holds them in, else they are all as the graph computes them.
    """
    graph = with_casts(graph) if held and graph.held else graph
    opset = [helper.make_opsetid("", _opset(graph))]
    model = helper.make_model(_proto(graph), producer_name="edgec", opset_imports=opset, ir_version=IR_VERSION)
    helper.set_model_props(model, dict(sorted(graph.metadata.items())))
    return model


def _proto(graph: Graph) -> onnx.GraphProto:
    graph = without_saturated_clips(graph)
    proto = onnx.GraphProto(name=graph.name)
    folder = folder_of(graph)
    proto.node.extend(node_proto(item) for item in identities(graph, folder))
    proto.node.extend(item for node in graph.nodes for item in _protos(graph, node, folder))
    _name_uniquely(proto)
    proto.input.extend(_value(name, graph.types[name]) for name in graph.inputs)
    proto.output.extend(_value(name, graph.types[name]) for name in graph.outputs)
    constants = graph.constants | expansion_constants(graph) | identity_constants(graph, folder)
    proto.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    shown = set(graph.inputs) | set(graph.outputs) | set(graph.constants)
    proto.value_info.extend(_value(name, graph.types[name]) for node in graph.nodes for name in node.outputs if name and name not in shown)
    return proto


def _protos(graph: Graph, node: Node, folder: str) -> Iterator[onnx.NodeProto]:
    loop = loop_of(node)
    return map(node_proto, _expanded(graph, node, folder)) if loop is None else loop_protos(graph, loop, _proto(loop.body))


def with_casts(graph: Graph) -> Graph:
    """The same graph with inputs and outputs of the types that its caller holds, and casts between."""
    cast = graph.copy()
    for name in [name for name in cast.inputs if name in cast.held]:
        inner, kind = cast.fresh(f"{name}_float32"), cast.types[name]
        first = next(iter(cast.nodes), None)
        for node in cast.readers(name):
            cast.rewire(node, [inner if item == name else item for item in node.inputs])
        cast.insert(Node("Cast", [name], [inner], {"to": kind.dtype.value}, inner), [kind], before=first)
        cast.types[name] = replace(kind, dtype=cast.held[name])
    for name in [name for name in cast.outputs if name in cast.held and name not in cast.inputs]:
        inner, kind, producer = cast.fresh(f"{name}_float32"), cast.types[name], cast.producer(name)
        if producer is None:
            cast.constants[inner] = cast.constants.pop(name)
        else:
            cast.rewire(producer, producer.inputs, [inner if item == name else item for item in producer.outputs])
        for node in cast.readers(name):
            cast.rewire(node, [inner if item == name else item for item in node.inputs])
        cast.types[inner] = kind
        cast.insert(Node("Cast", [inner], [name], {"to": cast.held[name].value}, f"{name}_held"), [replace(kind, dtype=cast.held[name])])
    cast.held.clear()
    return cast


def save(graph: Graph, path: str | Path) -> None:
    """Write `graph` as an ONNX file; OSError when that fails."""
    Path(path).write_bytes(to_onnx(graph, held=True).SerializeToString(deterministic=True))


def _opset(graph: Graph) -> int:
    """The operator set that has all of the graph: codes of 16 bits, and blocks of codes, came with the newer one."""

    def newer(node: Node) -> bool:
        return bool(node.attributes.get("block_size")) or any(graph.dtype(name) in _WIDE for name in (node.inputs[0], *node.outputs))

    if any(node.op == "BitCast" for node in graph.nodes):
        return BITS_OPSET
    found = OPSET if any(node.op in CODED and newer(node) for node in graph.nodes) else LOADED_OPSET
    return max(found, *(_opset(loop.body) for loop in loops_in(graph)), 0)


def _name_uniquely(graph: onnx.GraphProto) -> None:
    """ONNX Runtime refuses two nodes of one name; later ones take a number."""
    taken = {""}
    for node in graph.node:
        name, serial = node.name, 1
        while name in taken and node.name:
            name, serial = f"{node.name}_{serial}", serial + 1
        node.name = name
        taken.add(name)


def _value(name: str, kind: TensorType) -> onnx.ValueInfoProto:
    shape = [extent.name if isinstance(extent, Symbol) else extent for extent in kind.shape]
    return helper.make_tensor_value_info(name, tensor_code(kind.dtype), shape)


def _expanded(graph: Graph, node: Node, folder: str) -> list[Node]:
    """What expansions.py has in other operators, cells with identities in `folder`; everything else is in OPSET.

    Dilations of 1 are not written into an AveragePool: ONNX Runtime's quantized form refuses that attribute, whatever it says.
    """
    if node.op == "AveragePool" and set(node.attributes.get("dilations", ())) <= {1}:
        return [replace(node, attributes={name: value for name, value in node.attributes.items() if name != "dilations"})]
    if node.op in CELLS:
        return [with_identity(graph, node, folder)]
    if is_whole_relu(graph, node):
        return [whole_relu(node)]
    if node.op in EXPANSIONS:
        return EXPANSIONS[node.op](node)
    if schema(node.op).since_version > OPSET and node.op != "BitCast":
        raise ValueError(f"{node.op} is younger than operator set {OPSET} and has no expansion")
    return [node]
