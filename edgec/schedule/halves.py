"""Which tensors of a float package lie in memory as halves, and which calls compute with them.

A call computes with halves where there is such a kernel, its weights keep their digits as halves, and its result lies in the arena. Then
its tensors are halves there; calls that know floats alone, and the caller's tensors, keep theirs, and a loop makes the one of the other
between them. Loops compute with floats whatever they read; where one reads back what it writes, a total that grows or a state, no step may
round, and that stays floats, as does what calls carry from one of their turns to the next, and what is known to leave the range of halves.
Other finite numbers beyond it become its ends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np

from edgec.ir.types import DType
from edgec.kernels.halves import GROWTH, HALF_OF, LARGEST, LONGEST, STRETCH
from edgec.program.arguments import Arguments
from edgec.program.expr import FLOAT, Expr, Load, binary, const, load, var
from edgec.program.program import (
    AnyCall,
    Buffer,
    Call,
    For,
    Kind,
    LoopCall,
    Pointer,
    Program,
    Statement,
    Store,
    TemplateCall,
    When,
    read_by,
)
from edgec.program.turns import carried
from edgec.program.walk import loads, statements, stores
from edgec.schedule.magnitudes import Magnitudes

LEAST = 2.0**-13  # of the largest weight of a channel, whose smallest ones have few digits as halves
NOTHING = 2.0**-25 / LARGEST  # a channel whose weights add up to less gives 0, whatever halves it reads
CONSTANTS = ("weights", "bias")

Twins = dict[tuple[str, DType, When | None], str]  # of a buffer, in another type, made when: the buffer that holds the same numbers


def with_halves(program: Program, beyond: Collection[str] = ()) -> Program:
    """`program`, as lowering makes it, with halves where they are of use. beyond: ONNX nodes whose results leave the range of halves."""
    roots = {name: program.root(name) for name in program.buffers}
    left = {roots[name] for call in program.calls if _is_of(call, beyond) for name in call.call.writes}
    able = [
        isinstance(call, TemplateCall) and left.isdisjoint(roots[name] for name in (*call.call.reads, *call.call.writes))
        and _is_able(program, call.arguments) for call in program.calls
    ]  # fmt: skip
    fixed = left | {roots[name] for name, buffer in program.buffers.items() if not _may_be_halves(buffer)}
    fixed |= carried(program)
    for call, can in zip(program.calls, able, strict=True):
        if isinstance(call, LoopCall):
            fixed |= {roots[name] for name in loads(call.body)} & {roots[name] for name in stores(call.body)}
        elif not can:
            fixed |= {roots[name] for name in call.call.writes}
    computing = [can and roots[call.call.writes[0]] not in fixed for call, can in zip(program.calls, able, strict=True)]
    touched = {roots[name] for call, can in zip(program.calls, computing, strict=True) if can for name in _tensors(call)}
    halves = {name for name, root in roots.items() if root in touched - fixed}
    buffers = {name: replace(buffer, dtype=DType.FLOAT16) if name in halves else buffer for name, buffer in program.buffers.items()}
    done, twins, within = replace(program, buffers=buffers, calls=[]), Twins(), tuple[str, ...]()
    magnitudes = Magnitudes(program, roots, fixed)
    for call, can in zip(program.calls, computing, strict=True):
        if call.call.within != within:  # a turn must make its own, and there may be none
            twins, within = Twins(), call.call.within
        sure = magnitudes.take(call, can)
        done.calls += _converted(done, call, can, sure, twins) if isinstance(call, TemplateCall) else [_limited(done, call)]
        written = {roots[name] for name in call.call.writes}
        twins = {key: twin for key, twin in twins.items() if roots[key[0]] not in written}
    return done


def _is_of(call: AnyCall, nodes: Collection[str]) -> bool:
    return any(name in nodes for name in call.call.nodes)


def _may_be_halves(buffer: Buffer) -> bool:
    return buffer.kind is Kind.ARENA and buffer.dtype is DType.FLOAT32


def _is_able(program: Program, arguments: Arguments) -> bool:
    """Whether a kernel of halves computes such a layer as exactly as halves allow."""
    kind = type(arguments)
    if kind not in HALF_OF or (kind in LONGEST and LONGEST[kind](arguments) > STRETCH):
        return False
    return all(_are_halves(program, arguments, name) for name in CONSTANTS if hasattr(arguments, name))


def _are_halves(program: Program, arguments: Any, name: str) -> bool:
    data = program.buffers[getattr(arguments, name).buffer].data
    if data is None or not data.size:
        return False
    channels = getattr(arguments, "channels", 0) or arguments.groups * arguments.out_channels
    sizes = np.abs(data.reshape(channels, -1))
    largest = sizes.max(axis=1)
    most = LARGEST if name == "bias" else LARGEST / GROWTH
    return bool((largest <= most).all() and (name == "bias" or ((largest >= LEAST) | (sizes.sum(axis=1) < NOTHING)).all()))


def _tensors(call: AnyCall) -> Iterator[str]:
    """The buffers of a template call but for its constants."""
    assert isinstance(call, TemplateCall)
    for field in fields(call.arguments):
        value = getattr(call.arguments, field.name)
        if isinstance(value, Pointer) and field.name not in CONSTANTS:
            yield value.buffer


def _converted(program: Program, call: TemplateCall, halves: bool, sure: bool, twins: Twins) -> Iterator[AnyCall]:
    """A call that reads and writes the type that it knows, behind loops that convert what is of the other one and has no twin.

    sure: whether no sum of products leaves the range of halves.
    """
    known = DType.FLOAT16 if halves else DType.FLOAT32
    others = {
        name: value
        for name, value in vars(call.arguments).items()
        if isinstance(value, Pointer) and name not in CONSTANTS and program.buffers[value.buffer].dtype in (DType.FLOAT16, DType.FLOAT32)
        and program.buffers[value.buffer].dtype is not known
    }  # fmt: skip
    for name, value in others.items():
        key = value.buffer, known, call.call.when
        twin = twins.get((*key[:2], None)) or twins.get(key)
        if twin is None:
            twin = twins[key] = _twin(program, value.buffer, known)
            yield _conversion(program, value.buffer, twin, call.call)
        others[name] = Pointer(twin, value.offset)
    values = {**vars(call.arguments), **others}
    if halves:
        known_of_sums = {"sure": 1} if sure else {}
        arguments = HALF_OF[type(call.arguments)](**{**values, **_range(values), **known_of_sums})
    else:
        arguments = replace(call.arguments, **others)
    yield replace(call, arguments=arguments, call=replace(call.call, reads=read_by(arguments)))


def _range(values: dict[str, object]) -> dict[str, float]:
    """The bounds of a layer's results, which halves hold."""
    ends = {"low": max, "high": min}
    limits = {"low": -LARGEST, "high": LARGEST}
    return {name: ends[name](float(values[name]), limits[name]) for name in ends if name in values}  # type: ignore[arg-type]


