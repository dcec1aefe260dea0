"""Drawers of sequences and optionals, which live within the one turn of a loop: a model has only tensors around it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import helper

from tests.fuzz.graphs_control import Inner
from tests.fuzz.graphs_draft import FLOAT, Draft
from tests.fuzz.graphs_pointwise import BOOL, Drawer

UNLIKE = (FLOAT, ())  # what nobody asks the shape of


def in_one_turn(d: Draft, x: str, ends: Callable[[Inner, str], list[str]]) -> None:
    """A loop over `x`, of whose value `ends` makes float tensors."""
    inner = Inner(d, {})
    turn, go, state = inputs = [f"{inner.prefix}{name}" for name in ("turn", "go", "s")]
    inner.kinds |= {turn: (np.dtype(np.int64), ()), go: (BOOL, ()), state: d.kind(x)}
    found = ends(inner, state)
    names = [inner.op("Identity", go), inner.op("Identity", state), *(inner.op("Identity", name) for name in found)]
    infos = [inner.info(name) for name in names[:2]] + [helper.make_tensor_value_info(name, 1, None) for name in names[2:]]
    body = helper.make_graph(inner.nodes, f"{inner.prefix}body", [inner.info(name) for name in inputs], infos)
    d.op("Loop", d.const(np.array(1)), "", x, outputs=len(names) - 1, body=body)


def sequences(d: Draft, op: str) -> None:
    """Split, changed, and joined or looked into."""
    d.since(11)
    x = d.data((FLOAT,), 1, 3, constant=0.0)
    axis = d.number(0, d.rank(x) - 1)
    extent = d.shape(x)[axis]
    size = d.number(1, extent)
    listed = [size] * (extent // size) + ([extent % size] if extent % size else [])
    split = d.pick((), (np.array(size),), (np.array(listed),))
    count = len(listed) if split else extent

    def ends(inner: Inner, state: str) -> list[str]:
        part = inner.op("SplitToSequence", state, *map(inner.const, split), like=UNLIKE, axis=axis)

        def place(many: int) -> str:
            return inner.const(np.array(d.number(-many, many - 1), d.pick(np.int64, np.int32)))

        taken = inner.op("SequenceAt", part, place(count), like=UNLIKE)
        whole = inner.op("SequenceInsert", part, taken, *([place(count)] if d.chance(0.6) else []), like=UNLIKE)
        if d.chance(0.5):
            whole = inner.op("SequenceErase", whole, *([place(count + 1)] if d.chance(0.6) else []), like=UNLIKE)
        start = inner.op("SequenceConstruct", taken, taken, like=UNLIKE) if d.chance(0.5) else inner.op("SequenceEmpty", like=UNLIKE)
        start = inner.op("SequenceInsert", start, taken, like=UNLIKE)
        number = inner.op("Cast", inner.op("SequenceLength", whole, like=UNLIKE), to=1, like=UNLIKE)
        joined = inner.op("ConcatFromSequence", start, axis=d.number(0, d.rank(x)), new_axis=1, like=UNLIKE)
        return [inner.op("ConcatFromSequence", whole, axis=axis, like=UNLIKE), joined, number, taken]

    in_one_turn(d, x, ends)


def mapped(d: Draft, op: str) -> None:
    """Something is done to each row, perhaps with the row of another sequence at its place, or with the whole that they are from."""
    d.since(17)
    x = d.data((FLOAT,), 1, 3, constant=0.0)
    axis, kind = d.number(0, d.rank(x) - 1), d.kind(x)
    row = (FLOAT, (*kind[1][:axis], *kind[1][axis + 1 :]))

    def ends(inner: Inner, state: str) -> list[str]:
        part = inner.op("SplitToSequence", state, like=UNLIKE, axis=axis, keepdims=0)
        body = Inner(d, {})
        more = d.pick([], [(state, kind)], [(part, row)])
        inputs = [f"{body.prefix}{place}in" for place in range(1 + len(more))]
        body.kinds |= dict(zip(inputs, [row, *(like for _, like in more)], strict=True))
        graph = body.graph(inputs, [body.op("Identity", body.value(row))])
        made = inner.op(op, part, *(name for name, _ in more), like=UNLIKE, body=graph)
        return [inner.op("ConcatFromSequence", made, axis=axis, new_axis=1, like=UNLIKE)]

    in_one_turn(d, x, ends)


def optionals(d: Draft, op: str) -> None:
    """Asked whether they hold something, and for what they hold: the tensor, or a sequence of its parts."""
    d.since(15)
    x = d.data((FLOAT,), 1, 3, constant=0.0)
    axis = d.number(0, d.rank(x) - 1)

    def ends(inner: Inner, state: str) -> list[str]:
        part = inner.op("SplitToSequence", state, like=UNLIKE, axis=axis)
        held = d.pick(state, part)
        box = inner.op("Optional", held, like=UNLIKE)
        empty = inner.op("Optional", like=UNLIKE, type=helper.make_tensor_type_proto(1, None))
        asked = inner.op("OptionalHasElement", d.pick(box, empty), like=(BOOL, ()))
        got = inner.op("OptionalGetElement", box, like=UNLIKE)
        joined = got if held == state else inner.op("ConcatFromSequence", got, axis=axis, like=UNLIKE)
        return [inner.op("Cast", asked, to=1, like=UNLIKE), joined]

    in_one_turn(d, x, ends)


CHANGES = (
    "ConcatFromSequence", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength",
    "SplitToSequence",
)  # fmt: skip
SEQUENCES: dict[str, Drawer] = {
    **dict.fromkeys(CHANGES, sequences), "SequenceMap": mapped,
    **dict.fromkeys(("Optional", "OptionalHasElement", "OptionalGetElement"), optionals),
}  # fmt: skip
