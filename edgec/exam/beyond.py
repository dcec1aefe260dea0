"""Which numbers of a float model halves do not hold, by what the exam's questions make of them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from itertools import chain

import numpy as np

from edgec.exam.expected import USELESS, Asked, half_tolerances
from edgec.export.halves import LARGEST
from edgec.ir.graph import Graph
from edgec.program.program import Program, TemplateCall
from edgec.quant.runs.float_run import Probe

REACHES = 1.0, 255.0  # of random questions
SHOWN = 3  # names of layers
ROOM = 2  # times the largest number that was seen: other questions may go as far beyond it


def beyond_halves(graph: Graph, asked: Asked) -> frozenset[str]:
    """The values of `graph`, as optimized, that come near the end of the range of halves, or leave it.

    Behind it a layer of halves could only compute each of its sums anew and give the end of the range. Infinities are the model's own.
    """
    values = [name for node in graph.nodes for name in node.outputs if name and _is_float(graph, name)]
    if not values:
        return frozenset()
    probe = Probe(graph, values)
    found = chain.from_iterable(probe.each(question) for question in chain.from_iterable(asked.streams))
    return frozenset(name for name, array in found if _largest(array) * ROOM > LARGEST)


def ask_halves(ask: Callable[[float], Asked], graph: Graph) -> Asked:
    """Questions without samples, from 0 as far as the answers with halves say something; the first where none do. ask: so far.

    Models of pictures may take bytes: of numbers up to 1 little is left in such a one but its biases, and halves leave less.
    """
    first = None
    for reach in REACHES:
        asked = ask(reach)
        beyond = beyond_halves(graph, asked)
        asked = replace(asked, beyond=beyond)
        first = first or asked
        vectors, answers = (list(chain(*streams)) for streams in (asked.streams, asked.answers))
        if min(half_tolerances(graph, vectors, answers, beyond)) <= USELESS:
            return asked
    assert first is not None
    return first


def notes_of(graph: Graph, program: Program, asked: Asked | None, beyond: Collection[str]) -> list[str]:
    """What a user of fp16 should know of it, and of what was asked. program: lowered from `graph`."""
    far = asked is not None and asked.reach > REACHES[0]
    notes = [f"the exam's random inputs go to {asked.reach:g}, since halves keep too little of smaller ones"] if asked and far else []
    wide = {node.name for node in graph.nodes if any(name in beyond for name in (*node.inputs, *node.outputs))}
    calls = [call.call for call in program.calls if isinstance(call, TemplateCall)]
    left = [call.nodes[0] for call in calls if wide.intersection(call.nodes)]
    if not left:
        return notes
    shown = ", ".join(left[:SHOWN]) + (", ..." if len(left) > SHOWN else "")
    return [*notes, f"{len(left)} of {len(calls)} layers compute in float32, since their numbers go beyond half precision: {shown}"]


def _is_float(graph: Graph, name: str) -> bool:
    return graph.types[name].is_static and graph.dtype(name).is_float and graph.dtype(name).bytes == 4


def _largest(array: np.ndarray) -> float:
    """Of what is finite."""
    return max(float(array.max(initial=0.0, where=np.isfinite(array))), -float(array.min(initial=0.0, where=np.isfinite(array))))
