"""A graph's loop as ONNX's Loop, whose body reads what is around it by its names there."""

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
    _rename(body, dict(zip(loop.read, loop.around, strict=True)), folder)
    states = list(body.input)[1 : loop.count + 1]
    flag = helper.make_tensor_value_info(begins, tensor_code(DType.BOOL), [])
    turn, outputs = body.input[0], list(body.output)
    if not loop.condition:
        body.node.append(helper.make_node("Identity", [begins], [holds], holds))
        outputs = [helper.make_tensor_value_info(holds, tensor_code(DType.BOOL), []), *outputs]
    _set(body.input, [turn, flag, *states])
    _set(body.output, outputs)
    count, made = f"{folder}turns", [f"{folder}made/{place}" for place in range(len(loop.stacks))] if loop.condition else loop.stacks
    yield _constant(count, np.array(loop.turns, np.int64))
    yield helper.make_node(
        "Loop", [count, loop.condition, *loop.firsts], [*loop.lasts, *made], loop.node.name, body=body
    )  # fmt: skip
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
