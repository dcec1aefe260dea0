"""Every kernel call of a Program as one static C function `void NAME(const struct run *run, int32_t begin, int32_t end, void *scratch)`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields

from edgec.emit.addresses import address, pointer_declarations
from edgec.emit.c_text import comment, float_literal, identifier
from edgec.emit.look_ups import code_tables
from edgec.emit.loop_forms import LoopForm, forms_of, gains, is_side_by_side
from edgec.emit.ranges import of_call
from edgec.emit.render_c import HALVES, Scope, render, render_loop, render_statements
from edgec.ir.types import DType
from edgec.program.arguments import Arguments, Window, in_struct, is_pointer
from edgec.program.effort import effort
from edgec.program.expr import Binary, Const, Expr, Load, Size, Unary, Var, const, expr
from edgec.program.program import AnyCall, Assign, Declare, For, Kind, LoopCall, Pointer, Program, Store, TemplateCall, When
from edgec.program.turns import spans
from edgec.program.walk import statements, subexpressions
from edgec.targets import Target

NUMBERS_IN_A_LINE = 5  # of a layer
LONGEST_NAME = 56  # of a function; C99 tells 63 characters apart
NAMES_OF_THE_FUNCTION = frozenset({
    "run", "begin", "end", "scratch", "layer", "data", "activation", "block", "stop", "found", "found1", "found2",
})  # fmt: skip


@dataclass(frozen=True)
class Function:
    """One emitted function: its C name, text and forms, how many work items it has; where in the arena it tells of bad indices, or -1;

    where the bool is that must be `holds` for it to be called, or -1; for which set of shapes, or 0; and what comes behind it, where that
    is not always the next; and how much work it is.
    """

    name: str
    text: str
    items: Expr
    forms: tuple[LoopForm, ...]
    outside: int
    condition: int = -1
    holds: bool = True
    shape: int = 0
    jump: Jump | None = None
    work: int = 0


@dataclass(frozen=True)
class Jump:
    """Where a run goes on: at the call `on` where the int32 at that place in the arena is not 0, else at `off`."""

    address: int
    on: int
    off: int


def functions(program: Program, target: Target) -> list[Function]:
    """The calls of the Program in order; names are made unique."""
    taken = {port.identifier for port in program.ports} | {size.name for size in program.sizes}
    tables = code_tables(program, DType.INT8 if target.signed_activations else DType.UINT8)
    result, jumps = [], _jumps(program)
    for number, call in enumerate(program.calls):
        name = identifier(f"step_{call.call.name}"[:LONGEST_NAME], taken)
        taken.add(name)
        lines = _loop_call(program, call, tables) if isinstance(call, LoopCall) else _template_call(program, call)
        words = (
            "static void"
            if isinstance(call, TemplateCall)
            else "static SCALAR LOOP void"
            if is_float_island(program, call)
            else "static LOOP void"
        )
        head = f"{words} {name}(const struct run *run, int32_t begin, int32_t end, void *scratch) {{"
        text = "\n".join(filter(None, [comment(call.call.comment), head, *lines, "}"]))
        condition = _condition(program, call.call.when)
        forms, outside = _forms(program, call, target), _outside(program, call)
        result.append(
            Function(name, text, work_items(call), forms, outside, *condition, call.call.shape, jumps.get(number), effort(program, call))
        )
    return result


def _jumps(program: Program) -> dict[int, Jump]:
    """Behind the last call of each turn, and behind the one before the first where there may be no turn."""
    found = {}
    for name, span in spans(program).items():
        repeat = program.repeats[name]
        jump = Jump(_address(program, repeat.goes_on), span.first, span.end)
        found.update(dict.fromkeys([span.first - 1] * repeat.conditional + [span.end - 1], jump))
    return found


def _forms(program: Program, call: AnyCall, target: Target) -> tuple[LoopForm, ...]:
    if not isinstance(call, LoopCall) or not gains(call):
        return ()
    floats = any(map(_is_of_floats, subexpressions(call))) and is_side_by_side(call)
    return tuple(form for form in forms_of(target) if floats or not form.floats)


def _outside(program: Program, call: AnyCall) -> int:
    if not isinstance(call, LoopCall) or call.outside is None:
        return -1
    return _address(program, call.outside)


def _address(program: Program, name: str) -> int:
    address = program.buffers[name].address
    assert address is not None, "the Program is planned"
    return address


def _condition(program: Program, when: When | None) -> tuple[int, bool]:
    if when is None:
        return -1, True
    return _address(program, when.buffer), when.holds


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


def is_float_island(program: Program, call: AnyCall) -> bool:
    """Whether a loop computes with floats from memory or for memory; those inside of integer formulas are normal numbers."""
    if not isinstance(call, LoopCall):
        return False
    found = list(subexpressions(call))
    buffers = {item.buffer for item in found if isinstance(item, Load)} | set(call.call.writes)
    return any(map(_is_of_floats, found)) and any(program.buffers[name].dtype.is_float for name in buffers)


def _is_of_floats(item: Expr) -> bool:
    return isinstance(item, (Unary, Binary)) and item.dtype.is_float


def _with_sizes(program: Program, lines: list[str], names: dict[str, str]) -> list[str]:
    """The lines after local copies of the symbolic sizes that they read: so the compiler knows that no store changes them."""
    return [*(f"    const int32_t {names[name]} = {_size(program, name)};" for name in _names_in(lines, names)), *lines]


def _size(program: Program, name: str) -> str:
    """Where a size is during a run: among the arguments, or where a call has counted it."""
    if name not in program.counts:
        return f"run->size_{name}"
    return f"*{address(program, program.counts[name], const(0), 'const int32_t *', {})}"


def _names_in(lines: list[str], names: dict[str, str]) -> list[str]:
    """Which sizes the lines read."""
    text = re.sub(r"/\*.*?\*/", "", "\n".join(lines))
    return [name for name in sorted(names) if re.search(rf"\b{names[name]}\b", text)]


# Loop calls


def _loop_call(program: Program, call: LoopCall, tables: frozenset[str]) -> list[str]:
    nest = list(statements(call.body))
    found = list(subexpressions(call))
    variables = {item.var.name for item in nest if isinstance(item, (For, Declare))} | {
        item.name for item in found if isinstance(item, Var)
    }
    sizes = {item.name: identifier(item.name, variables) for item in found if isinstance(item, Size)}
    taken = NAMES_OF_THE_FUNCTION | variables | set(sizes.values())
    stored = list(dict.fromkeys(item.buffer for item in nest if isinstance(item, Store)))
    loaded = list(dict.fromkeys(item.buffer for item in found if isinstance(item, Load)))
    pointers, lines = pointer_declarations(program, stored, [name for name in loaded if name not in stored], sizes, taken)
    scope = Scope(
        pointers,
        sizes,
        frozenset(taken | set(pointers.values())),
        frozenset(item.var.name for item in nest if isinstance(item, Assign)),
        {name: HALVES[program.buffers[name].dtype] for name in pointers if program.buffers[name].dtype in HALVES},
        tables & set(loaded),
        of_call(program, call),
        constants=_unchanged(program, stored, [item for item in found if isinstance(item, Load)]),
    )
    loop = _split_loop(call)
    if loop is None:
        body, unused = list(render_statements(call.body, scope)), ["begin", "end", "scratch"]
    else:
        offset = "" if loop.start is None else f"{render(loop.start, scope)} + "
        body, unused = list(render_loop(loop, f"{offset}begin", f"{offset}end", scope, 1)), ["scratch"]
    return _with_sizes(program, [*lines, *(f"    (void){name};" for name in unused), *body], sizes)


def _unchanged(program: Program, stored: list[str], loads: list[Load]) -> frozenset[str]:
    """Buffers that do not change while a nest runs, whatever shares their memory: constants, and those that it reads at one place alone,
    which no result shares with what many iterations read."""
    written = {program.root(name) for name in stored}
    moving = {item.buffer for item in loads if not isinstance(item.index, Const)}
    return frozenset(
        item.buffer
        for item in loads
        if program.buffers[item.buffer].kind is Kind.CONSTANT or (item.buffer not in moving and program.root(item.buffer) not in written)
    )


# Template calls


def _template_call(program: Program, call: TemplateCall) -> list[str]:
    """A call of a kernel: the layer as a constant, unless sizes that are known at run time are in it, and beside it where its data lies."""
    kernel = f"{program.name}_{call.arguments.kernel}"
    sizes = {item.name: identifier(item.name, NAMES_OF_THE_FUNCTION) for item in subexpressions(call) if isinstance(item, Size)}
    layer, data = list(_layer(call.arguments, Scope({}, sizes))), list(_data(program, call.arguments, sizes))
    static = "const" if _names_in(layer, sizes) else "static const"
    lines = [
        *(f"    {static} struct {kernel} layer = {{", *layer, "    };"),
        *(f"    const struct {kernel}_data data = {{", *data, "    };"),
    ]
    return _with_sizes(program, [*lines, f"    run->kernels->{call.slot}(&layer, &data, begin, end, scratch);"], sizes)


def _layer(arguments: Arguments, scope: Scope) -> Iterator[str]:
    """The numbers of a layer in the order of its struct, a few to a line: C++ has designators from C++20 on only."""
    numbers = []
    for field in in_struct(arguments):
        value = getattr(arguments, field.name)
        if isinstance(value, Window):
            yield from _window(value, scope)
        elif not is_pointer(field):
            numbers.append((field.name, _number(value, field.metadata["c"], scope)))
    for place in range(0, len(numbers), NUMBERS_IN_A_LINE):
        names, texts = zip(*numbers[place : place + NUMBERS_IN_A_LINE], strict=True)
        yield f"        {', '.join(texts)}, /* {', '.join(names)} */"


def _number(value: Expr | float, c_type: str, scope: Scope) -> str:
    return float_literal(float(value)) if c_type == "float" and not isinstance(value, Expr) else render(expr(value), scope)


def _data(program: Program, arguments: Arguments, sizes: dict[str, str]) -> Iterator[str]:
    """Where the layer's tensors and weights lie."""
    for field in fields(arguments):
        if is_pointer(field):
            value: Pointer | None = getattr(arguments, field.name)
            if value is None:
                yield f"        NULL, {comment((field.name,))}"
            else:
                text = address(program, value.buffer, value.offset, field.metadata["c"], sizes)
                yield f"        {text}, {comment((f'{field.name}: {value.buffer}',))}"


def _window(window: Window, scope: Scope) -> Iterator[str]:
    """The geometry, a few members to a line."""
    groups = [
        ("batch", "in_height", "in_width", "in_pixel_stride"),
        ("out_height", "out_width", "out_pixel_stride"),
        ("kernel_height", "kernel_width", "stride_height", "stride_width"),
        ("dilation_height", "dilation_width", "pad_top", "pad_left"),
    ]
    assert [name for group in groups for name in group] == [field.name for field in fields(window)], "the struct has this order"
    yield "        {"
    for group in groups:
        yield f"            {', '.join(render(expr(getattr(window, name)), scope) for name in group)}, /* {', '.join(group)} */"
    yield "        },"
