"""Drawers of recurrent cells. ONNX Runtime takes no batches first, and no length of 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.graphs_draft import FLOAT, Draft
from tests.fuzz.graphs_matrix import weights
from tests.fuzz.graphs_pointwise import Drawer
from tests.operators.recurrent_cases import FUNCTIONS, GATES, NUMBERS


def recurrent(d: Draft, op: str) -> None:
    directions, hidden = d.pick(1, 1, 2), d.pick(1, 2, 3, 5, 8, 9, 16, 17)
    x = d.data((FLOAT,), 3, 3)
    (steps, batch, inputs), width = d.shape(x), GATES[op] * hidden
    named: dict[str, Any] = {
        "direction": "bidirectional" if directions > 1 else d.pick("forward", "reverse"),
        **activations(d, op, directions),
    }
    named |= {"clip": d.pick(0.5, 2.0, 10.0)} if d.chance(0.2) else {}
    named |= {"GRU": {"linear_before_reset": d.number(0, 1)}, "LSTM": {"input_forget": int(d.chance(0.2))}}.get(op, {})
    lengths = d.const(d.g.integers(1, steps + 1, batch) if d.chance(0.7) else [steps] * batch, np.int32)
    states = [given(d, directions, batch, hidden) for _ in range(2 if op == "LSTM" else 1)]
    peepholes = [weights(d, directions, 3 * hidden)] if op == "LSTM" and d.chance(0.3) else []
    matrices = [given(d, directions, width, count, constant=0.85) for count in (inputs, hidden)]
    operands = [x, *matrices, given(d, directions, 2 * width, constant=0.85), lengths, *states, *peepholes]
    kept = [name if place < 3 or d.chance(0.6) else "" for place, name in enumerate(operands)]
    d.op(op, *kept, outputs=3 if op == "LSTM" else 2, hidden_size=hidden, **named)


def given(d: Draft, *shape: int, constant: float = 0.3) -> str:
    return weights(d, *shape) if d.chance(constant) or len(d.inputs) >= 6 else d.input(FLOAT, shape)


def activations(d: Draft, op: str, directions: int) -> dict[str, Any]:
    """None, or for each of a cell any function, with its numbers."""
    if d.chance(0.5):
        return {}
    chosen = [d.pick(*NUMBERS) if d.chance(0.5) else usual for usual in FUNCTIONS[op] * directions]
    found: dict[str, Any] = {"activations": chosen}
    for name in chosen:
        for attribute, values in NUMBERS[name].items():
            found[attribute] = found.get(attribute, []) + values
    return found


RECURRENT: dict[str, Drawer] = dict.fromkeys(GATES, recurrent)
