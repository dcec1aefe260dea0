"""Drawers of branches, loops and scans. What they do inside is exact, so that nothing is to be said of roundings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.fuzz.graphs_draft import FLOAT, Draft, Kind
from tests.fuzz.graphs_pointwise import BOOL, Drawer

KINDS = (FLOAT, FLOAT, np.dtype(np.int32))
UNARY = {"f": ("Relu", "Neg", "Abs", "Identity", "Floor"), "i": ("Neg", "Abs", "Identity")}
PAIRS = ("Max", "Min")
INDEX = np.dtype(np.int64)
DEEPEST = 16  # letters of names in a body in bodies


class Inner:
    """The nodes of a body. `kinds`: element type and shape of each value that they may read, the last ones more often."""

    def __init__(self, d: Draft, kinds: dict[str, Kind]) -> None:
        self.d, self.kinds, self.prefix = d, dict(kinds), f"in{d.fresh()}_"
        self.nodes: list[onnx.NodeProto] = []

    def name(self) -> str:
        return f"{self.prefix}{len(self.nodes)}"

    def op(self, kind: str, *inputs: str, like: Kind | None = None, **attributes: object) -> str:
        name = self.name()
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        self.kinds[name] = like or self.kinds[inputs[0]]
        return name

    def const(self, array: np.ndarray) -> str:
        return self.op("Constant", like=(array.dtype, array.shape), value=numpy_helper.from_array(array))

    def value(self, like: Kind) -> str:
        """A new value of that type, of one to three nodes."""
        fits = [name for name, kind in self.kinds.items() if kind == like]
        x = self.d.pick(*fits) if fits else self.const(self.d.array(*like))
        if self.d.chance(0.15) and len(self.prefix) < DEEPEST:
            x = self.looped(x)
        for _ in range(self.d.number(1, 3)):
            fits = [name for name, kind in self.kinds.items() if kind == like]
            if self.d.chance(0.4) and (like[0].kind == "f" or self.d.opset >= 12):
                x = self.op(self.d.pick(*PAIRS), x, self.d.pick(*fits) if self.d.chance(0.8) else self.const(self.d.array(*like)))
            else:
                x = self.op(self.d.pick(*UNARY[like[0].kind]), x)
        return x

    def looped(self, x: str) -> str:
        """What a loop in this body makes of it, which also reads values around it."""
        count, inner = turns(self.d), Inner(self.d, self.kinds)
        inner.prefix = self.name() + inner.prefix
        inputs = [f"{inner.prefix}{name}" for name in ("turn", "go", "state")]
        inner.kinds |= dict(zip(inputs, [(INDEX, ()), (BOOL, ()), self.kinds[x]], strict=True))
        made = inner.value(self.kinds[x]) if self.d.chance(0.7) else inner.row(inputs[0], count, self.kinds[x])
        outputs = [inner.op("Identity", inputs[1]), inner.op("Identity", made)]
        return self.op("Loop", self.const(np.array(count)), "", x, like=self.kinds[x], body=inner.graph(inputs, outputs))

    def row(self, turn: str, count: int, like: Kind) -> str:
        """The turn's own numbers, from a table of all turns."""
        table = self.const(self.d.array(like[0], (count, *like[1])))
        return self.op("Gather", table, turn, like=like, axis=0)

    def state(self, name: str) -> str:
        """What a state becomes in a turn: now and then it is only handed through, as exporters do with weights."""
        return name if self.d.chance(0.2) else self.value(self.kinds[name])

    def graph(self, inputs: Sequence[str], outputs: Sequence[str]) -> onnx.GraphProto:
        return helper.make_graph(
            self.nodes, f"{self.prefix}body", [self.info(name) for name in inputs], [self.info(name) for name in outputs]
        )

    def info(self, name: str) -> onnx.ValueInfoProto:
        dtype, shape = self.kinds[name]
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)


def turns(d: Draft) -> int:
    """Few are written out, more stay a loop."""
    return d.pick(d.number(1, 4), d.number(8, 12))


def values(d: Draft, count: int, constant: float = 0.0) -> list[str]:
    return [d.data(KINDS, 0, 3, constant=constant) for _ in range(count)]


def flag(d: Draft) -> str:
    return d.data((BOOL,), 0, 0, make=lambda: (), constant=0.3)


def branch(d: Draft, op: str) -> None:
    """Both branches read values around them; indices of one may be bad where the other one is taken."""
    condition, around = flag(d), {name: d.kind(name) for name in values(d, d.number(1, 3))}
    wanted = [d.pick(*around.values()) for _ in range(d.number(1, 2))]
    graphs = []
    for _ in range(2):
        inner = Inner(d, around)
        outputs = [inner.value(like) for like in wanted]
        graphs.append(inner.graph([], [inner.op("Identity", name) for name in outputs]))
    d.op(op, condition, outputs=len(wanted), then_branch=graphs[0], else_branch=graphs[1])


