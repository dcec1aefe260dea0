"""Networks of which INT8 takes hardly anything, as recurrences that a file writes as loops, and tables of words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edgec.base.harmless import ending
from edgec.ir.graph import Graph, Node
from edgec.ir.loop import loop_of

HARDLY = 0.1  # of the weights
SMALL = 1024  # numbers: fewer are no weights
LONG = 60  # letters of a name


def weights_in_float(quantized: Graph) -> Iterator[str]:
    """A remark, where INT8 makes the package hardly smaller."""
    floats, codes = dict[str, int](), 0  # by who reads them first
    for reader, array in _read(quantized):
        if array.dtype.kind == "f" and reader.op != "DequantizeLinear":
            floats[reader.name] = floats.get(reader.name, 0) + array.size
        elif array.dtype.itemsize == 1:
            codes += array.size
    left = sum(floats.values())
    if left > max((1 - HARDLY) * (left + codes), SMALL):
        most = max(quantized.nodes, key=lambda node: floats.get(node.name, 0))
        where = f"most of them of {ending(most.name, LONG)} ({most.op})"
        yield f"{left / (left + codes):.0%} of the weights stay in float32, {where}: int8 makes this model hardly smaller"


def _read(graph: Graph) -> Iterator[tuple[Node, np.ndarray]]:
    """Each constant, once, with the node that reads it, or in whose body it is read."""
    seen: set[str] = set()
    for node in graph.nodes:
        for name in node.inputs:
            if name in graph.constants and name not in seen:
                seen.add(name)
                yield node, graph.constants[name]
        loop = loop_of(node)
        for _, array in _read(loop.body) if loop is not None else ():
            yield node, array
