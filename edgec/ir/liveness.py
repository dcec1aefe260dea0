"""How much memory the values of a graph need at one moment of a run."""

from __future__ import annotations

from edgec.ir.graph import Graph
from edgec.ir.loop import loop_of


def live_bytes(graph: Graph) -> tuple[int, str]:
    """The most bytes of computed values and inputs that are alive at once, in the order of the nodes, and the node where that is.

    Inputs and graph outputs stay, they are the caller's, and so are those of a loop's body; nothing is computed in place of an operand.
    """
    last = {name: index for index, node in enumerate(graph.nodes) for name in node.inputs}
    kept = {*graph.inputs, *graph.outputs, *graph.constants}
    alive = sum(graph.types[name].bytes for name in graph.inputs)
    most, where = alive, "its inputs"
    for index, node in enumerate(graph.nodes):
        alive += sum(graph.types[name].bytes for name in node.outputs if name)
        loop = loop_of(node)
        inside = 0 if loop is None else live_bytes(loop.body)[0]
        if alive + inside > most:
            most, where = alive + inside, f"{node.name} ({node.op})"
        ended = [name for name in dict.fromkeys(node.inputs) if last[name] == index]
        ended += [name for name in node.outputs if name not in last]
        alive -= sum(graph.types[name].bytes for name in ended if name and name not in kept)
    return most, where
