"""Loops: turn by turn as ONNX Runtime has them, as exact as their bodies, and disturbed in each turn."""

from __future__ import annotations

import numpy as np
import pytest

from edgec.export import to_onnx
from edgec.frontend import from_proto
from edgec.ir.loop import loops_in
from edgec.oracle import Evaluator
from tests.operators.case import Case
from tests.operators.loop_cases import loop_cases


@pytest.mark.parametrize("case", loop_cases(), ids=lambda case: case.name)
def test_the_evaluator_has_the_answers_of_the_model_itself(case: Case) -> None:
    graph = from_proto(case.model).graph
    found = Evaluator(to_onnx(graph)).run(case.inputs)
    for name, expected in zip(graph.outputs, case.expected, strict=True):
        np.testing.assert_allclose(found[name], expected, rtol=1e-4, atol=1e-5)
        assert found[name].dtype == expected.dtype


@pytest.mark.parametrize(("name", "exact"), [("long_scan_of_a_cell", False), ("long_loop_whose_states_turn", True)])
def test_a_loop_is_as_exact_as_its_body_and_errs_in_each_turn(name: str, exact: bool) -> None:
    case = next(case for case in loop_cases() if case.name == name)
    graph = from_proto(case.model).graph
    evaluator = Evaluator(to_onnx(graph))
    assert list(loops_in(graph)) and (evaluator.exact_outputs == set(graph.outputs)) is exact
    generator = np.random.default_rng(1)
    right, moved = (evaluator.run(case.inputs, chance=chance) for chance in (None, lambda shape: generator.random(shape) < 0.5))
    rows = [np.abs(right[output] - moved[output]).max() for output in graph.outputs if right[output].dtype == np.float32]
    assert all((row == 0) is exact and row < 1e-3 for row in map(float, rows))
