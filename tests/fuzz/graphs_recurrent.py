"""Drawers of recurrent cells. ONNX Runtime takes no batches first, and no length of 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.graphs_draft import FLOAT, MICROSOFT, Draft
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


def quantized(d: Draft, op: str) -> None:
    """Of one sample; the matrices are codes with the gates as columns."""
    back, hidden, steps, inputs = d.pick("forward", "reverse", "bidirectional"), d.pick(1, 2, 5, 8, 17), d.number(1, 4), d.number(1, 9)
    directions = 2 if back == "bidirectional" else 1
    x = d.data((FLOAT,), 3, 3, where=lambda s: s[1] == 1, make=lambda: (steps, 1, inputs))
    shape = (directions, 4 * hidden) if d.chance(0.5) else (directions,)
    matrices = [d.const(d.g.integers(-127, 128, (directions, rows, 4 * hidden)), np.int8) for rows in (d.shape(x)[2], hidden)]
    scales = [d.const(d.g.uniform(0.001, 0.02, shape), FLOAT) for _ in matrices]
    zeros = [d.const(np.zeros(shape), np.int8) for _ in matrices]
    states = [given(d, directions, 1, hidden) if d.chance(0.3) else "" for _ in range(2)]
    more = [
        weights(d, directions, 8 * hidden) if d.chance(0.7) else "",
        "",
        *states,
        weights(d, directions, 3 * hidden) if d.chance(0.3) else "",
    ]
    named = {"clip": d.pick(0.5, 2.0)} if d.chance(0.3) else {}
    operands = (x, *matrices, *more, scales[0], zeros[0], scales[1], zeros[1])
    d.op(op, *operands, outputs=3, domain=MICROSOFT, direction=back, hidden_size=hidden, input_forget=d.number(0, 1), **named)


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


RECURRENT: dict[str, Drawer] = {**dict.fromkeys(GATES, recurrent), "DynamicQuantizeLSTM": quantized}
