"""Softmax, found again in its primitive operators."""

from __future__ import annotations

from edgec.ir.graph import Graph, Node
from edgec.passes.rewrite import axes_of, become, rewrites, why_not


@rewrites("Div")
def fuse_softmax(graph: Graph, node: Node) -> bool:
    """exp(x - max(x)) / sum(exp(x - max(x))), both over the same axis -> softmax(x); without the maximum likewise."""
    powers, total = graph.producer(node.inputs[0], "Exp"), _reduced(graph, node.inputs[1], "ReduceSum")
    if powers is None or total is None or total[0] != node.inputs[0]:
        return False
    axes = total[1]
    if len(axes) != 1:
        return why_not(node, "the sum goes over several axes")
    x = powers.inputs[0]
    shifted = graph.producer(x, "Sub")
    if shifted is not None and _reduced(graph, shifted.inputs[1], "ReduceMax") == (shifted.inputs[0], axes):
        x = shifted.inputs[0]
    if graph.types[x] != graph.types[node.outputs[0]]:
        return why_not(node, "the sum broadcasts what it divides")
    return become(graph, node, "Softmax", [x], {"axis": axes[0]})


def _reduced(graph: Graph, value: str, op: str) -> tuple[str, tuple[int, ...]] | None:
    """What `value` is reduced from by `op`, and over which axes, of which an extent of 1 is left; perhaps by a Reshape."""
    reduction = graph.producer(value)
    if reduction is not None and reduction.op == "Reshape":
        reduction = graph.producer(reduction.inputs[0])
    if reduction is None or reduction.op != op:
        return None
    source, axes = reduction.inputs[0], axes_of(graph, reduction)
    kept = tuple(1 if axes and place in axes else extent for place, extent in enumerate(graph.shape(source)))
    return (source, axes) if axes and tuple(graph.shape(value)) == kept else None
