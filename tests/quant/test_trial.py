"""What of the outputs' errors a trial sees."""

from __future__ import annotations

import numpy as np
import pytest

from edgec.quant.trial import judged, less_mean, softmax_axis
from tests.quant.small import Small


@pytest.mark.parametrize(("op", "axis", "wanted"), [("Softmax", -1, -1), ("LogSoftmax", 1, 1), ("Sigmoid", None, None)])
def test_what_is_added_to_all_that_a_softmax_reads_is_no_error(op: str, axis: int | None, wanted: int | None) -> None:
    small = Small((1, 6))
    scores = small.node("Relu", "x")
    graph = small.done(small.node(op, scores, **({} if axis is None else {"axis": axis})))
    assert judged(graph) == [scores]
    assert softmax_axis(graph, scores) == wanted


def test_what_others_read_as_well_counts_as_it_is() -> None:
    small = Small((1, 6))
    scores = small.node("Relu", "x")
    graph = small.done(small.node("Softmax", scores, axis=1), small.node("Abs", scores))
    assert softmax_axis(graph, scores) is None


def test_less_the_mean() -> None:
    scores = np.array([[1.0, 2.0, 6.0], [-np.inf, 0.0, 1.0]], np.float32)
    assert np.allclose(less_mean(scores, 1), [[-2.0, -1.0, 3.0], [-np.inf, 0.0, 1.0]])
    assert np.allclose(less_mean(scores[:1] + 7, 1), less_mean(scores[:1], 1))
