"""Clause 10: recurrent cells, whose sums start from the input and go by ascending hidden number."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from edgec.oracle import mathlib
from edgec.oracle.context import Context, Run
from edgec.oracle.grid import Array
from edgec.oracle.islands import UNARY, elu, hard_sigmoid
from edgec.oracle.model import Node

f32 = np.float32
BLOCK = 1 << 20  # products that are made at once
Function = Callable[[Array], Array]
FUNCTIONS: dict[str, tuple[tuple[float, ...], Callable[..., Array]]] = {
    **{name: ((), UNARY[name]) for name in ("Relu", "Tanh", "Sigmoid", "Softsign", "Softplus")},
    "LeakyRelu": ((0.01,), lambda x, alpha: np.where(x < 0, alpha * x, x)), "Elu": ((1.0,), elu),
    "ThresholdedRelu": ((1.0,), lambda x, alpha: np.where(alpha < x, x, f32(0))), "HardSigmoid": ((0.2, 0.5), hard_sigmoid),
    "Affine": ((1.0, 0.0), lambda x, alpha, beta: alpha * x + beta),
    "ScaledTanh": ((1.0, 1.0), lambda x, alpha, beta: alpha * mathlib.tanh(beta * x)),
}  # fmt: skip


def is_recurrent(node: Node) -> bool:
    return node.op in ("RNN", "GRU", "LSTM")


def takes_sums(context: Context, node: Node) -> bool:
    """Whether the inputs come with W in them: it is the identity that exports make. Else their product has no order."""
    axis = context.model.producers.get(node.input(1))
    matrix = context.model.producers.get(axis.input(0)) if axis is not None and axis.op == "Unsqueeze" else None
    return matrix is not None and matrix.op == "EyeLike" and not matrix.get("k", 0)


def _functions(node: Node) -> list[Function]:
    """Each takes the next alpha and beta, where it takes one; those of sums are of numbers within the clip."""
    lists = (iter(node.get("activation_alpha", [])), iter(node.get("activation_beta", [])))
    found: list[Function] = []
    for place, name in enumerate(node.attributes["activations"]):
        limit = node.get("clip") if place < 2 else None
        defaults, function = FUNCTIONS[name.decode() if isinstance(name, bytes) else name]
        numbers = [f32(next(values, default)) for values, default in zip(lists, defaults, strict=False)]
        found.append(lambda x, function=function, numbers=numbers, limit=limit: function(_clipped(x, limit), *numbers))  # type: ignore[misc]
    return found


def _clipped(x: Array, limit: float | None) -> Array:
    return x if limit is None else mathlib.fmin(f32(limit), mathlib.fmax(f32(-limit), x))


def _sums(start: Array, x: Array, columns: Array) -> Array:
    """`start` and, one after the other, the products of each number of x [batch, inputs] with its column [inputs, sums]."""
    sums = np.array(start)
    rows = max(BLOCK // sums.size, 1)
    for begin in range(0, len(columns), rows):
        for products in x.T[begin : begin + rows, :, np.newaxis] * columns[begin : begin + rows, np.newaxis]:
            sums += products
    return sums


def _rnn(node: Node, r: Array, b: Array, p: Array) -> Callable[..., Sequence[Array]]:
    (f,), columns = _functions(node), np.ascontiguousarray(r.T)
    return lambda x, h: (f(_sums(x, h, columns)),)


def _gru(node: Node, r: Array, b: Array, p: Array) -> Callable[..., Sequence[Array]]:
    f, g = _functions(node)
    hidden, before = r.shape[1], not node.get("linear_before_reset", 0)
    both, weights = (np.ascontiguousarray(part.T) for part in np.split(r, [2 * hidden]))

    def step(x: Array, h: Array) -> Sequence[Array]:
        gates = _sums(x[:, : 2 * hidden], h, both)
        z, reset = f(gates[:, :hidden]), f(gates[:, hidden:])
        last = x[:, 2 * hidden :]
        if before:
            n = g(_sums(last, reset * h, weights))
        else:
            n = g(last + reset * _sums(np.broadcast_to(b[5 * hidden :], last.shape), h, weights))
        return ((f32(1) - z) * n + z * h,)

    return step


def _lstm(node: Node, r: Array, b: Array, p: Array) -> Callable[..., Sequence[Array]]:
    f, g, last = _functions(node)
    hidden, columns = r.shape[1], np.ascontiguousarray(r.T)

    def step(x: Array, h: Array, c: Array) -> Sequence[Array]:
        sums, places = _sums(x, h, columns), [slice(gate * hidden, (gate + 1) * hidden) for gate in range(4)]

        def gate(number: int, c: Array) -> Array:
            return f(sums[:, places[number]] + p[places[number]] * c if p.size else sums[:, places[number]])

        i = gate(0, c)
        forget = f32(1) - i if node.get("input_forget", 0) else gate(2, c)
        c = forget * c + i * g(sums[:, places[3]])
        return gate(1, c) * last(c), c

    return step


def _added(node: Node, bias: Array, hidden: int) -> Array:
    """What the inputs get of B: all of it, but for what R alone adds to a GRU's last gate."""
    of_inputs, of_states = bias.reshape(2, -1)
    return (
        of_inputs + np.where(np.arange(of_states.size) < 2 * hidden, of_states, f32(0))
        if node.get("linear_before_reset", 0)
        else of_inputs + of_states
    )


CELLS: dict[str, Callable[..., Callable[..., Sequence[Array]]]] = {"RNN": _rnn, "GRU": _gru, "LSTM": _lstm}


def recurrent(context: Context, node: Node) -> Run:
    """The cell in one direction, forward or reverse."""
    forward = node.get("direction", "forward") == "forward"

    def run(x: Array, w: Array, r: Array, *others: Array | None) -> Sequence[Array]:
        b, lengths, first_h, first_c, peepholes = (*others, *(None,) * 5)[:5]
        hidden, (steps, batch) = r.shape[-1], x.shape[:2]
        p = np.zeros(0, np.float32) if peepholes is None else peepholes[0]
        bias = np.zeros(2 * r.shape[1], np.float32) if b is None else b[0]
        if not np.array_equal(w[0], np.eye(*w[0].shape)):
            x = x @ w[0].T
        if (of_inputs := _added(node, bias, hidden)).any():
            x = x + of_inputs
        first = [first_h, first_c][: 2 if node.op == "LSTM" else 1]
        states = [np.zeros((batch, hidden), np.float32) if state is None else state[0] for state in first]
        y, step = np.zeros((steps, 1, batch, hidden), np.float32), CELLS[node.op](node, r[0], bias, p)
        for place in range(steps) if forward else reversed(range(steps)):
            new = step(x[place], *states)
            live = np.ones((batch, 1), bool) if lengths is None else place < lengths.reshape(-1, 1)
            states = [np.where(live, one, other) for one, other in zip(new, states, strict=True)]
            y[place, 0] = np.where(live, states[0], f32(0))
        return [y, *(state[np.newaxis] for state in states)][: len(node.outputs)]

    return run
