"""Every kernel call of a Program as one static C function `void NAME(const struct run *run, int32_t begin, int32_t end, void *scratch)`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

from edgec.emit.c_text import C_TYPES, comment, float_literal, identifier
from edgec.emit.render_c import Scope, expressions, render, render_loop, render_statements, walk
from edgec.ir.types import DType
from edgec.program.expr import Const, Expr, Load, Size, Var, const, expr
from edgec.program.kernels import TEMPLATES, Window
from edgec.program.program import AnyCall, Assign, Buffer, Declare, For, Kind, LoopCall, Pointer, Program, Statement, Store, TemplateCall

NAMES_OF_THE_FUNCTION = frozenset({"run", "begin", "end", "scratch", "a", "activation"})


@dataclass(frozen=True)
class Function:
    """One emitted function: its C name, its text, and how many work items it has."""

    name: str
    text: str
    items: Expr


def functions(program: Program) -> list[Function]:
    """The calls of the Program in order; names are made unique."""
    taken = {port.identifier for port in (*program.inputs, *program.outputs)} | {size.name for size in program.sizes}
    result = []
    for call in program.calls:
        name = identifier(f"step_{call.call.name}", taken)
        taken.add(name)
        lines = _loop_call(program, call) if isinstance(call, LoopCall) else _template_call(program, call)
        head = f"static void {name}(const struct run *run, int32_t begin, int32_t end, void *scratch) {{"
        text = "\n".join(filter(None, [comment(call.call.comment), head, *lines, "}"]))
        result.append(Function(name, text, work_items(call)))
    return result


def work_items(call: AnyCall) -> Expr:
    """How many units of work the call is split into."""
    if isinstance(call, TemplateCall):
        return call.items
    loop = _split_loop(call)
    return const(1) if loop is None else loop.extent


def _split_loop(call: LoopCall) -> For | None:
    """The loop whose iterations threads share: the only statement of a parallel call."""
    if call.parallel and len(call.body) == 1 and isinstance(call.body[0], For):
        return call.body[0]
    return None


def statements(body: Iterable[Statement]) -> Iterator[Statement]:
    """All statements of a nest, outer ones first."""
    for item in body:
        yield item
        if isinstance(item, For):
            yield from statements(item.body)


def subexpressions(call: AnyCall) -> Iterator[Expr]:
    """Every expression that a call evaluates, with its parts."""
    if isinstance(call, LoopCall):
        roots = [part for item in statements(call.body) for part in expressions(item)]
    else:
        roots = [call.items, *(value.offset if isinstance(value, Pointer) else expr(value) for value in _values(call.arguments))]
    for root in roots:
        yield from walk(root)


def _values(arguments: object) -> Iterator[Expr | int | float | Pointer]:
    for field in fields(arguments):  # type: ignore[arg-type]
        value = getattr(arguments, field.name)
        if isinstance(value, Window):
            yield from _values(value)
        elif value is not None:
            yield value


def _with_sizes(lines: list[str], names: dict[str, str]) -> list[str]:
    """The lines after local copies of the symbolic sizes that they read: so the compiler knows that no store changes them."""
    text = "\n".join(lines)
    used = [name for name in sorted(names) if re.search(rf"\b{names[name]}\b", text)]
    return [*(f"    const int32_t {names[name]} = run->size_{name};" for name in used), *lines]


# Loop calls


def _loop_call(program: Program, call: LoopCall) -> list[str]:
    nest = list(statements(call.body))
    found = list(subexpressions(call))
    variables = {item.var.name for item in nest if isinstance(item, (For, Declare))} | {
        item.name for item in found if isinstance(item, Var)
    }
    sizes = {item.name: identifier(item.name, variables) for item in found if isinstance(item, Size)}
    taken = NAMES_OF_THE_FUNCTION | variables | set(sizes.values())
    stored = list(dict.fromkeys(item.buffer for item in nest if isinstance(item, Store)))
    loaded = list(dict.fromkeys(item.buffer for item in found if isinstance(item, Load)))
    pointers, lines = _pointers(program, stored, [name for name in loaded if name not in stored], sizes, taken)
    scope = Scope(
        pointers,
        sizes,
        frozenset(taken | set(pointers.values())),
        frozenset(item.var.name for item in nest if isinstance(item, Assign)),
        frozenset(name for name in pointers if program.buffers[name].dtype is DType.FLOAT16),
    )
    loop = _split_loop(call)
    if loop is None:
        body, unused = list(render_statements(call.body, scope)), ["begin", "end", "scratch"]
    else:
        offset = "" if loop.start is None else f"{render(loop.start, scope)} + "
        body, unused = list(render_loop(loop, f"{offset}begin", f"{offset}end", scope, 1)), ["scratch"]
    return _with_sizes([*lines, *(f"    (void){name};" for name in unused), *body], sizes)


def _pointers(
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
    return f"    {const_word}{c_type} *{restrict}{name} = {value};{_label(buffer)}"


def _label(buffer: Buffer) -> str:
    return f" {comment((buffer.name,))}"


def root_of(program: Program, buffer: Buffer) -> tuple[Buffer, Expr]:
    """The buffer whose memory a view uses, and the view's offset in it, in bytes."""
    offset: Expr = const(0)
    while buffer.parent is not None:
        offset = offset + (expr(0) if buffer.offset is None else buffer.offset) * buffer.dtype.bytes
        buffer = program.buffers[buffer.parent]
    return buffer, offset


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
        base, place = f"run->{port_field(program, root.name)}", start + offset * buffer.dtype.bytes
    else:
        if buffer.address is None:
            raise ValueError(f"buffer {name!r} has no address: plan the Program first")
        base, place = f"run->{'weights' if root.kind is Kind.CONSTANT else 'arena'}", offset * buffer.dtype.bytes + buffer.address
    text = base if isinstance(place, Const) and place.value == 0 else f"({base} + {render(place, scope)})"
    return f"({c_type})({'const ' if c_type.startswith('const') else ''}void *){text}"


