"""Concatenations without copies: their buffers are reserved first, so that kernels write their parts in place.

A part is written in place when nobody but the concatenation reads it, or when it is a concatenation itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgec.integer.grid import Grid
from edgec.integer.operators import Join
from edgec.ir.dimensions import total
from edgec.ir.graph import Graph, Node
from edgec.lower.builder import Lowering
from edgec.lower.destination import destination, slices
from edgec.lower.layout import IMAGE_READERS
from edgec.lower.values import Order, channels_last, row_major, viewed
from edgec.ops.recurrent import CELLS

_PASSED = frozenset({"Relu", "Clip", "QuantizeLinear", "DequantizeLinear", "Add"})


@dataclass(frozen=True)
class Part:
    """One operand: the value that a kernel would write, and its grid when that is codes."""

    name: str
    alone: bool
    grid: Grid | None


def reserve(lowering: Lowering) -> None:
    """Reserve the buffers of all concatenations, the last first, so that one inside of another becomes its slice."""
    for node in reversed(lowering.graph.nodes):
        rank = len(lowering.graph.shape(node.outputs[0])) if node.outputs and node.outputs[0] else 0
        if node.op != "Concat" or rank < 3:
            continue
        if any(_from_kernel(lowering.graph, name) for name in node.inputs):
            _reserve(lowering, node, channels_last(rank))
        elif all(_from_cell(lowering.graph, name) for name in node.inputs):
            _reserve(lowering, node, row_major(rank))


def _reserve(lowering: Lowering, node: Node, order: Order) -> None:
    parts = [_part(lowering, name) for name in node.inputs]
    coded = sum(part.grid is not None for part in parts)
    operator = lowering.matched.at.get(node)
    wanted = operator.grid if coded and isinstance(operator, Join) else None
    if coded and (coded < len(parts) or wanted is None):
        return
    name = operator.tail.name if coded and operator is not None and operator.tail is not None else node.outputs[0]
    dtype = lowering.activation if coded else lowering.graph.dtype(node.outputs[0])
    shape = lowering.shape(node.outputs[0])
    view = destination(lowering.destinations.get(name), dtype, shape, order)
    whole = viewed(view, shape) if view is not None else lowering.dense(name, dtype, shape, order)
    lowering.reserved[name] = whole
    axis = node.attributes["axis"] % len(order)
    dims = [lowering.graph.shape(operand)[axis] for operand in node.inputs]
    places = slices(whole, axis, lowering.extents([total(dims[:place]) for place in range(len(dims))]))
    for part, place in zip(parts, places, strict=True):
        if part.alone and part.grid == wanted:
            lowering.destinations[part.name] = place


def _part(lowering: Lowering, name: str) -> Part:
    graph = lowering.graph
    producer = graph.producer(name)
    alone = graph.reader_count(name) == 1 or (producer is not None and producer.op == "Concat")
    alone &= sum(reader.inputs.count(name) for reader in graph.readers(name)) == graph.reader_count(name)
    found = lowering.matched.grids.get(name)
    found = found if found is not None and found.bits == 8 else None  # floats join where codes have 16
    if found is None or producer is None or producer.op != "DequantizeLinear":
        return Part(name, alone, found)
    return Part(producer.inputs[0], alone and graph.reader_count(producer.inputs[0]) == 1, found)


def _from_kernel(graph: Graph, name: str) -> bool:
    """Whether a convolution or pool computes `name`, perhaps with an activation behind it."""
    producer = graph.producer(name)
    while producer is not None and producer.op in _PASSED:
        producer = graph.producer(producer.inputs[0])
    return producer is not None and producer.op in IMAGE_READERS


def _from_cell(graph: Graph, name: str) -> bool:
    """Whether it is what one direction of a recurrent layer gives."""
    producer = graph.producer(name)
    return producer is not None and producer.op in CELLS
