"""A graph's loop as ONNX's Loop, whose body reads what is around it by its names there.

But what comes from codes is handed on as a state that never changes: where a body reads what moves a DequantizeLinear's result, ONNX
Runtime's QDQPropagationTransformer, up to 1.31 at least, looks for an input that the loop has not, and ends the process that loads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import onnx
from onnx import helper, numpy_helper

from edgec.ir.graph import Graph
from edgec.ir.loop import Loop
from edgec.ir.types import DType, TensorType
from edgec.ops.proto import tensor_code

Protos = Iterator[onnx.NodeProto]
MOVED = frozenset(("Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Slice", "MaxPool", "Identity"))


def folder_of_loop(graph: Graph, loop: Loop) -> str:
    """What the names of values in its body begin with, and no name of the graph around does."""
    folder = f"{loop.node.outputs[0]}/body/"
    while any(name.startswith(folder) for name in graph.types):
        folder += "_"
    return folder


def loop_protos(graph: Graph, loop: Loop, body: onnx.GraphProto) -> Protos:
    """body: its graph in ONNX's form, with names of its own. Rows of turns that do not begin are filled up with zeros behind the loop."""
    folder = folder_of_loop(graph, loop)
    begins, holds = f"{folder}begins", f"{folder}holds"
    handed = [place for place, name in enumerate(loop.around) if _comes_from_codes(graph, name)]
    read = {name: outer for place, (name, outer) in enumerate(zip(loop.read, loop.around, strict=True)) if place not in handed}
    _rename(body, read, folder)
    states, fixed = list(body.input)[1 : loop.count + 1], [body.input[loop.count + 1 + place] for place in handed]
    flag = helper.make_tensor_value_info(begins, tensor_code(DType.BOOL), [])
    turn, outputs = body.input[0], list(body.output)
    if not loop.condition:
        body.node.append(helper.make_node("Identity", [begins], [holds], holds))
        outputs = [helper.make_tensor_value_info(holds, tensor_code(DType.BOOL), []), *outputs]
    kept = [helper.make_node("Identity", [item.name], [f"{item.name}/again"], f"{item.name}/again") for item in fixed]
    body.node.extend(kept)
    outputs[loop.count + 1 : loop.count + 1] = [_called(item, f"{item.name}/again") for item in fixed]
    _set(body.input, [turn, flag, *states, *fixed])
    _set(body.output, outputs)
    unread = [f"{item.name}/end" for item in fixed]
    firsts = [*loop.firsts, *(loop.around[place] for place in handed)]
    count, made = f"{folder}turns", [f"{folder}made/{place}" for place in range(len(loop.stacks))] if loop.condition else loop.stacks
    yield _constant(count, np.array(loop.turns, np.int64))
    yield helper.make_node("Loop", [count, loop.condition, *firsts], [*loop.lasts, *unread, *made], loop.node.name, body=body)
    for name, stack in zip(made, loop.stacks if loop.condition else [], strict=bool(loop.condition)):
        yield from _filled(name, stack, graph.types[stack])


def _filled(made: str, stack: str, kind: TensorType) -> Protos:
    """made, with rows of zeros behind it, cut to its length."""
    zero = helper.make_tensor("zero", tensor_code(kind.dtype), [1], [0])
    yield _constant(f"{made}/shape", np.array(kind.static_shape, np.int64))
    yield helper.make_node("ConstantOfShape", [f"{made}/shape"], [f"{made}/zeros"], f"{made}/zeros", value=zero)
    yield helper.make_node("Concat", [made, f"{made}/zeros"], [f"{made}/longer"], f"{made}/longer", axis=0)
    for name, number in (("first", 0), ("end", kind.static_shape[0])):
        yield _constant(f"{made}/{name}", np.array([number], np.int64))
    yield helper.make_node("Slice", [f"{made}/longer", f"{made}/first", f"{made}/end", f"{made}/first"], [stack], stack)


def _comes_from_codes(graph: Graph, name: str) -> bool:
    producer = graph.producer(name)
    while producer is not None and producer.op in MOVED:
        producer = graph.producer(producer.inputs[0])
    return producer is not None and producer.op == "DequantizeLinear"


def _called(item: onnx.ValueInfoProto, name: str) -> onnx.ValueInfoProto:
    other = onnx.ValueInfoProto.FromString(item.SerializeToString())
    other.name = name
    return other


def _constant(name: str, array: np.ndarray) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [name], name, value=numpy_helper.from_array(array))


def _set(field: object, items: list[onnx.ValueInfoProto]) -> None:
    kept = [onnx.ValueInfoProto.FromString(item.SerializeToString()) for item in items]
    del field[:]  # type: ignore[attr-defined]
    field.extend(kept)  # type: ignore[attr-defined]


def _rename(body: onnx.GraphProto, around: Mapping[str, str], folder: str) -> None:
    """Every value of the body, and of bodies in it, gets a name in the folder, but what it reads of the graph around."""

    def inner(name: str) -> str:
        return around.get(name) or (f"{folder}{name}" if name else "")

    _renamed(body, inner)


def _renamed(body: onnx.GraphProto, name: Callable[[str], str]) -> None:
    for item in (*body.input, *body.output, *body.value_info, *body.initializer):
        item.name = name(item.name)
    for node in body.node:
        node.input[:], node.output[:] = [name(item) for item in node.input], [name(item) for item in node.output]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _renamed(attribute.g, name)
