"""An LSTM that quantizes its inputs once and its state before every step, as ONNX Runtime's dynamic quantization writes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from edgec.base.errors import ModelError
from edgec.frontend.control.loop import Looped, keep
from edgec.frontend.control.stacks import reversed_rows
from edgec.frontend.quantized.dynamic import dynamic_quantize_linear
from edgec.frontend.quantized.linear import whole
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import Value, operand
from edgec.frontend.translation.rules import MICROSOFT, rule
from edgec.frontend.translation.source import Source
from edgec.ops.recurrent import CELLS, FIRST_C, FIRST_H, LENGTHS, PEEPHOLES, B, R, W, X

W_SCALE, W_ZERO, R_SCALE, R_ZERO = range(8, 12)  # inputs behind those of ONNX's LSTM
DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}  # whether it walks back
ACTIVATIONS = ("Relu", "Sigmoid", "Tanh")


@dataclass(frozen=True)
class Matrix:
    """Whole numbers [rows, columns] and what they are multiples of, one number or one for each column."""

    codes: str
    scale: Value

    def on(self, b: Builder) -> Matrix:
        return Matrix(self.codes, self.scale.on(b))

    def times(self, x: Value) -> Value:
        """x is quantized by its own range."""
        b, s = x.b, x.s
        codes, scale, zero = (b.fresh(f"{s.outputs[0] or s.name}_{what}") for what in ("codes", "scale", "zero"))
        dynamic_quantize_linear(b, replace(s, op="DynamicQuantizeLinear", inputs=(x.name,), outputs=(codes, scale, zero)))
        (product,) = b.emit(s, "MatMul", [whole(b, s, codes, zero), self.codes])
        return Value(b, s, product).cast("float32") * (Value(b, s, scale) * self.scale)


@dataclass(frozen=True)
class Walk:
    """One direction: its matrices, what is added to all gates, its peepholes, functions and clip."""

    back: bool
    of_inputs: Matrix
    of_state: Matrix
    bias: Value | None
    peepholes: Value | None
    functions: tuple[str, ...]
    clip: float
    hidden: int
    couples: bool  # the forget gate is what the input gate leaves

    def steps(self, x: Value, h: Value | None, c: Value | None) -> tuple[Value, Value, Value]:
        """The hidden states behind all steps [steps, 1, hidden], and the last hidden and cell state, of x [steps, 1, inputs]; a first
        state that is None is 0."""
        gates, count = self.of_inputs.times(x), x.shape[0]
        if self.bias is not None:
            gates = gates + self.bias
        h, c = self.step(gates.at(0, count - 1 if self.back else 0), h, c)
        along, kept = [h.spread(0)], self._kept(gates, h, c)
        if kept is not None:
            h, c, rows = (Value(x.b, x.s, name) for name in (*kept.ends, *kept.stacks))
            along.append(Value(x.b, x.s, reversed_rows(x.b, x.s, rows.name)) if self.back else rows)
        else:
            for step in range(1, count):
                h, c = self.step(gates.at(0, count - 1 - step if self.back else step), h, c)
                along.append(h.spread(0))
        first, *others = reversed(along) if self.back else along
        return first.joined(others, 0) if others else first, h, c

    def step(self, total: Value, h: Value | None, c: Value | None) -> tuple[Value, Value]:
        """total: what the step's inputs give to all gates."""
        return self.cell(total if h is None else total + self.of_state.times(h), c)

    def _kept(self, gates: Value, h: Value, c: Value) -> Looped | None:
        """All steps but the first as a loop, where they may be one."""
        count = gates.shape[0]

        def inputs(inner: Builder, turn: str, now: Sequence[str]) -> Sequence[str]:
            number = Value(inner, gates.s, turn)
            place = number.constant(count - 2) - number if self.back else number + 1
            return [gates.on(inner).taken(place, 0).name, *now]

        return keep(gates.b, gates.s, Steps(self, gates), count - 1, [h.name, c.name], inputs)

    def on(self, b: Builder) -> Walk:
        """For the builder of a loop's body."""
        peepholes = None if self.peepholes is None else self.peepholes.on(b)
        return replace(self, of_inputs=self.of_inputs.on(b), of_state=self.of_state.on(b), peepholes=peepholes)

    def cell(self, total: Value, c: Value | None) -> tuple[Value, Value]:
        """total: of the gates i, o, f and c, side by side."""
        f, g, h = self.functions
        i = self.gate(self.peeped(self.part(total, 0), 0, c), f)
        forget = 1.0 - i if self.couples else self.gate(self.peeped(self.part(total, 2), 2, c), f)
        new = i * self.gate(self.part(total, 3), g)
        new = new if c is None else forget * c + new
        return self.gate(self.peeped(self.part(total, 1), 1, new), f) * new.of(h), new

    def part(self, all_of_them: Value, place: int) -> Value:
        return all_of_them.cut(-1, place * self.hidden, (place + 1) * self.hidden)

    def peeped(self, total: Value, place: int, c: Value | None) -> Value:
        return total if self.peepholes is None or c is None else total + self.part(self.peepholes, place) * c

    def gate(self, total: Value, function: str) -> Value:
        return (total.clipped(-self.clip, self.clip) if self.clip else total).of(function)


