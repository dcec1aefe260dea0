"""Integers that floats were cut to: where a float is nearly the next whole number, rounding says which of the two comes out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from edgec.exam.questions import SHAKEN, shaken
from edgec.exam.reference import FloatModel
from edgec.exam.streaming import streamed
from edgec.ir.graph import Graph
from edgec.ir.types import DType

TRIALS = 4  # of questions whose floats are moved a little
_SAME_NUMBERS = frozenset(("Flatten", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"))

Arrays = dict[str, np.ndarray]
Answers = Sequence[Sequence[Sequence[np.ndarray]]]  # by stream, step and output


def moved_by_rounding(
    graph: Graph, run: FloatModel, streams: Sequence[Sequence[Arrays]], found: Answers, seed: int
) -> frozenset[str]:  # fmt: skip
    """The outputs that floats were cut to, of which two right ways of computing them differ. found: the answers by the usual way."""
    places = {graph.answered.index(name): name for name in graph.answered if is_cut(graph, name)}
    if not places:
        return frozenset()
    others = _others(graph, run, streams, seed)
    return frozenset(
        name
        for answers in others
        for one, other in zip(answers, found, strict=True)
        for step, usual in zip(one, other, strict=True)
        for place, name in places.items()
        if step[place].shape == usual[place].shape and not np.array_equal(step[place], usual[place])
    )


def _others(graph: Graph, run: FloatModel, streams: Sequence[Sequence[Arrays]], seed: int) -> Iterator[Answers]:
    """The answers without optimizations, and to questions that are nearly the same."""
    plain, generator = run.unoptimized(), np.random.default_rng(seed)
    yield [streamed(graph, plain, stream) for stream in streams]
    for _ in range(TRIALS):
        moved = [[{name: shaken(array, generator, SHAKEN) for name, array in vector.items()} for vector in stream] for stream in streams]
        yield [streamed(graph, run, stream) for stream in moved]


def is_cut(graph: Graph, output: str) -> bool:
    """Whether an output of integers is floats that a Cast made whole, perhaps in another order."""
    node = graph.producer(output)
    while node is not None and node.op in _SAME_NUMBERS:
        node = graph.producer(node.inputs[0])
    if node is None or node.op != "Cast" or not graph.dtype(node.inputs[0]).is_float:
        return False
    return not graph.dtype(output).is_float and graph.dtype(output) is not DType.BOOL
