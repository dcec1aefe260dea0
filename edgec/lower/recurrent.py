"""RNN, GRU and LSTM as one loop nest: a walk over the steps, in each the sums of all gates side by side, then the cell itself.

Each sum starts from the step's input and goes by ascending hidden number: docs/int8.md, clause 10.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from edgec.ir.graph import Node
from edgec.lower import movement
from edgec.lower.builder import Lowering
from edgec.lower.values import Value, fixed, row_major, store, view_of
from edgec.ops.recurrent import FIRST_C, FIRST_H, LENGTHS, PEEPHOLES, Activation, B, R, X, activations
from edgec.ops.registry import OPERATORS
from edgec.program.arguments import LANES
from edgec.program.expr import BOOL, FLOAT, INT, Const, Expr, Var, binary, bound, cast, clip, const, load, product, real, select, unary, var
from edgec.program.program import Declare, For, Statement, Store

ROWS = 8  # of recurrent weights that one walk over the sums adds
MOST_ROWS = 8  # of a tile
FIRST_CACHE = 1 << 15  # bytes
Scalar = Callable[[Expr], Expr]
TILE, ROW, STEP, BLOCK, PANEL, NUMBER = (var(name) for name in ("b", "r", "s", "k", "p", "j"))
LIVE = var("live", BOOL)  # whether the step is one of the row's

OWN: dict[str, Callable[..., Expr]] = {
    "Affine": lambda x, alpha, beta: real(alpha) * x + real(beta),
    "ScaledTanh": lambda x, alpha, beta: real(alpha) * unary("tanh", real(beta) * x),
    "ThresholdedRelu": lambda x, alpha: select(binary("lt", real(alpha), x), x, 0.0),
}


def function_of(item: Activation) -> Scalar:
    """An activation as an expression: most are operators."""
    rule = OWN.get(item.name) or OPERATORS[item.name].scalar
    assert rule is not None
    return lambda x: rule(x, *item.numbers)


def tile_of(batch: Expr, weights: int) -> int:
    """How many rows of a batch share a walk over so many bytes of weights, of which a first cache keeps a block for them."""
    if not isinstance(batch, Const) or weights <= FIRST_CACHE:
        return 1
    return max(rows for rows in range(1, MOST_ROWS + 1) if batch.value % rows == 0)


class Recurrence:
    """One node while it is lowered: what stands for row ROW of a tile of the batch in step STEP."""

    def __init__(self, lowering: Lowering, node: Node) -> None:
        self.lowering, self.node = lowering, node
        self.hidden = int(node.attributes["hidden_size"])
        self.gates = lowering.value(node.inputs[X])
        self.steps, self.batch, width = self.gates.shape
        self.width = fixed(width)
        self.lengths, self.bias, self.peepholes = map(self._input, (LENGTHS, B, PEEPHOLES))
        self.sums = self.scratch("sums", self.width)
        is_known = lowering.graph.constant(node.inputs[R]) is not None
        self.side = LANES if is_known and self.hidden % LANES == 0 else self.width  # sums of a panel
        self.weights = self._weights()
        self.tile = tile_of(self.batch, self.hidden * self.width * FLOAT.bytes)
        self.row = TILE * self.tile + ROW if self.tile > 1 else TILE
        self.states = [self._place(name) for name in node.outputs[1:]]  # which are the last ones in the end
        self.result = self._place(node.outputs[0]) if lowering.graph.reader_count(node.outputs[0]) else None
        self.functions = [self._function(item) for item in activations(node.attributes)]
        self.step = STEP if node.attributes["direction"] == "forward" else self.steps - 1 - STEP
        self._serial = 0

    def _input(self, place: int) -> Value | None:
        name = self.node.input(place)
        return self.lowering.value(name) if name else None

    def _function(self, item: Activation) -> Callable[[Expr], Expr]:
        """An activation of a sum, which the clip bounds."""
        limit, function = self.node.attributes.get("clip"), function_of(item)
        return function if limit is None else lambda x: function(clip(x, -limit, limit))

    def scratch(self, hint: str, count: int) -> str:
        """A buffer of so many numbers for every row of the batch."""
        return self.lowering.buffer(f"{self.node.outputs[0]}_{hint}", FLOAT, product((self.batch, count)))

    def _place(self, name: str) -> Value:
        shape = self.lowering.shape(name)
        return self.lowering.place(name, FLOAT, shape, row_major(len(shape)))

    def _weights(self) -> str:
        """R as [hidden / ROWS][width / side][ROWS][side], walked from end to end; the last block of hidden numbers may be smaller."""
        found, name = self.lowering.value(self.node.inputs[R]), f"{self.node.inputs[R]}_columns"
        if found.constant is None:
            turned = movement.transpose(movement.reshape(found, found.shape[1:]), (1, 0))
            return view_of(self.lowering.materialize(turned, name, row_major(2))).buffer
        columns = found.constant[0].T
        blocks = [columns[row : row + ROWS] for row in range(0, self.hidden, ROWS)]
        packed = [block.reshape(len(block), -1, self.side).transpose(1, 0, 2).reshape(-1) for block in blocks]
        return self.lowering.constant(name, np.concatenate(packed))

    def name(self, value: Expr) -> Declare:
        """A new name for a number."""
        self._serial += 1
        return Declare(var(f"x{self._serial}", FLOAT), value)

    def state(self, number: int, place: Expr = NUMBER) -> Expr:
        return view_of(self.states[number]).at((const(0), self.row, place))

    def sum(self, gate: int) -> Expr:
        return load(self.sums, self.row * self.width + (NUMBER + gate * self.hidden), FLOAT)

    def input(self, place: Expr) -> Expr:
        """What the step gives to a sum."""
        return self.gates.at((self.step, self.row, place))

    # Statements

    def begin(self) -> list[Statement]:
        """The first states."""
        body: list[Statement] = []
        for number, state in enumerate(self.states):
            first = self._input((FIRST_H, FIRST_C)[number])
            index = (const(0), self.row, NUMBER)
            body += self.rows(over(self.hidden, [store(state, index, real(0.0) if first is None else first.at(index))]))
        return body

    def rows(self, *body: Statement) -> list[Statement]:
        """What is done for each row of a tile."""
        return [over(self.tile, body, ROW)] if self.tile > 1 else [*body]

    def end(self, *body: Statement) -> list[Statement]:
        """What is done for each hidden number of each row, when its sums are there."""
        known = [] if self.lengths is None else [Declare(LIVE, binary("lt", self.step, cast(self.lengths.at((self.row,)), INT)))]
        return self.rows(*known, over(self.hidden, body))

    def add(self, gate: int, gates: int, x: Scalar, bias: bool = False) -> list[Statement]:
        """sum = start + x(0) * R[0] + x(1) * R[1] + ... for some gates; bias: the last one's is B's, and not the input."""
        first, count, inputs = gate * self.hidden, gates * self.hidden, (gates - bias) * self.hidden
        starts = [(first, inputs, self.input), *([(first + inputs, self.hidden, self._start_of_bias)] if bias else [])]
        head = min(ROWS, self.hidden)
        blocks, rest = divmod(self.hidden - head, ROWS)
        body = self._walks(starts, x, const(0), head)
        if blocks:
            body.append(over(blocks, self._walks([(first, count, None)], x, BLOCK * ROWS + head, ROWS), BLOCK))
        return body + (self._walks([(first, count, None)], x, const(self.hidden - rest), rest) if rest else [])

    def _start_of_bias(self, place: Expr) -> Expr:
        return real(0.0) if self.bias is None else self.bias.at((const(0), place + self.width))

    def _walks(self, parts: Sequence[tuple[int, int, Scalar | None]], x: Scalar, row: Expr, rows: int) -> list[Statement]:
        """Some rows of weights, times their numbers x, added to sums: from the first on, how many, and what they start from, if they do."""
        known = [self.name(x(row + place)) for place in range(rows)]
        body: list[Statement] = [*known]
        for first, count, start in parts:
            panels = count // LANES if self.side == LANES else 0
            panel = PANEL * self.side + first if panels else const(first)
            index, weight = self.row * self.width + panel + NUMBER, row * self.width + panel * (rows if panels else 1) + NUMBER
            total = load(self.sums, index, FLOAT) if start is None else start(panel + NUMBER)
            for number, item in enumerate(known):
                total = total + item.var * load(self.weights, weight + number * self.side, FLOAT)
            walk = over(self.side if panels else count, [Store(self.sums, index, total)])
            body.append(over(panels, [walk], PANEL) if panels else walk)
        return self.rows(*body)

    def keep(self, *values: Expr) -> list[Statement]:
        """The new states, h first, which are the old ones after a row's last step, where results are 0."""
        named = [self.name(value) for value in values]
        body: list[Statement] = [*named]
        for number, (item, state) in enumerate(zip(named, self.states, strict=True)):
            new = item.var if self.lengths is None else select(LIVE, item.var, self.state(number))
            body.append(store(state, (const(0), self.row, NUMBER), new))
        if self.result is not None:
            shown = named[0].var if self.lengths is None else select(LIVE, named[0].var, real(0.0))
            body.append(store(self.result, (self.step, const(0), self.row, NUMBER), shown))
        return body


