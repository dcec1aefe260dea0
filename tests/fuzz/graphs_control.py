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
        for _ in range(self.d.number(1, 3)):
            fits = [name for name, kind in self.kinds.items() if kind == like]
            if self.d.chance(0.4) and (like[0].kind == "f" or self.d.opset >= 12):
                x = self.op(self.d.pick(*PAIRS), x, self.d.pick(*fits) if self.d.chance(0.8) else self.const(self.d.array(*like)))
            else:
                x = self.op(self.d.pick(*UNARY[like[0].kind]), x)
        return x

    def graph(self, inputs: Sequence[str], outputs: Sequence[str]) -> onnx.GraphProto:
        return helper.make_graph(
            self.nodes, f"{self.prefix}body", [self.info(name) for name in inputs], [self.info(name) for name in outputs]
        )

    def info(self, name: str) -> onnx.ValueInfoProto:
        dtype, shape = self.kinds[name]
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)


def values(d: Draft, count: int) -> list[str]:
    return [d.data(KINDS, 0, 3, constant=0.0) for _ in range(count)]


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
    """A known number of turns; with a condition that is computed only states come out."""
    states, decided = values(d, d.number(1, 3)), d.chance(0.6)
    inner = Inner(d, {})
    inputs = [f"{inner.prefix}turn", f"{inner.prefix}go", *(f"{inner.prefix}s{place}" for place in range(len(states)))]
    bool_kind = (BOOL, ())
    inner.kinds |= dict(zip(inputs, [(np.dtype(np.int64), ()), bool_kind, *map(d.kind, states)], strict=True))
    made = [inner.value(inner.kinds[name]) for name in inputs[2:]]
    rows = [inner.value(inner.kinds[name]) for name in inputs[2:] if decided and d.chance(0.5)]
    if decided:
        go = inner.op("Identity", inputs[1])
    else:
        dtype, shape = inner.kinds[made[0]]
        top = inner.op("Reshape", made[0], inner.const(np.array([-1])), like=(dtype, (int(np.prod(shape)),)))
        first = inner.op("Gather", top, inner.const(np.array(0)), like=(dtype, ()), axis=0)
        go = inner.op("Less", first, inner.const(np.asarray(d.pick(0, 1, -1), dtype)), like=bool_kind)
    outputs = [go, *(inner.op("Identity", name) for name in (*made, *rows))]
    start = "" if decided and d.chance(0.3) else d.const(np.array(True)) if decided else flag(d)
    d.op(op, d.const(np.array(d.number(1, 4))), start, *states, outputs=len(made) + len(rows), body=inner.graph(inputs, outputs))


def scan(d: Draft, op: str) -> None:
    """Along axes of one extent, forwards and backwards."""
    d.since(9)
    x = d.data(KINDS, 1, 3)
    count, axis = d.number(1, 2), d.number(0, d.rank(x) - 1)
    columns, states = [x] * count, values(d, d.number(0, 2))
    inner = Inner(d, {})
    inputs = [f"{inner.prefix}{place}in" for place in range(len(states) + count)]
    part = (d.dtype(x), tuple(extent for place, extent in enumerate(d.shape(x)) if place != axis))
    inner.kinds |= dict(zip(inputs, [*map(d.kind, states), *[part] * count], strict=True))
    made = [inner.value(inner.kinds[name]) for name in inputs[: len(states)]]
    rows = [inner.value(inner.kinds[d.pick(*inputs)]) for _ in range(d.number(0 if states else 1, 2))]
    outputs = [inner.op("Identity", name) for name in (*made, *rows)]
    listed = {"scan_input_axes": [axis] * count, "scan_input_directions": [d.number(0, 1) for _ in range(count)]}
    listed |= {"scan_output_directions": [d.number(0, 1) for _ in rows]} if rows else {}
    listed |= {"scan_output_axes": [d.number(0, len(inner.kinds[name][1])) for name in rows]} if rows else {}
    d.op(op, *states, *columns, outputs=len(outputs), num_scan_inputs=count, body=inner.graph(inputs, outputs), **listed)


CONTROL: dict[str, Drawer] = {"If": branch, "Loop": loop, "Scan": scan}