def port_field(program: Program, buffer: str) -> str:
    """The member of `struct run` that points to a caller's buffer."""
    for role, ports in (("in", program.inputs), ("out", program.outputs)):
        for port in ports:
            if port.buffer == buffer:
                return f"{role}_{port.identifier}"
    raise ValueError(f"buffer {buffer!r} is the caller's, but no port names it")


# Template calls


def _template_call(program: Program, call: TemplateCall) -> list[str]:
    kernel = TEMPLATES[type(call.arguments)]
    found = list(subexpressions(call))
    sizes = {item.name: identifier(item.name, NAMES_OF_THE_FUNCTION) for item in found if isinstance(item, Size)}
    lines = [f"    struct {program.name}_{kernel} a;"]
    for field in fields(call.arguments):  # type: ignore[arg-type]
        value = getattr(call.arguments, field.name)
        if isinstance(value, Window):
            lines += [f"    {line}" for line in _window(value, Scope({}, sizes))]
        elif value is None:
            lines.append(f"    a.{field.name} = NULL;")
        elif isinstance(value, Pointer):
            text = address(program, value.buffer, value.offset, field.metadata["c"], sizes)
            lines.append(f"    a.{field.name} = {text};{_label(program.buffers[value.buffer])}")
        elif field.metadata["c"] == "float":
            lines.append(f"    a.{field.name} = {float_literal(float(value))};")
        else:
            lines.append(f"    a.{field.name} = {render(expr(value), Scope({}, sizes))};")
    return _with_sizes([*lines, f"    run->kernels->{kernel}(&a, begin, end, scratch);"], sizes)


def _window(window: Window, scope: Scope) -> Iterator[str]:
    """The geometry, a few members to a line."""
    texts = {field.name: render(expr(getattr(window, field.name)), scope) for field in fields(window)}
    groups = [
        ("batch", "in_height", "in_width", "in_pixel_stride"),
        ("out_height", "out_width", "out_pixel_stride"),
        ("kernel_height", "kernel_width", "stride_height", "stride_width"),
        ("dilation_height", "dilation_width", "pad_top", "pad_left"),
    ]
    assert sorted(name for group in groups for name in group) == sorted(texts), "a member of Window is missing here"
    for group in groups:
        yield " ".join(f"a.window.{name} = {texts[name]};" for name in group)