def over(count: Expr | int, body: Sequence[Statement], variable: Var = NUMBER) -> For:
    return For(variable, const(count) if isinstance(count, int) else count, tuple(body))


# Cells: what a step of one row does


def _rnn(r: Recurrence) -> list[Statement]:
    """h' = f(x + R h)"""
    (f,) = r.functions
    return [*r.add(0, 1, lambda k: r.state(0, k)), *r.end(*r.keep(f(r.sum(0))))]


def _gru(r: Recurrence) -> list[Statement]:
    """z, q = f(x + R h); n = g(x + q * (R h + b)), or with the reset before R g(x + R (q * h)); h' = (1 - z) * n + z * h"""
    f, g = r.functions
    z = r.name(f(r.sum(0)))

    def end(new: Expr) -> list[Statement]:
        n = r.name(g(new))
        return r.end(z, n, *r.keep((1.0 - z.var) * n.var + z.var * r.state(0)))

    if r.node.attributes["linear_before_reset"]:
        return [*r.add(0, 3, lambda k: r.state(0, k), bias=True), *end(r.input(NUMBER + 2 * r.hidden) + f(r.sum(1)) * r.sum(2))]
    reset = r.scratch("reset", r.hidden)
    kept = r.rows(over(r.hidden, [Store(reset, r.row * r.hidden + NUMBER, f(r.sum(1)) * r.state(0))]))
    last = r.add(2, 1, lambda k: load(reset, r.row * r.hidden + k, FLOAT))
    return [*r.add(0, 2, lambda k: r.state(0, k)), *kept, *last, *end(r.sum(2))]


