"""Places behind several movements of data are divisions of divisions: proofs about them end, whatever they find."""

from __future__ import annotations

import math

import pytest
from onnx import parser

from edgec.base.budget import BudgetError, spending
from edgec.base.errors import ModelError
from edgec.frontend import from_proto
from edgec.lower import lower
from edgec.passes import optimize
from edgec.program import bounds
from edgec.program.memory import prove_memory
from edgec.program.program import Program
from edgec.targets import load_target


def nested(levels: int) -> Program:
    """A padded convolution of what was taken apart `levels` times."""
    moves = " ".join(f"x{level + 1} = DepthToSpace<blocksize = 2>(x{level})" for level in range(levels))
    ends = f"(float[1,{4**levels},2,2] x0, float[1,1,3,3] k) => (y)"
    text = f'<ir_version: 9, opset_import: ["": 21]> g {ends} {{ {moves} y = Conv<pads = [1, 1, 1, 1]>(x{levels}, k) }}'
    graph = from_proto(parser.parse_model(text)).graph
    optimize(graph)
    return lower(graph, load_target("portable"), "nested")


def test_a_question_is_answered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four levels ask a hundred times as many when each answers anew what the others know."""
    monkeypatch.setattr(bounds, "MOST_QUESTIONS", 1500)
    prove_memory(nested(4))


def test_a_proof_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_QUESTIONS", 100)
    with pytest.raises(ModelError, match="y_Pad_call: what it reads lies behind so many divisions"):
        prove_memory(nested(3))


def test_proofs_count_against_the_budget() -> None:
    found = nested(1)
    with spending() as ledger:
        ledger.started = -math.inf
        with pytest.raises(BudgetError, match=f"{found.calls[0].call.name}: it took longer than 600 s"):
            prove_memory(found)
