"""Attention of floats, found in the graph and computed by one kernel: no tensor of scores is stored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgec.integer.tails import sole_reader
from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType
from edgec.kernels import AttentionFloat
from edgec.kernels.attention_float import blocks
from edgec.lower import movement
from edgec.lower.batches import result_in_memory, view_of, walks
from edgec.lower.builder import Lowering
from edgec.lower.comment import tensor
from edgec.lower.convolution import labelled
from edgec.lower.product_float import has_kernel, packed, rows_in_memory
from edgec.lower.values import elements, extents
from edgec.program.expr import bound, const
from edgec.program.program import Pointer


@dataclass(frozen=True)
class Attention:
    """softmax(scale * first + mask) times the second operand of `second`. mask: a value's name, or "". inside: the other nodes."""

    first: Node
    second: Node
    scale: float
    mask: str
    inside: tuple[Node, ...]


def absorb_attention(lowering: Lowering) -> None:
    """Leave all of attention to its last node."""
    for node in lowering.graph:
        found = attention_of(lowering, node)
        for inner in found.inside if found else ():
            lowering.absorb(inner)


def attention_of(lowering: Lowering, second: Node) -> Attention | None:
    """MatMul(Softmax(MatMul(q, k) [* or / number] [+ mask]), v) along the last axis, when nobody else reads what is inside."""
    graph = lowering.graph
    softmax = _inner(graph, second.inputs[0], "Softmax") if second.op == "MatMul" else None
    if softmax is None or softmax.attributes["axis"] % len(graph.shape(softmax.inputs[0])) != len(graph.shape(softmax.inputs[0])) - 1:
        return None
    for mask, name, added in _masked(graph, softmax.inputs[0]):
        scale, scaled, found = _scaled(graph, name)
        if found is not None:
            result = Attention(found, second, scale, mask, (found, *scaled, *added, softmax))
            return result if _computes(lowering, result) else None
    return None


def _inner(graph: Graph, name: str, *ops: str) -> Node | None:
    """The producer of a value that is read once."""
    node, reader = graph.producer(name), sole_reader(graph, name)
    return node if node is not None and node.op in ops and reader is not None and reader.inputs.count(name) == 1 else None


def _masked(graph: Graph, name: str) -> list[tuple[str, str, tuple[Node, ...]]]:
    """(mask, the scores before it, its Add) in all the ways in which `name` may be read."""
    add = _inner(graph, name, "Add")
    if add is None:
        return [("", name, ())]
    ways = [(mask, scores, (add,)) for scores, mask in (add.inputs, add.inputs[::-1])]
    return [way for way in ways if graph.shape(way[1]) == graph.shape(name) and graph.shape(way[0])[-1:] == graph.shape(name)[-1:]]


def _scaled(graph: Graph, name: str) -> tuple[float, tuple[Node, ...], Node | None]:
    """A number, the nodes that multiply by it, and the MatMul behind `name` that they multiply."""
    node = _inner(graph, name, "MatMul", "Mul", "Div")
    if node is None or node.op == "MatMul":
        return 1.0, (), node
    for value, other in ((node.inputs[0], node.inputs[1]), (node.inputs[1], node.inputs[0])):
        number = graph.constant(other)
        if (
            number is not None
            and number.size == 1
            and graph.shape(value) == graph.shape(name)
            and (node.op == "Mul" or other == node.inputs[1])
        ):
            with np.errstate(all="ignore"):
                scale = np.float32(number.item()) if node.op == "Mul" else np.float32(1) / np.float32(number.item())
            return float(scale), (node,), _inner(graph, value, "MatMul") if np.isfinite(scale) else None
    return 1.0, (), None


def _computes(lowering: Lowering, found: Attention) -> bool:
    """Whether a kernel does: all are matrices of floats, whose batch axes are those of the scores, or fewer, and none is a constant."""
    graph, operands = lowering.graph, (*found.first.inputs, found.second.inputs[1])
    nodes = (*found.inside, found.second)
    shapes = [extents(graph.shape(name)) for name in operands]
    return (
        all(graph.dtype(node.outputs[0]) is DType.FLOAT32 for node in nodes)
        and not any(node in lowering.matched.at or node in lowering.matched.failed for node in nodes)
        and not any(graph.constant(name) is not None for name in operands)
        and all(len(shape) > 1 for shape in shapes)
        and graph.shape(found.second.outputs[0])[:-2] == graph.shape(found.first.outputs[0])[:-2]
        and has_kernel(lowering, *(shape[:-2] for shape in shapes))
    )


def attention(lowering: Lowering, found: Attention) -> None:
    """A block of rows at a time, over packed keys and values."""
    value, name = lowering.value, found.second.outputs[0]
    query = rows_in_memory(lowering, found.first.inputs[0], value(found.first.inputs[0]))
    keys = packed(lowering, found.first, found.first.inputs[1], value(found.first.inputs[1]))
    values = packed(lowering, found.second, found.second.inputs[1], value(found.second.inputs[1]))
    scores = lowering.shape(found.first.outputs[0])
    lead, rows = scores[:-2], scores[-2]
    y = result_in_memory(lowering, name, DType.FLOAT32, (*lead, rows, values.columns))
    x, result = view_of(movement.expand(query, (*lead, *query.shape[-2:]))), view_of(y)
    mask = view_of(movement.expand(rows_in_memory(lowering, found.mask, value(found.mask)), scores)) if found.mask else None
    masked = mask.strides if mask else tuple(const(0) for _ in scores)
    strides = (x.strides[:-2], keys.strides(lead), values.strides(lead), masked[:-2], result.strides[:-2])
    batches = list(walks(lead, strides))
    macs = elements(scores) * (bound(keys.inner) + bound(values.columns)) // len(batches)
    for batch in batches:
        (x_steps, k_steps, v_steps, m_steps, y_steps), at = batch.strides, batch.offsets
        arguments = AttentionFloat(
            Pointer(x.buffer, x.offset + at[0]), Pointer(keys.buffer, at[1]), Pointer(values.buffer, at[2]),
            Pointer(mask.buffer, mask.offset + at[3]) if mask else None, Pointer(result.buffer, result.offset + at[4]), *batch.sizes,
            rows, keys.columns, keys.inner, values.columns, *x_steps, x.strides[-2], *k_steps, *v_steps, *m_steps, masked[-2],
            *y_steps, result.strides[-2], *blocks(rows, keys.columns, keys.inner, values.columns), found.scale,
        )  # fmt: skip
        operands = " * ".join(tensor(DType.FLOAT32, (*part.lead, part.inner, part.columns)) for part in (keys, values))
        lowering.template(
            arguments, name, labelled(y, [*found.inside, found.second]), macs, f"{tensor(query.dtype, query.shape)} * {operands}"
        )
    lowering.define(name, y)
