"""What loops read of the graph around them."""

from __future__ import annotations

from edgec.ir.graph import Graph, Node
from edgec.ir.loop import LOOP, Loop, loop_of
from edgec.passes.rewrite import rewrites


@rewrites(LOOP)
def move_constants_inside(graph: Graph, node: Node) -> bool:
    """loop(states..., c) -> loop(states...) whose body has c itself: there it is a weight, or folds."""
    loop = loop_of(node)
    assert loop is not None
    known = [place for place, name in enumerate(loop.around) if name in graph.constants]
    for place in reversed(known):
        _move(graph, loop, place)
    return bool(known)


def _move(graph: Graph, loop: Loop, place: int) -> None:
    index = loop.count + 1 + place
    loop.body.constants[loop.body.inputs.pop(index)] = graph.constants[loop.node.inputs[index]]
    graph.rewire(loop.node, [*loop.node.inputs[:index], *loop.node.inputs[index + 1 :]])