def loop(d: Draft, op: str) -> None:
    """A number of turns that is known, perhaps by a counter; with a condition that is computed, at first or later, only states come out."""
    states, decided, counted, count = values(d, d.number(1, 3), 0.2), d.chance(0.6), d.chance(0.3), turns(d)
    states += [d.const(np.array(d.number(-1, 1)))] if counted else []
    inner = Inner(d, {name: d.kind(name) for name in values(d, d.number(0, 2))})
    inputs = [f"{inner.prefix}turn", f"{inner.prefix}go", *(f"{inner.prefix}s{place}" for place in range(len(states)))]
    bool_kind = (BOOL, ())
    inner.kinds |= dict(zip(inputs, [(INDEX, ()), bool_kind, *map(d.kind, states)], strict=True))
    if d.chance(0.5):
        inner.row(inputs[0], count, d.kind(states[0]))
    made = [inner.state(name) for name in inputs[2 : len(inputs) - counted]]
    begins = decided and d.chance(0.8)
    rows = [inner.value(inner.kinds[name]) for name in inputs[2:] if begins and d.chance(0.5)]
    if counted:
        made.append(inner.op("Add", inputs[-1], inner.const(np.array(d.pick(1, 2)))))
    if decided and counted:
        go = inner.op("Less", made[-1], inner.const(np.array(d.number(1, 2 * count))), like=bool_kind)
    elif decided:
        go = inner.op("Identity", inputs[1])
    else:
        dtype, shape = inner.kinds[made[0]]
        top = inner.op("Reshape", made[0], inner.const(np.array([-1])), like=(dtype, (int(np.prod(shape)),)))
        first = inner.op("Gather", top, inner.const(np.array(0)), like=(dtype, ()), axis=0)
        go = inner.op("Less", first, inner.const(np.asarray(d.pick(0, 1, -1), dtype)), like=bool_kind)
    outputs = [go, *(inner.op("Identity", name) for name in (*made, *rows))]
    start = "" if begins and d.chance(0.3) else d.const(np.array(True)) if begins else flag(d)
    endless = decided and counted and not rows and d.chance(0.5)
    d.op(op, "" if endless else d.const(np.array(count)), start, *states, outputs=len(made) + len(rows), body=inner.graph(inputs, outputs))


def is_long(shape: tuple[int, ...]) -> bool:
    """Whether an axis is long enough for a loop that stays one."""
    return max(shape) > 8


def long_shape(d: Draft) -> tuple[int, ...]:
    shape = list(d.extents(0, 2, 4))
    shape.insert(d.number(0, len(shape)), d.number(9, 13))
    return tuple(shape)


def scan(d: Draft, op: str) -> None:
    """Along axes of one extent, forwards and backwards."""
    d.since(9)
    x = d.data(KINDS, 1, 3) if d.chance(0.4) else d.data(KINDS, 1, 3, is_long, lambda: long_shape(d), 0.0)
    count, axis = d.number(1, 2), d.number(0, d.rank(x) - 1)
    axis = d.shape(x).index(max(d.shape(x))) if d.chance(0.6) else axis
    columns, states = [x] * count, values(d, d.number(0, 2), 0.2)
    inner = Inner(d, {name: d.kind(name) for name in values(d, d.number(0, 1))})
    inputs = [f"{inner.prefix}{place}in" for place in range(len(states) + count)]
    part = (d.dtype(x), tuple(extent for place, extent in enumerate(d.shape(x)) if place != axis))
    inner.kinds |= dict(zip(inputs, [*map(d.kind, states), *[part] * count], strict=True))
    made = [inner.state(name) for name in inputs[: len(states)]]
    rows = [inner.value(inner.kinds[d.pick(*inputs)]) for _ in range(d.number(0 if states else 1, 2))]
    outputs = [inner.op("Identity", name) for name in (*made, *rows)]
    listed = {"scan_input_axes": [axis] * count, "scan_input_directions": [d.number(0, 1) for _ in range(count)]}
    listed |= {"scan_output_directions": [d.number(0, 1) for _ in rows]} if rows else {}
    listed |= {"scan_output_axes": [d.number(0, len(inner.kinds[name][1])) for name in rows]} if rows else {}
    d.op(op, *states, *columns, outputs=len(outputs), num_scan_inputs=count, body=inner.graph(inputs, outputs), **listed)


CONTROL: dict[str, Drawer] = {"If": branch, "Loop": loop, "Scan": scan}
