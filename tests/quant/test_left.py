"""Where INT8 takes hardly anything of a network, that is said."""

from __future__ import annotations

import numpy as np
import pytest

from edgec.quant import quantize
from tests.quant.small import Small, samples


def words(count: int) -> Small:
    """A table of them whose rows a computed place selects, beside a convolution."""
    small = Small((1, 4, 8, 8))
    table = small.constant(small.rng.standard_normal((count, 8)).astype(np.float32))
    places = small.node("ArgMax", small.node("Reshape", "x", small.constant(np.array([32, 8])), allowzero=0), axis=1, keepdims=0)
    row = small.node("Gather", table, places, axis=0)
    small.graph.outputs.append(row)
    small.done(small.conv("x", 8))
    return small


@pytest.mark.parametrize("count, told", [(8, False), (4000, True)])
def test_weights_that_stay_in_float_are_named(count: int, told: bool) -> None:
    graph = words(count).graph
    notes = [note for note in quantize(graph, samples(graph)).report.notes if "of the weights stay in float32" in note]
    assert len(notes) == told and all("(Gather)" in note and note.endswith("hardly smaller") for note in notes)


def test_weights_that_many_read_count_once() -> None:
    small = Small((1, 32))
    table, value = small.constant(small.rng.standard_normal((32, 32)).astype(np.float32)), "x"
    for _ in range(40):
        value = small.node("Where", small.node("Greater", value, table), value, table)
    graph = small.done(small.node("MatMul", value, small.constant(small.rng.standard_normal((32, 200)).astype(np.float32))))
    assert not [note for note in quantize(graph, samples(graph)).report.notes if "of the weights stay in float32" in note]
