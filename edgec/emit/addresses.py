"""Where the bytes of buffers lie in emitted C: addresses, and the pointers through which a loop call reaches them."""

from __future__ import annotations

from collections.abc import Iterable

from edgec.emit.c_text import C_TYPES, comment, identifier
from edgec.emit.render_c import Scope, render
from edgec.ir.types import DType
from edgec.program.expr import INT, Const, Expr, cast, const, expr
from edgec.program.program import Buffer, Kind, Program


def pointer_declarations(
    program: Program, stored: list[str], loaded: list[str], sizes: dict[str, str], taken: Iterable[str]
) -> tuple[dict[str, str], list[str]]:
    """buffer -> pointer name, and the declarations. Buffers at one place with one type share a pointer; a pointer is
    `restrict` when no other one of the call can reach its bytes, and may alias when another type lives there."""
    names: dict[str, str] = {}
    places: dict[tuple[object, ...], str] = {}
    lines: list[str] = []
    used = set(taken)
    for role, group in (("out", stored), ("in", loaded)):
        data = [name for name in group if program.buffers[name].kind is not Kind.CONSTANT]
        for name in group:
            buffer = program.buffers[name]
            place = (*_place(program, buffer), buffer.dtype)
            if place not in places:
                base = "table" if buffer.kind is Kind.CONSTANT else role
                number = str(data.index(name)) if name in data and len(data) > 1 else ""
                places[place] = identifier(f"{base}{number}", used)
                used.add(places[place])
                others = [program.buffers[other] for other in (*stored, *loaded) if other != name]
                overlapping = [
                    other for other in others if (*_place(program, other), other.dtype) != place and _overlap(program, buffer, other)
                ]
                lines.append(_declare_pointer(program, buffer, places[place], role == "out", overlapping, sizes))
            names[name] = places[place]
    return names, lines


def _declare_pointer(program: Program, buffer: Buffer, name: str, written: bool, overlapping: list[Buffer], sizes: dict[str, str]) -> str:
    c_type = C_TYPES[buffer.dtype]
    const_word = "" if written else "const "
    if any(other.dtype is not buffer.dtype for other in overlapping):
        c_type = f"{c_type}_alias"
    restrict = "" if overlapping else "EDGEC_RESTRICT "
    value = address(program, buffer.name, const(0), f"{const_word}{c_type} *", sizes)
    return f"    {const_word}{c_type} *{restrict}{name} = {value};{label(buffer)}"


def label(buffer: Buffer) -> str:
    return f" {comment((buffer.name,))}"


def root_of(program: Program, buffer: Buffer) -> tuple[Buffer, Expr]:
    """The buffer whose memory a view uses, and the view's offset in it, in bytes."""
    offset: Expr = const(0)
    while buffer.parent is not None:
        offset = _sum(offset, _in_bytes(expr(0) if buffer.offset is None else buffer.offset, buffer.dtype.bytes))
        buffer = program.buffers[buffer.parent]
    return buffer, offset


def _in_bytes(elements: Expr, each: int) -> Expr:
    """A number in 64 bits where it is known: memory may be larger than an int32 says."""
    return const(int(elements.value) * each, DType.INT64) if isinstance(elements, Const) else elements * each


def _sum(a: Expr, b: Expr) -> Expr:
    if isinstance(a, Const) and isinstance(b, Const):
        return const(int(a.value) + int(b.value), DType.INT64)
    return cast(a, INT) + cast(b, INT)


def _place(program: Program, buffer: Buffer) -> tuple[object, ...]:
    """Where a buffer starts: equal places are the same bytes."""
    root, offset = root_of(program, buffer)
    if root.kind in (Kind.INPUT, Kind.OUTPUT):
        return (root.kind, root.name, offset)
    return (root.kind, buffer.address, 0)


def _overlap(program: Program, one: Buffer, two: Buffer) -> bool:
    """Whether two buffers may share bytes, at least one of them being written."""
    first, second = root_of(program, one)[0], root_of(program, two)[0]
    if first.kind is not second.kind or first.kind is Kind.CONSTANT:
        return False
    if first.kind in (Kind.INPUT, Kind.OUTPUT):
        return first.name == second.name
    assert one.address is not None and two.address is not None
    return one.address < two.address + two.max_bytes and two.address < one.address + one.max_bytes


def address(program: Program, name: str, offset: Expr, c_type: str, sizes: dict[str, str]) -> str:
    """The address of element `offset` of a buffer as a C expression of type `c_type`."""
    buffer = program.buffers[name]
    root, start = root_of(program, buffer)
    scope = Scope({}, sizes)
    if root.kind in (Kind.INPUT, Kind.OUTPUT):
        base, place = f"run->{port_field(program, root.name)}", _sum(start, _in_bytes(offset, buffer.dtype.bytes))
        if not (isinstance(place, Const) and place.value == 0):  # these pointers have types, and places are bytes
            base = f"({'const ' if root.kind is Kind.INPUT else ''}unsigned char *){base}"
    else:
        if buffer.address is None:
            raise ValueError(f"buffer {name!r} has no address: plan the Program first")
        base = f"run->{'weights' if root.kind is Kind.CONSTANT else 'arena'}"
        place = _sum(_in_bytes(offset, buffer.dtype.bytes), const(buffer.address, DType.INT64))
    far = str(place.value) if isinstance(place, Const) else render(place, scope)
    text = base if far == "0" else f"({base} + {far})"
    return f"({c_type})({'const ' if c_type.startswith('const') else ''}void *){text}"


def port_field(program: Program, buffer: str) -> str:
    """The member of `struct run` that points to a caller's buffer, or to a state's."""
    for port in program.ports:
        if port.buffer == buffer:
            return f"{'in' if program.buffers[buffer].kind is Kind.INPUT else 'out'}_{port.identifier}"
    raise ValueError(f"no port names the buffer {buffer!r}")
