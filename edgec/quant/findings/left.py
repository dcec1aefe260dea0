"""Networks of which INT8 takes hardly anything, as recurrences that a file writes as loops, and tables of words."""

from __future__ import annotations

from collections.abc import Iterator

from edgec.base.harmless import ending
from edgec.ir.graph import Graph, Node
from edgec.ir.loop import loop_of

HARDLY = 0.1  # of the weights
SMALL = 1024  # numbers: fewer are no weights
LONG = 60  # letters of a name


def weights_in_float(quantized: Graph) -> Iterator[str]:
    """A remark, where INT8 makes the package hardly smaller."""
    numbers = {node.name: _weights(quantized, node) for node in quantized.nodes}
    floats = sum(found[0] for found in numbers.values())
    whole = floats + sum(found[1] for found in numbers.values())
    if floats > max((1 - HARDLY) * whole, SMALL):
        most = max(quantized.nodes, key=lambda node: numbers[node.name][0])
        where = f"most of them of {ending(most.name, LONG)} ({most.op})"
        yield f"{floats / whole:.0%} of the weights stay in float32, {where}: int8 makes this model hardly smaller"


def _weights(graph: Graph, node: Node) -> tuple[int, int]:
    """Numbers of constants that it reads, in its body as well: floats, and codes of 8 bits."""
    arrays = [graph.constants[name] for name in set(node.inputs) if name in graph.constants and node.op != "QuantizeLinear"]
    floats = sum(array.size for array in arrays if array.dtype.kind == "f" and node.op != "DequantizeLinear")
    found = floats, sum(array.size for array in arrays if array.dtype.itemsize == 1 and node.op == "DequantizeLinear")
    loop = loop_of(node)
    inner = [found, *(_weights(loop.body, one) for one in loop.body.nodes)] if loop is not None else [found]
    floats, codes = (sum(numbers) for numbers in zip(*inner, strict=True))
    return floats, codes
