"""What of a network is compared, where its outputs hold what it selects, and other numbers select other elements."""

from __future__ import annotations

from edgec.ir.graph import Graph


def compared(graph: Graph) -> list[str]:
    """The outputs; in place of one of which only a run knows how many elements it has, the floats that it selects from, and by."""
    told, found, seen = graph.told_shapes(), list[str](), set[str]()
    for output in graph.outputs:
        left = [output] if output not in told else []
        while left:
            name = left.pop()
            if name in seen or name in graph.constants:
                continue
            seen.add(name)
            producer = graph.producer(name)
            if name != output and producer is None:
                continue
            if not graph.types[name].is_counted and (name == output or graph.dtype(name).is_float):
                found.append(name)
            elif producer is not None:
                left += [item for item in reversed(producer.inputs) if item]
    return found or list(graph.outputs)
