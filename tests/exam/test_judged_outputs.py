"""Which outputs a promise about answers is judged by."""

from __future__ import annotations

import numpy as np

from edgec.exam.comparison import compare_answers

NAMES = ["scores", "map", "boxes"]
EXACT = [np.array([[1.0, 3.0]]), np.array([[[1.0, 2.0], [2.0001, 0.0]]]), np.array([[4]], np.int64)]
MOVED = [np.array([[1.1, 3.1]]), np.array([[[1.0, 2.0001], [2.0, 0.0]]]), np.array([[1]], np.int64)]


def test_agreement_is_that_of_scores_and_noise_that_of_no_counts() -> None:
    """The largest number of a map is no class, and a count that is one off is not noise."""
    found = compare_answers(NAMES, [{"x": np.zeros((1, 1))}], lambda _: EXACT, lambda _: MOVED)
    assert [score.chooses for score in found.outputs] == [True, False, False]
    assert [score.counts for score in found.outputs] == [False, False, True]
    assert found.outputs[1].agreement == 0 and found.agreement.output == "scores" and found.agreement.agreement == 1
    assert found.outputs[2].sqnr_db < found.sqnr.sqnr_db and found.sqnr.output == "scores"
    assert found.failures(0.9, 20) == []
    assert [line.split(" is ")[0] for line in found.failures(1.1, 80)] == ["agreement of scores", "SQNR of scores"]


def test_where_no_output_holds_scores_all_are_asked() -> None:
    found = compare_answers(NAMES[1:], [{"x": np.zeros((1, 1))}], lambda _: EXACT[1:], lambda _: MOVED[1:])
    assert found.agreement.output == "map" and len(found.failures(0.9, None)) == 1
