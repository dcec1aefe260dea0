"""Recurrent cells in one direction. Their inputs are X W^T + b already: W is absent, as if it were the identity.

B is there only where R's part of it is multiplied (linear_before_reset), and is 0 but for the last gate's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgec.ir.types import DType, Shape, TensorType
from edgec.ops.registry import Call, operator
from edgec.ops.rules import attribute, need, text


@dataclass(frozen=True)
class Cell:
    """gates: sums for each hidden number; functions: ONNX's names of those that it applies by default, f, g and h; states: it keeps."""

    gates: int
    functions: tuple[str, ...]
    states: int = 1


CELLS = {"RNN": Cell(1, ("Tanh",)), "GRU": Cell(3, ("Sigmoid", "Tanh")), "LSTM": Cell(4, ("Sigmoid", "Tanh", "Tanh"), 2)}
# activation function -> what it takes of activation_alpha and of activation_beta where these have nothing for it
FUNCTIONS: dict[str, tuple[float, ...]] = {
    "Relu": (), "Tanh": (), "Sigmoid": (), "Softsign": (), "Softplus": (), "LeakyRelu": (0.01,), "ThresholdedRelu": (1.0,), "Elu": (1.0,),
    "HardSigmoid": (0.2, 0.5), "Affine": (1.0, 0.0), "ScaledTanh": (1.0, 1.0),
}  # fmt: skip
X, W, R, B, LENGTHS, FIRST_H, FIRST_C, PEEPHOLES = range(8)  # inputs


@dataclass(frozen=True)
class Activation:
    """A function, and its alpha and beta as far as it takes them."""

    name: str
    numbers: tuple[float, ...]


def activations(attributes: Mapping[str, Any]) -> list[Activation]:
    """Those of a node, in order: each takes the next of the lists that it takes one of."""
    lists = (iter(attributes.get("activation_alpha", ())), iter(attributes.get("activation_beta", ())))
    return [
        Activation(name, tuple(next(values, default) for values, default in zip(lists, FUNCTIONS[name], strict=False)))
        for name in attributes["activations"]
    ]


def listed(functions: list[Activation]) -> dict[str, Any]:
    """The attributes that `activations` reads; ONNX has no empty lists."""
    lists = {name: [item.numbers[at] for item in functions if len(item.numbers) > at] for at, name in enumerate(_LISTS)}
    return {"activations": [item.name for item in functions], **{name: values for name, values in lists.items() if values}}


_LISTS = ("activation_alpha", "activation_beta")


def _cell(call: Call) -> list[TensorType]:
    """Y [steps, 1, batch, hidden] and the last states [1, batch, hidden] of X [steps, batch, gates * hidden]."""
    cell, hidden, shape = CELLS[call.node.op], attribute(call, "hidden_size"), call.shape(X)
    need(not call.has(W), "its inputs come with W in them")
    need(len(shape) == 3 and shape[2] == cell.gates * hidden, f"inputs {text(shape)} are not {cell.gates} gates of {hidden}")
    steps, batch, width = shape
    wanted: dict[int, Shape] = {
        R: (1, width, hidden), B: (1, cell.gates * hidden * 2), LENGTHS: (batch,), FIRST_H: (1, batch, hidden), FIRST_C: (1, batch, hidden),
        PEEPHOLES: (1, 3 * hidden),
    }  # fmt: skip
    for place, expected in wanted.items():
        if call.has(place):
            need(call.shape(place) == expected, f"input {place} is {text(call.shape(place))} instead of {text(expected)}")
            kind = DType.INT32 if place == LENGTHS else call.dtype(X)
            need(call.dtype(place) is kind, f"input {place} is {call.dtype(place).value} instead of {kind.value}")
    states = [TensorType(call.dtype(X), (1, batch, hidden))] * cell.states
    return [TensorType(call.dtype(X), (steps, 1, batch, hidden)), *states]


for _name in CELLS:
    operator(_name, _cell)