def _lstm(r: Recurrence) -> list[Statement]:
    """i, o, q = f(x + R h + p * c), o of the new c; c' = q * c + i * g(x + R h); h' = o * h(c'). With input_forget q is 1 - i.

    No clip bounds c', which is no sum.
    """
    f, g, _ = r.functions
    h = function_of(activations(r.node.attributes)[2])
    before = r.name(r.state(1))

    def gate(number: int, c: Expr) -> Expr:
        total = r.sum(number)
        return f(total if r.peepholes is None else total + r.peepholes.at((const(0), NUMBER + number * r.hidden)) * c)

    i = r.name(gate(0, before.var))
    q = r.name(1.0 - i.var if r.node.attributes["input_forget"] else gate(2, before.var))
    c = r.name(q.var * before.var + i.var * g(r.sum(3)))
    o = r.name(gate(1, c.var))
    return [*r.add(0, 4, lambda k: r.state(0, k)), *r.end(before, i, q, c, o, *r.keep(o.var * h(c.var), c.var))]


_CELLS: dict[str, Callable[[Recurrence], list[Statement]]] = {"RNN": _rnn, "GRU": _gru, "LSTM": _lstm}


def recurrent(lowering: Lowering, node: Node) -> None:
    """Tiles of the batch one after the other, or by threads; a GPU has nothing to do side by side but these."""
    r = Recurrence(lowering, node)
    step = _CELLS[node.op](r)
    about = (r.result or r.states[0]).by(r.gates, node=node.name, op=node.op)
    macs = bound(r.steps) * bound(r.batch) * r.width * r.hidden
    lowering.loops([(TILE, r.batch // r.tile)], [*r.begin(), over(r.steps, step, STEP)], node.outputs[0], about, macs)
    for name, value in zip(node.outputs, (r.result, *r.states), strict=True):
        if value is not None:
            lowering.define(name, value)
