"""Which numbers are scores of classes, for all who count what a model chooses."""

from __future__ import annotations

import numpy as np
import pytest

from edgec.base.classes import best_classes, chooses, class_count, rows, samples_in
from edgec.exam.comparison import compare_answers

COUNTS = {
    ((1, 10), 1): 10,
    ((4, 10), 4): 10,
    ((10,), 1): 10,
    ((10,), 10): 10,  # of one sample
    ((1, 10, 1, 1), 1): 10,
    ((10, 1), 1): 10,
    ((4, 10), 1): 0,  # four of something in each sample
    ((2, 3, 4), 2): 0,
    ((4, 2, 2), 4): 0,
    ((4, 1), 4): 1,
    ((), 1): 1,
}


@pytest.mark.parametrize(("shape", "samples"), COUNTS)
def test_classes_lie_along_one_axis_of_a_sample(shape: tuple[int, ...], samples: int) -> None:
    assert class_count(shape, samples) == COUNTS[shape, samples]
    assert len(rows(np.ones(shape), samples)) == (samples if len(shape) > 1 else 1)


@pytest.mark.parametrize(
    ("shape", "samples", "said"),
    [
        ((1, 10), 1, True),
        ((1, 1, 10), 1, True),
        ((1, 10, 1, 1), 1, True),
        ((1, 10, 1), 1, False),
        ((4, 10, 1), 4, False),
        ((4, 1), 4, False),
    ],
)
def test_one_score_for_each_place_is_no_choice(shape: tuple[int, ...], samples: int, said: bool) -> None:
    assert chooses(shape, samples) is said


def test_samples_lie_along_the_inputs_first_axis() -> None:
    assert samples_in({"step": np.zeros(()), "x": np.zeros((3, 2))}) == 3 and samples_in({}) == 1


def test_each_output_agrees_in_a_share_of_its_own_rows() -> None:
    """Of two samples, the first output has one row each, the second one six, one of which differs."""
    answers = [np.eye(1, 4), np.eye(6, 2)]
    others = [answers[0], np.where(np.arange(6)[:, None] == 0, [0.0, 1.0], answers[1])]
    found = compare_answers(["one", "six"], [{"x": np.zeros((6, 1))}] * 2, lambda _: answers, lambda _: others)
    assert [score.agreement for score in found.outputs] == [1, 5 / 6] and found.samples == 2


def test_where_there_are_no_scores_no_class_is_best() -> None:
    """Not even where other samples of the model have some."""
    assert best_classes(np.array([[1, 3], [5, 2]]), 2).tolist() == [1, 0]
    assert best_classes(np.zeros((2, 0)), 2).tolist() == [-1, -1]
    assert best_classes(np.zeros(0), 1).tolist() == [-1]