@dataclass(frozen=True)
class Steps:
    """Any step of a walk but the first, as the body of a loop: of what its inputs give to the gates, and the states."""

    walk: Walk
    gates: Value

    def begin(self) -> None:
        """Nothing is left that does not change."""

    def around(self) -> list[str]:
        matrix, peepholes = self.walk.of_state, self.walk.peepholes
        return [self.gates.name, matrix.codes, matrix.scale.name, *([] if peepholes is None else [peepholes.name])]

    def within(self, b: Builder) -> Steps:
        return Steps(self.walk.on(b), self.gates.on(b))

    def run(self, inputs: Sequence[str]) -> list[str]:
        h, c = self.walk.step(*(Value(self.gates.b, self.gates.s, name) for name in inputs))
        return [h.name, c.name, h.name]


@rule("DynamicQuantizeLSTM", domain=MICROSOFT)
def dynamic_quantize_lstm(b: Builder, s: Source) -> None:
    """inputs: those of LSTM, with W and R as codes [directions, rows, gates]; their scales and zero points. One sample at a time.

    ONNX Runtime quantizes the states of several samples in groups that depend on its threads.
    """
    direction = s.get("direction", "forward")
    if direction not in DIRECTIONS:
        raise ModelError(f"direction is {direction!r}", hint=f"it may be {', '.join(DIRECTIONS)}")
    x = operand(b, s, X)
    if len(x.shape) != 3 or x.shape[1] != 1 or 0 in x.shape:
        raise ModelError(f"inputs {list(x.shape)} are not one sample", hint="build with a batch of 1, by --shape")
    lengths = b.value(s.input(LENGTHS)) if s.input(LENGTHS) else None
    if s.input(LENGTHS) and (lengths is None or (lengths != x.shape[0]).any()):
        raise ModelError("lengths of sequences are not supported", hint="build for the length that is needed, by --shape")
    parts: list[tuple[Value, ...]] = []
    for place, walk in enumerate(_walks(b, s, x.shape[2], DIRECTIONS[direction])):
        along, *ends = walk.steps(x, *(_state(b, s, number, place) for number in (FIRST_H, FIRST_C)))
        parts.append((along.spread(1), *(last.spread(0) for last in ends)))
    for place, name in enumerate(s.outputs):
        if name:
            first, *others = (part[place] for part in parts)
            (first.joined(others, 0 if place else 1) if others else first).end(place)


def _walks(b: Builder, s: Source, inputs: int, backs: tuple[bool, ...]) -> Iterator[Walk]:
    """ModelError where shapes or functions do not fit."""
    w, r = operand(b, s, W), operand(b, s, R)
    hidden = int(s.get("hidden_size", r.shape[1] if len(r.shape) == 3 else 0))
    if w.shape != (len(backs), inputs, 4 * hidden) or r.shape != (len(backs), hidden, 4 * hidden) or not hidden:
        raise ModelError(f"weights {list(w.shape)} and {list(r.shape)} do not fit {inputs} inputs and hidden_size {hidden}")
    functions = tuple(s.get("activations") or CELLS["LSTM"].functions * len(backs))
    if len(functions) != 3 * len(backs) or not set(functions) <= set(ACTIVATIONS):
        raise ModelError(f"the activations {', '.join(functions)} are not supported", hint=f"take three of {', '.join(ACTIVATIONS)} each")
    for place, back in enumerate(backs):
        bias = operand(b, s, B).at(0, place) if s.input(B) else None
        yield Walk(
            back, _matrix(b, s, place, W, W_SCALE, W_ZERO), _matrix(b, s, place, R, R_SCALE, R_ZERO),
            None if bias is None else bias.cut(0, 0, 4 * hidden) + bias.cut(0, 4 * hidden, 8 * hidden),
            operand(b, s, PEEPHOLES).at(0, place) if s.input(PEEPHOLES) else None,
            functions[3 * place : 3 * place + 3], s.get("clip", 0.0), hidden, bool(s.get("input_forget", 0)),
        )  # fmt: skip


def _matrix(b: Builder, s: Source, place: int, codes: int, scale: int, zero: int) -> Matrix:
    offset = operand(b, s, zero).at(0, place).name if s.input(zero) else ""
    return Matrix(whole(b, s, operand(b, s, codes).at(0, place).name, offset), operand(b, s, scale).at(0, place))


def _state(b: Builder, s: Source, number: int, place: int) -> Value | None:
    """The first state of a direction [1, hidden], None where it is 0."""
    if not s.input(number):
        return None
    known, found = b.value(s.input(number)), operand(b, s, number).at(0, place)
    return None if known is not None and not known[place].any() else found
