"""The names of layers."""

from __future__ import annotations

import pytest

from edgec.program.program import Call, LoopCall, Program
from edgec.program.titles import titles

CASES = [
    ([("conv1_call", "/conv1", "/relu1"), ("conv2_call", "/conv2")], ["/conv1", "/conv2"]),
    (
        [("x_call",), ("pool_call", "/pool"), ("pool_call_2", "/pool"), ("pool_call_3", "/pool")],
        ["x_call", "/pool", "/pool (2)", "/pool (3)"],
    ),
    ([("a", "p"), ("b", "p"), ("c", "p (2)"), ("d", "p (2)"), ("e", "p")], ["p", "p (3)", "p (2)", "p (2) (2)", "p (4)"]),
]


@pytest.mark.parametrize(("calls", "found"), CASES)
def test_a_layer_is_called_as_its_first_node_and_as_no_other_layer(calls: list[tuple[str, ...]], found: list[str]) -> None:
    program = Program("net", "host", calls=[LoopCall(Call(name, tuple(nodes), (), (), (), 0), (), False) for name, *nodes in calls])
    assert list(titles(program)) == found
