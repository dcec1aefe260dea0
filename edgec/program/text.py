"""A Program as text, for people and for tests: one line a buffer, one a statement, one an argument."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import is_dataclass

from edgec.program.arguments import Window
from edgec.program.expr import Binary, Cast, Const, Expr, Load, Select, Size, Unary, Var
from edgec.program.program import Assign, Buffer, Declare, For, LoopCall, Pointer, Program, Repeat, Statement, TemplateCall

_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "lt": "<", "le": "<=", "eq": "==",
    "and": "and", "or": "or", "xor": "^", "shl": "<<", "shr": ">>",
}  # fmt: skip


def dumps(program: Program) -> str:
    """`program` as text; addresses appear once they are planned."""
    return "\n".join(_lines(program)) + "\n"


def _lines(program: Program) -> Iterator[str]:
    yield f"program {program.name} for {program.target}"
    for size in program.sizes:
        yield f"size {size.name} <= {size.bound}"
    for name, place in program.counts.items():
        yield f"size {name} = {place}[0]"
    for role, ports in (("input", program.inputs), ("output", program.outputs)):
        for port in ports:
            shape = ",".join(text(extent) for extent in port.shape)
            grid = f" scale {port.scale!r} zero {port.zero_point}" if port.scale is not None else ""
            yield f"{role} {port.name!r} = {port.buffer} {port.dtype.value}[{shape}]{grid}"
    for state in program.states:
        places = " and ".join(str(place) for place in dict.fromkeys(state.places))
        yield f"state {state.input.name!r} = {state.input.buffer} from {state.output.buffer} after {state.start!r} @ {places}"
    for buffer in program.buffers.values():
        yield _buffer(buffer)
    for name, repeat in program.repeats.items():
        yield f"repeat {name} up to {repeat.turns} times: turn {repeat.turn}, goes on {repeat.goes_on}{_conditionally(repeat)}"
    for call in program.calls:
        yield ""
        yield from (f"# {line}" for line in call.call.comment)
        if call.call.shape:
            yield f"shape {call.call.shape}"
        if call.call.within:
            yield f"within {', '.join(call.call.within)}"
        if call.call.when is not None:
            yield f"when {call.call.when.buffer} is {str(call.call.when.holds).lower()}"
        yield from _loop_call(call) if isinstance(call, LoopCall) else _template_call(call)


def _conditionally(repeat: Repeat) -> str:
    return " from the first on" if repeat.conditional else ""


def _buffer(buffer: Buffer) -> str:
    place = f" @ {buffer.address}" if buffer.address is not None else ""
    start = text(buffer.offset) if buffer.offset is not None else "0"
    view = f" in {buffer.parent} from {start}" if buffer.parent else ""
    below = f" below {text(buffer.below)}" if buffer.below is not None else ""
    return f"buffer {buffer.name} {buffer.dtype.value}[{text(buffer.size)}] {buffer.kind.value}{below}{view}{place}"


def _loop_call(call: LoopCall) -> Iterator[str]:
    yield f"loop {call.call.name}{' parallel' if call.parallel else ''}{f' outside {call.outside}' if call.outside else ''}"
    yield from _statements(call.body, 1)


def _template_call(call: TemplateCall) -> Iterator[str]:
    divided = f"items {text(call.items)}  scratch {call.scratch_bytes}  weights {call.packing or 'plain'}"
    yield f"kernel {call.call.name} = {call.slot or call.arguments.kernel}  {divided}"
    for key, value in vars(call.arguments).items():
        yield f"  {key} = {_argument(value)}"
    for chosen in call.chosen:
        tile = _facts(chosen.tile) if chosen.tile else ""
        yield f"  with {chosen.vocabulary}: {chosen.variant}{tile}{f'  multiple {chosen.multiple}' if chosen.multiple > 1 else ''}"
    if call.shading is not None:
        yield f"  shaded by {call.shading.form}{_facts(call.shading.tile)}"
        if call.shading.matrices is not None:
            yield f"  shaded by matrices{_facts(call.shading.matrices)}"


def _facts(tile: object) -> str:
    return "".join(f"  {key} {_facts(value).strip() if is_dataclass(value) else _tile(value)}" for key, value in vars(tile).items())


def _tile(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _argument(value: object) -> str:
    if isinstance(value, Window):
        return " ".join(f"{key} {_argument(item)}" for key, item in vars(value).items())
    if isinstance(value, Pointer):
        return f"{value.buffer}[{text(value.offset)}]"
    return text(value) if isinstance(value, Expr) else repr(value)


def _statements(statements: tuple[Statement, ...], depth: int) -> Iterator[str]:
    indent = "  " * depth
    for statement in statements:
        if isinstance(statement, For):
            start = f"{text(statement.start)} + " if statement.start is not None else ""
            yield f"{indent}for {statement.var.name} < {start}{text(statement.extent)}{' in lanes' if statement.lanes else ''}"
            yield from _statements(statement.body, depth + 1)
        elif isinstance(statement, Declare):
            kind = "var" if statement.mutable else "let"
            yield f"{indent}{kind} {statement.var.name}: {statement.var.dtype.value} = {text(statement.value)}"
        elif isinstance(statement, Assign):
            yield f"{indent}{statement.var.name} = {text(statement.value)}"
        else:
            yield f"{indent}{statement.buffer}[{text(statement.index)}] = {text(statement.value)}"


def text(e: Expr) -> str:
    """An expression, fully parenthesized within."""
    if isinstance(e, Const):
        return str(e.value)
    if isinstance(e, (Var, Size)):
        return e.name
    if isinstance(e, Unary):
        return f"{e.op}({text(e.a)})"
    if isinstance(e, Cast):
        return f"{e.dtype.value}({text(e.a)})"
    if isinstance(e, Load):
        return f"{e.buffer}[{text(e.index)}]"
    if isinstance(e, Select):
        return f"({text(e.condition)} ? {text(e.a)} : {text(e.b)})"
    assert isinstance(e, Binary)
    sign = _SIGNS.get(e.op)
    return f"({text(e.a)} {sign} {text(e.b)})" if sign else f"{e.op}({text(e.a)}, {text(e.b)})"
