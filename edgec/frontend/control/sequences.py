"""Sequences and optionals that are known while a model is read: lists of its tensors, of which no node is left."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgec.base.budget import check_turns, spend_node
from edgec.base.errors import ModelError
from edgec.frontend.control.body import Body
from edgec.frontend.control.conditional import hand_on
from edgec.frontend.movement.movement import split_into
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.ops.rules import axis_of, fixed


def tensors(b: Builder, s: Source) -> tuple[str, ...]:
    """Those of the first operand."""
    if s.inputs[0] not in b.lists:
        raise ModelError("needs a sequence")
    return b.lists[s.inputs[0]]


def position(b: Builder, s: Source, index: int, count: int, default: int) -> int:
    """A place among `count`, from either end."""
    if not s.input(index):
        return default
    found = b.known(s, index, "the position")
    if len(found) != 1 or not -count <= found[0] < count:
        raise ModelError(f"position {found[:8]} lies outside of a sequence of {count}")
    return found[0] % count


def with_axis(b: Builder, s: Source, op: str, names: Sequence[str], axis: int) -> list[str]:
    """Each of the tensors with a new axis (Unsqueeze), or without one (Squeeze): a node each, which are paid for."""
    place, made = b.constant(f"{s.outputs[0]}_axis", [axis]), list[str]()
    for name in names:
        spend_node(s.where)
        made += b.emit(s, op, [name, place])
    return made


@rule("SequenceEmpty", "SequenceConstruct")
def construct(b: Builder, s: Source) -> None:
    b.lists[s.outputs[0]] = s.inputs


@rule("SequenceInsert")
def insert(b: Builder, s: Source) -> None:
    """Before the one at the position; behind all by default, or at the position behind the last."""
    known = tensors(b, s)
    end = bool(s.input(2)) and b.known(s, 2, "the position") == [len(known)]
    place = len(known) if end else position(b, s, 2, len(known), len(known))
    b.lists[s.outputs[0]] = (*known[:place], s.inputs[1], *known[place:])


@rule("SequenceErase")
def erase(b: Builder, s: Source) -> None:
    known = tensors(b, s)
    if not known:
        raise ModelError("erases from an empty sequence")
    place = position(b, s, 1, len(known), len(known) - 1)
    b.lists[s.outputs[0]] = known[:place] + known[place + 1 :]


@rule("SequenceAt")
def at(b: Builder, s: Source) -> None:
    """A position that is computed while the model runs chooses among tensors of one type."""
    known = tensors(b, s)
    if b.value(s.inputs[1]) is not None:
        hand_on(b, s, known[position(b, s, 1, len(known), 0)], s.outputs[0])
        return
    if not known or len({b.type(name) for name in known}) > 1:
        raise ModelError("the position is computed while the model runs, and the tensors are of different types")
    stacked = b.emit(s, "Concat", with_axis(b, s, "Unsqueeze", known, 0), attributes={"axis": 0})
    b.emit(s, "Gather", [*stacked, s.inputs[1]], s.outputs, {"axis": 0})


@rule("SequenceLength")
def length(b: Builder, s: Source) -> None:
    b.define(s.outputs[0], np.array(len(tensors(b, s)), np.int64))


@rule("SplitToSequence")
def split(b: Builder, s: Source) -> None:
    """Into parts of the extents in a list; of one extent, the last of what is left; or of extent 1, without their axis if so wished."""
    axis = axis_of(s.attributes["axis"], b.rank(s.inputs[0]))
    extent, parts = fixed(b.shape(s.inputs[0])[axis], "the axis of SplitToSequence"), [1]
    if s.input(1):
        parts = b.known(s, 1, "the list of parts")
    if not s.input(1) or not b.shape(s.inputs[1]):
        if len(parts) != 1 or parts[0] < 1:
            raise ModelError(f"cannot split into parts of {parts}")
        check_turns(-(-extent // parts[0]), 1, s.where)
        parts = [min(parts[0], extent - start) for start in range(0, extent, parts[0])]
    for _ in parts:
        spend_node(s.where)
    names = [b.fresh(f"{s.outputs[0]}_part") for _ in parts]
    split_into(b, s, parts, axis, names)
    b.lists[s.outputs[0]] = tuple(names if s.input(1) or s.get("keepdims", 1) else with_axis(b, s, "Squeeze", names, axis))


@rule("ConcatFromSequence")
def concatenate(b: Builder, s: Source) -> None:
    """Along an axis, which is a new one where the node says so."""
    names, axis = list(tensors(b, s)), s.attributes["axis"]
    if not names:
        raise ModelError("joins an empty sequence")
    if s.get("new_axis", 0):
        names = with_axis(b, s, "Unsqueeze", names, axis)
    b.emit(s, "Concat", names, s.outputs, {"axis": axis})


@rule("SequenceMap")
def each(b: Builder, s: Source) -> None:
    """The body for each tensor of the first sequence, and of others at the same place; what is no sequence it gets as it is."""
    count = len(tensors(b, s))
    if any(len(b.lists[name]) != count for name in s.inputs if name in b.lists):
        raise ModelError("maps sequences of different lengths")
    body = Body(b, s, s.attributes["body"], range(len(s.outputs)))
    made = [body.run([b.lists[name][turn] if name in b.lists else name for name in s.inputs], f"{turn}/") for turn in range(count)]
    for place, output in enumerate(s.outputs):
        b.lists[output] = tuple(found[place] for found in made)


@rule("Identity")
def identity(b: Builder, s: Source) -> None:
    hand_on(b, s, s.inputs[0], s.outputs[0])


@rule("Optional")
def optional(b: Builder, s: Source) -> None:
    if s.input(0):
        hand_on(b, s, s.inputs[0], s.outputs[0])
    else:
        b.nothing.add(s.outputs[0])


@rule("OptionalHasElement")
def has_element(b: Builder, s: Source) -> None:
    b.define(s.outputs[0], np.array(bool(s.input(0)) and s.inputs[0] not in b.nothing))


@rule("OptionalGetElement")
def element(b: Builder, s: Source) -> None:
    if s.inputs[0] in b.nothing:
        raise ModelError("takes what an optional without a value holds")
    hand_on(b, s, s.inputs[0], s.outputs[0])
