"""One Program of several that compute the same network for inputs of other shapes: each run says which shapes it has.

Calls, and memory that is not the caller's, belong to one set of shapes alone. Sets are numbered from 1 on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from math import prod

from edgec.base.errors import Problem, UsageError
from edgec.program.expr import INT, Expr, Load, Size, bound, const
from edgec.program.program import AnyCall, Buffer, Call, For, LoopCall, Pointer, Port, Program, Statement, Store, When
from edgec.program.walk import replaced

ARGUMENT = "shape"  # of a run: the number of its set
Names = Mapping[str, str]


def merged(programs: Sequence[Program]) -> Program:
    """Scheduled Programs of the same ports as one, which has their states once. UsageError where ports differ in more than their shapes,
    states in these too, and for sizes that runs find, which belong to a single set."""
    first, *others = programs
    if not others:
        return first
    _check(programs)
    taken = {port.identifier for port in first.ports}
    argument = next(name for name in (ARGUMENT, f"which_{ARGUMENT}", f"{first.name}_{ARGUMENT}") if name not in taken)
    result = replace(first, buffers={}, calls=[], repeats={}, sizes=[Size(INT, argument, len(programs))])
    for number, program in enumerate(programs, 1):
        names = _names(result, program, number)
        for name, buffer in program.buffers.items():
            known = result.buffers.get(names[name])
            result.buffers[names[name]] = _renamed_buffer(buffer, names) if known is None else _larger(known, buffer)
        result.calls += [_renamed_call(call, names, number) for call in program.calls]
        for name, repeat in program.repeats.items():
            inner = replace(repeat, turn=names[repeat.turn], goes_on=names[repeat.goes_on])
            result.repeats[_numbered(name, number)] = inner
    result.inputs = [_port(same) for same in zip(*(program.inputs for program in programs), strict=True)]
    result.outputs = [_port(same) for same in zip(*(program.outputs for program in programs), strict=True)]
    return result


def _check(programs: Sequence[Program]) -> None:
    first, *others = programs
    if any(program.sizes or program.counts for program in programs):
        raise UsageError("a network that counts what it finds has one set of shapes", where="--also-shape")
    problems = []
    for number, program in enumerate(others, 2):
        for one, other in zip((*first.inputs, *first.outputs), (*program.inputs, *program.outputs), strict=True):
            if (now := _contract(other)) != (then := _contract(one)):
                problems.append(_differs(one, now, then, number))
        for kept, also in zip(first.states, program.states, strict=True):
            if (now := _state(also.input)) != (then := _state(kept.input)):
                problems.append(_differs(kept.input, now, then, number))
    if problems:
        raise UsageError("inputs and outputs must be alike for all shapes", problems, where="--also-shape")


def _differs(port: Port, now: str, then: str, number: int) -> Problem:
    return Problem(f"is {now}, and {then} in the first set", f"{port.name}, set {number} of shapes")


def _state(port: Port) -> str:
    """What a run may not change of what it keeps."""
    return f"a state of {port.dtype.value}[{','.join(str(bound(extent)) for extent in port.shape)}]"


def _contract(port: Port) -> str:
    """What a caller must know of a port beside its shape."""
    coded = "" if port.scale is None else f" with scale {port.scale!r} and zero point {port.zero_point}"
    return f"{port.name} in {port.dtype.value}{coded}"


def _names(result: Program, program: Program, number: int) -> dict[str, str]:
    """For each buffer of a set its name beside those of all: ports share theirs."""
    shared = {other.buffer: one.buffer for one, other in zip(result.ports, program.ports, strict=True)}
    found: dict[str, str] = {}
    taken = set(result.buffers)
    for name in program.buffers:
        new = shared.get(name, name if number == 1 else f"{name}_at_{number}")
        while name not in shared and new in taken:
            new += "_"
        taken.add(new)
        found[name] = new
    return found


def _larger(one: Buffer, other: Buffer) -> Buffer:
    """The memory of a port, which has the largest size."""
    return replace(one, size=const(max(bound(one.size), bound(other.size))))


def _renamed_buffer(buffer: Buffer, names: Names) -> Buffer:
    return replace(buffer, name=names[buffer.name], parent=None if buffer.parent is None else names[buffer.parent])


def _renamed_call(call: AnyCall, names: Names, number: int) -> AnyCall:
    about = _about(call.call, names, number)
    if isinstance(call, LoopCall):
        body = tuple(_statement(item, names, {}) for item in call.body)
        return replace(call, call=about, body=body, outside=None if call.outside is None else names[call.outside])
    pointers = {
        field.name: Pointer(names[value.buffer], value.offset)
        for field in fields(call.arguments)
        if isinstance(value := getattr(call.arguments, field.name), Pointer)
    }
    return replace(call, call=about, arguments=replace(call.arguments, **pointers))


def _about(call: Call, names: Names, number: int) -> Call:
    when = None if call.when is None else When(names[call.when.buffer], call.when.holds)
    reads, writes = (tuple(names[name] for name in group) for group in (call.reads, call.writes))
    within = tuple(_numbered(name, number) for name in call.within)
    return replace(call, reads=reads, writes=writes, when=when, shape=number, within=within)


def _numbered(name: str, number: int) -> str:
    """What runs in turns, of a set of shapes."""
    return f"{name}_at_{number}"


def _statement(item: Statement, names: Names, done: dict[int, Expr]) -> Statement:
    """The statement over buffers of other names."""

    def value(part: Expr) -> Expr:
        return replaced(part, change, done)

    def change(part: Expr) -> Expr | None:
        return Load(part.dtype, names[part.buffer], value(part.index)) if isinstance(part, Load) else None

    if isinstance(item, For):
        start = None if item.start is None else value(item.start)
        return replace(item, extent=value(item.extent), body=tuple(_statement(inner, names, done) for inner in item.body), start=start)
    if isinstance(item, Store):
        return Store(names[item.buffer], value(item.index), value(item.value))
    return replace(item, value=value(item.value))


def _port(same: Sequence[Port]) -> Port:
    """The port in its largest shape, which knows all of them."""
    shapes = tuple(tuple(bound(extent) for extent in port.shape) for port in same)
    return replace(same[0], shape=tuple(map(const, max(shapes, key=prod))), shapes=shapes)
