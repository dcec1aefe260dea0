"""Integer divisions that ONNX Runtime can be asked about: by 0, and of the least number by -1, its process would end, and the rest
with fmod it computes through doubles.

The guarded model gives there what docs/int8.md, clause 13 says, and what it gave everywhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import onnx
from onnx import helper, numpy_helper

from edgec.export.loop import folder_of_loop
from edgec.ir.graph import Graph, Node
from edgec.ir.loop import loops_in
from edgec.ir.types import DType


def needs_guard(graph: Graph, node: Node) -> bool:
    """Whether a division may be by 0 or -1, as far as constants tell, or is inexact."""
    if node.op not in ("Div", "Mod") or graph.dtype(node.inputs[1]).is_float:
        return False
    if node.attributes.get("fmod"):
        return True
    divisor = graph.constant(node.inputs[1])
    return divisor is None or bool(np.isin(divisor.astype(object), (0, -1)).any())


def guarded(model: onnx.ModelProto, graph: Graph) -> onnx.ModelProto:
    """`model`, which is `graph` in ONNX's form, with such divisions guarded; it is changed."""
    found = _divisions(graph)
    _guard_all(model.graph, found)
    numbers = [
        numpy_helper.from_array(np.array(number, dtype.numpy), f"guard/{dtype.value}/{number}")
        for dtype in sorted(set(found.values()), key=lambda dtype: dtype.value) for number in _numbers(dtype)
    ]  # fmt: skip
    model.graph.initializer.extend(numbers)
    return model


def _divisions(graph: Graph) -> dict[str, DType]:
    """By the names of their results in ONNX's form, those in the bodies of loops too."""
    found = {node.outputs[0]: graph.dtype(node.inputs[1]) for node in graph.nodes if needs_guard(graph, node)}
    for loop in loops_in(graph):
        folder = folder_of_loop(graph, loop)
        found |= {f"{folder}{name}": dtype for name, dtype in _divisions(loop.body).items()}
    return found


def _guard_all(graph: onnx.GraphProto, found: Mapping[str, DType]) -> None:
    for attribute in (attribute for node in graph.node for attribute in node.attribute if attribute.HasField("g")):
        _guard_all(attribute.g, found)
    nodes = [part for node in graph.node for part in (_guard(node, found[node.output[0]]) if node.output[0] in found else [node])]
    kept = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(kept)


def _numbers(dtype: DType) -> tuple[int, ...]:
    return (0, 1) if dtype.value.startswith("u") else (0, 1, -1)


def _guard(node: onnx.NodeProto, dtype: DType) -> Iterator[onnx.NodeProto]:
    """The quotient by 1 instead, which is then 0 or the negative; the rest of a division by 1, in place of 0 or -1, is right already."""
    (a, b), y = node.input, node.output[0]
    zero, one, minus = (f"guard/{dtype.value}/{number}" for number in (0, 1, -1))
    yield helper.make_node("Equal", [b, zero], [f"{y}/by_zero"])
    unsafe = f"{y}/by_zero"
    if -1 in _numbers(dtype):
        yield helper.make_node("Equal", [b, minus], [f"{y}/by_minus"])
        yield helper.make_node("Or", [f"{y}/by_zero", f"{y}/by_minus"], [unsafe := f"{y}/unsafe"])
    yield helper.make_node("Where", [unsafe, one, b], [f"{y}/divisor"])
    divisor, quotient = f"{y}/divisor", f"{y}/quotient"
    if node.op_type == "Mod" and not any(attribute.name == "fmod" and attribute.i for attribute in node.attribute):
        yield helper.make_node("Mod", [a, divisor], [y])
        return
    yield helper.make_node("Div", [a, divisor], [quotient])
    if node.op_type == "Mod":
        yield helper.make_node("Mul", [quotient, divisor], [f"{y}/whole"])
        yield helper.make_node("Sub", [a, f"{y}/whole"], [y])
    else:
        if -1 in _numbers(dtype):
            yield helper.make_node("Sub", [zero, a], [f"{y}/negative"])
            yield helper.make_node("Where", [f"{y}/by_minus", f"{y}/negative", quotient], [quotient := f"{y}/signed"])
        yield helper.make_node("Where", [f"{y}/by_zero", zero, quotient], [y])
