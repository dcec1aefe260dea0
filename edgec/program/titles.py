"""What people read of the calls of a Program: the names of layers."""

from __future__ import annotations

from collections import Counter

from edgec.program.program import Program


def titles(program: Program) -> tuple[str, ...]:
    """Of each call the first ONNX node that it computes, of one that computes none its own name; all differ.

    Of several calls that begin with one node the later ones have a number: `/pool`, `/pool (2)`.
    """
    names = [next(iter(call.call.nodes), call.call.name) for call in program.calls]
    taken, serials, found = set(names), Counter[str](), []
    for name in names:
        serials[name] += 1
        title = name
        while serials[name] > 1 and title in taken:
            title = f"{name} ({serials[name]})"
            serials[name] += title in taken
        taken.add(title)
        found.append(title)
    return tuple(found)
