"""Values that a condition chooses between while the model runs, and nodes that count only where it holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.source import Source
from edgec.ir.types import Symbol


def as_condition(b: Builder, s: Source, name: str) -> str:
    """A tensor of one bool as a scalar."""
    kind = b.type(name)
    if kind.elements != 1:
        raise ModelError(f"its condition is {kind}, must be one bool")
    return name if not kind.shape else b.emit(s, "Reshape", [name, b.constant(f"{s.outputs[0]}_scalar", [])])[0]


def both(b: Builder, s: Source, one: str, other: str) -> str:
    """Whether both hold; "" stands for what always holds."""
    return b.emit(s, "And", [one, other])[0] if one and other else one or other


@contextmanager
def where(b: Builder, s: Source, condition: str) -> Iterator[None]:
    """What is added in this block counts only where the condition holds ("": always)."""
    outer = b.guard
    b.guard = both(b, s, outer, condition) if condition != outer else outer
    try:
        yield
    finally:
        b.guard = outer


def choose(b: Builder, s: Source, condition: str, then: str, otherwise: str) -> str:
    """`then` where the condition holds: tensors of one type, or sequences of such."""
    if then == otherwise:
        return then
    if then in b.lists or otherwise in b.lists:
        pairs = list(zip(b.lists.get(then, ()), b.lists.get(otherwise, ()), strict=False))
        if {len(pairs)} != {len(b.lists.get(name, ())) for name in (then, otherwise) if name in b.lists}:
            raise _unlike(b, "sequences of different lengths", condition)
        chosen = b.fresh(f"{s.outputs[0]}_chosen")
        b.lists[chosen] = tuple(choose(b, s, condition, *pair) for pair in pairs)
        return chosen
    axis = _counted_axis(b, then, otherwise)
    if axis is not None:
        parts = [_all_or_none(b, s, condition, then, axis), _all_or_none(b, s, b.emit(s, "Not", [condition])[0], otherwise, axis)]
        parts = [part for part in parts if part]
        return parts[0] if len(parts) == 1 else b.emit(s, "Concat", parts, attributes={"axis": axis})[0]
    if then in b.nothing or otherwise in b.nothing or b.type(then) != b.type(otherwise):
        told = [str(b.graph.types.get(name, "nothing")) for name in (then, otherwise)]
        raise _unlike(b, " or ".join(told), condition)
    return b.emit(s, "Where", [condition, then, otherwise])[0]


def _counted_axis(b: Builder, then: str, otherwise: str) -> int | None:
    """The one axis on which two tensors have different extents, if a run counts one of these."""
    if not {then, otherwise} <= b.graph.types.keys():
        return None
    one, other = b.type(then), b.type(otherwise)
    if one.dtype is not other.dtype or len(one.shape) != len(other.shape):
        return None
    pairs = [(axis, pair) for axis, pair in enumerate(zip(one.shape, other.shape, strict=True)) if pair[0] != pair[1]]
    counted = [axis for axis, pair in pairs if any(isinstance(extent, Symbol) and extent.counted for extent in pair)]
    return counted[0] if len(pairs) == len(counted) == 1 else None


def _all_or_none(b: Builder, s: Source, condition: str, name: str, axis: int) -> str:
    """The value where the condition holds, else nothing of it along the axis; "" of what holds nothing anyway."""
    extent = b.shape(name)[axis]
    if extent == 0:
        return ""
    (wanted,) = b.emit(s, "Shape", [name], attributes={"start": axis, "end": axis + 1})
    (wanted,) = b.emit(s, "ConstantOfShape", [wanted], attributes={"value": np.ones(1, np.bool_)})
    (wanted,) = b.emit(s, "And", [wanted, condition])
    return b.emit(s, "Compress", [name, wanted], attributes={"axis": axis})[0]


def _unlike(b: Builder, what: str, condition: str) -> ModelError:
    return ModelError(f"makes {what}, as is decided while the model runs", hint=decided_by(b, condition))


def decided_by(b: Builder, name: str) -> str:
    """A hint: how to decide a value before."""
    constants = constants_behind(b, name)
    return f"decide it before: {constants}" if constants else "export the model with it decided"


def constants_behind(b: Builder, name: str) -> str:
    """The flags that decide a value by the first few inputs behind it, "" where there are none. Several floats are data, which nobody
    could give so."""
    kinds = {given: b.type(given) for given in b.inputs_behind(name)}
    fixable = [given for given, kind in kinds.items() if kind.elements == 1 or not kind.dtype.is_float]
    return " ".join(f"--constant {given}=VALUE" for given in fixable[:3])


def hand_on(b: Builder, s: Source, origin: str, output: str) -> None:
    """Let an output of the node be that value; "" is an output that nobody reads."""
    if not output or output == origin:
        return
    if origin in b.lists:
        b.lists[output] = b.lists[origin]
    elif origin in b.nothing:
        b.nothing.add(output)
    else:
        b.emit(s, "Identity", [origin], [output])