def _twin(program: Program, name: str, dtype: DType) -> str:
    """A new buffer of the arena with as many elements."""
    twin, serial = f"{name}_{dtype.value}", 1
    while twin in program.buffers:
        serial += 1
        twin = f"{name}_{dtype.value}_{serial}"
    program.buffers[twin] = Buffer(twin, dtype, program.buffers[name].size, Kind.ARENA)
    return twin


def _conversion(program: Program, source: str, result: str, reader: Call) -> AnyCall:
    i = var("i")
    body = For(i, program.buffers[source].size, (Store(result, i, load(source, i, FLOAT)),))
    comment = (f"{source} as {program.buffers[result].dtype.value}",)
    call = Call(f"{reader.name}_{source}"[-48:], reader.nodes, comment, (source,), (result,), 0, reader.when, within=reader.within)
    return _limited(program, LoopCall(call, (body,), True))


def _limited(program: Program, call: LoopCall) -> LoopCall:
    """A loop whose results lie in the range of the halves that they become."""
    if not any(isinstance(item, Store) and program.buffers[item.buffer].dtype is DType.FLOAT16 for item in statements(call.body)):
        return call
    return replace(call, body=tuple(_within(program, item) for item in call.body))


def _within(program: Program, item: Statement) -> Statement:
    if isinstance(item, For):
        return replace(item, body=tuple(_within(program, inner) for inner in item.body))
    if isinstance(item, Store) and program.buffers[item.buffer].dtype is DType.FLOAT16 and not _is_half(program, item.value):
        return replace(item, value=_clipped(item.value))
    return item


def _is_half(program: Program, value: Expr) -> bool:
    return isinstance(value, Load) and program.buffers[value.buffer].dtype is DType.FLOAT16


def _clipped(value: Expr) -> Expr:
    """In the range of halves; NaN stays."""
    return binary("min", const(LARGEST), binary("max", const(-LARGEST), value))
