"""RNN, GRU and LSTM: what they multiply inputs by becomes one product for all steps, and each direction a cell of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import Value
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.ops.recurrent import CELLS, FIRST_C, FIRST_H, FUNCTIONS, LENGTHS, PEEPHOLES, Activation, B, Cell, R, W, X, activations, listed

KEPT = ("clip", "input_forget", "linear_before_reset")  # attributes
DIRECTIONS = {"forward": ("forward",), "reverse": ("reverse",), "bidirectional": ("forward", "reverse")}


@dataclass(frozen=True)
class RecurrentLayer:
    """A node, its kind of cell, and its directions with the functions of each."""

    s: Source
    cell: Cell
    hidden: int
    directions: tuple[str, ...]
    functions: tuple[list[Activation], ...]

    @property
    def width(self) -> int:
        """Sums of a step, and rows of W."""
        return self.cell.gates * self.hidden

    @property
    def keeps_bias(self) -> bool:
        """Whether what R adds to the last gate is no part of its input."""
        return bool(self.s.get("linear_before_reset", 0))


@rule(*CELLS)
def recurrent(b: Builder, s: Source) -> None:
    layer = _layer(b, s)
    parts = [_direction(b, layer, place) for place in range(len(layer.directions))]
    first = s.get("layout", 0) == 1
    for place, name in enumerate(s.outputs):
        if not name:
            continue
        joined = [part[place] for part in parts]
        if len(joined) > 1:
            joined = b.emit(s, "Concat", joined, attributes={"axis": 0 if place else 1})
        turned = {"perm": [1, 0, 2] if place else [2, 0, 1, 3]}
        b.emit(s, *(("Transpose", joined, [name], turned) if first else ("Identity", joined, [name])))


def _layer(b: Builder, s: Source) -> RecurrentLayer:
    """ModelError where shapes or functions do not fit; the shapes of what each cell takes are checked with it."""
    cell, direction = CELLS[s.op], s.get("direction", "forward")
    if direction not in DIRECTIONS:
        raise ModelError(f"direction is {direction!r}", hint=f"it may be {', '.join(DIRECTIONS)}")
    directions = DIRECTIONS[direction]
    x, w, r = (b.type(s.inputs[place]).shape for place in (X, W, R))
    hidden = int(s.get("hidden_size", r[-1] if r else 0))
    if len(x) != 3 or tuple(w) != (len(directions), cell.gates * hidden, x[-1]) or tuple(r) != (*w[:2], hidden):
        raise ModelError(f"weights {list(w)} and {list(r)} do not fit inputs {list(x)} and hidden_size {hidden}")
    if s.input(B) and b.shape(s.inputs[B]) != (len(directions), 2 * cell.gates * hidden):
        raise ModelError(f"biases {list(b.shape(s.inputs[B]))} do not fit weights {list(w)}")
    if 0 in (*x, hidden):
        raise ModelError("an axis of extent 0 leaves nothing")
    size = len(cell.functions)
    names = [_name_of(name) for name in s.get("activations") or cell.functions * len(directions)]
    if len(names) < size * len(directions):
        raise ModelError(f"has {len(names)} activation functions, needs {size * len(directions)}")
    found = activations({**s.attributes, "activations": names})
    return RecurrentLayer(s, cell, hidden, directions, tuple(found[place * size : (place + 1) * size] for place in range(len(directions))))


def _name_of(name: str) -> str:
    """Exporters write functions in small letters too."""
    known = {function.lower(): function for function in FUNCTIONS}
    if name.lower() not in known:
        raise ModelError(f"activation function {name!r} is not one of ONNX's", hint=f"they are {', '.join(FUNCTIONS)}")
    return known[name.lower()]


def _direction(b: Builder, layer: RecurrentLayer, place: int) -> list[str]:
    """All outputs of one direction, steps before batches."""
    s = layer.s
    gates, kept = _inputs(b, layer, place), ""
    if s.input(B):
        bias, kept = _bias(b, layer, _part(b, layer, s.inputs[B], place))
        gates = gates if _is_zero(b, bias) else b.emit(s, "Add", [gates, bias])[0]
    if s.get("layout", 0):
        (gates,) = b.emit(s, "Transpose", [gates], attributes={"perm": [1, 0, 2]})
    states = [_state(b, layer, number, place) for number in (FIRST_H, FIRST_C)[: layer.cell.states]]
    peepholes = _part(b, layer, s.input(PEEPHOLES), place)
    operands = [gates, "", _part(b, layer, s.inputs[R], place), kept, _lengths(b, s), *states, *([peepholes] if peepholes else [])]
    attributes: dict[str, Any] = {name: s.attributes[name] for name in KEPT if name in s.attributes}
    attributes |= {"direction": layer.directions[place], "hidden_size": layer.hidden, **listed(layer.functions[place])}
    return b.emit(s, s.op, operands, layer.cell.states + 1, attributes)


def _inputs(b: Builder, layer: RecurrentLayer, place: int) -> str:
    """X times the rows of W, which are none to multiply by where they are those of the identity."""
    s = layer.s
    rows = _part(b, layer, s.inputs[W], place)
    known = b.value(rows)
    if known is not None and known.shape[1] == known.shape[2] and np.array_equal(known[0], np.eye(known.shape[1])):
        return s.inputs[X]
    columns = b.emit(s, "Transpose", [_without_axis(b, s, rows)], attributes={"perm": [1, 0]})
    return b.emit(s, "MatMul", [s.inputs[X], *columns])[0]


def _bias(b: Builder, layer: RecurrentLayer, both: str) -> tuple[str, str]:
    """What the inputs get of the biases [1, 2 * width], and B for the cell, "" where that gets none."""
    s, width, of_last, kept = layer.s, layer.width, layer.width - layer.hidden, ""
    of_inputs, of_states = (Value(b, s, both).cut(1, start, start + width) for start in (0, width))
    if layer.keeps_bias:
        last = of_states.cut(1, of_last, width)
        of_states = of_states.cut(1, 0, of_last).joined([last.numbers(np.zeros((1, layer.hidden)))], 1)
        kept = "" if _is_zero(b, last.name) else last.numbers(np.zeros((1, width + of_last))).joined([last], 1).name
    return (of_inputs + of_states).at(0, 0).name, kept


def _state(b: Builder, layer: RecurrentLayer, number: int, place: int) -> str:
    """The first state of a direction, "" where it is 0."""
    s = layer.s
    name = s.input(number)
    if not name:
        return ""
    if s.get("layout", 0):
        (name,) = b.emit(s, "Transpose", [name], attributes={"perm": [1, 0, 2]})
    found = _part(b, layer, name, place)
    return "" if _is_zero(b, found) else found


def _lengths(b: Builder, s: Source) -> str:
    """How many steps count of each row of the batch, "" where all do."""
    name = s.input(LENGTHS)
    known, steps = b.value(name), b.shape(s.inputs[X])[1 if s.get("layout", 0) else 0]
    return "" if known is not None and isinstance(steps, int) and (known == steps).all() else name


def _is_zero(b: Builder, name: str) -> bool:
    known = b.value(name)
    return known is not None and not known.any()


def _part(b: Builder, layer: RecurrentLayer, name: str, place: int) -> str:
    """What one direction has of the first axis, which stays; "" of what is absent."""
    return name if not name or len(layer.directions) == 1 else Value(b, layer.s, name).cut(0, place, place + 1).name


def _without_axis(b: Builder, s: Source, name: str) -> str:
    return b.emit(s, "Squeeze", [name, b.constant(f"{s.outputs[0]}_axes", [0])])[0]
