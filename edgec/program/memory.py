"""The law that no call of a Program leaves its memory, proven for every load and store on every build.

What a proof is missing for is a mistake of the lowering, found before anything is emitted: the indices of a model that are known only
when it runs are brought into their range by calls of their own (lower/indices.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edgec.base.budget import check_time
from edgec.base.errors import ModelError, Problem
from edgec.program.bounds import Facts, Scope, TooLong, assumed
from edgec.program.expr import Expr, Load, Select, expr
from edgec.program.polynomial import number
from edgec.program.program import AnyCall, Assign, Buffer, Declare, For, Kind, LoopCall, Pointer, Program, Statement, Store, TemplateCall
from edgec.program.text import text
from edgec.program.titles import titles
from edgec.program.walk import children

_SPLIT = "let a layer that computes stand between the nodes that move data, or build two models"
LARGEST = 2**31 - 1  # that an index, an int32_t, can be


class OutOfMemory(Exception):
    """An access of which nobody has proven that it lies inside its buffer."""


def prove_memory(program: Program) -> None:
    """OutOfMemory with every access that may lie outside; ModelError for a call whose proof takes too long, BudgetError when time is up."""
    problems = list(_views(program))
    for call, title in zip(program.calls, titles(program), strict=True):
        check_time(title)
        try:
            problems += [f"{title}: {problem}" for problem in unproven(program, call)]
        except TooLong as error:
            what = "what it reads lies behind so many divisions of divisions that nothing proves where that is"
            raise ModelError("a call cannot be proven to keep to its memory", [Problem(what, title, _SPLIT)]) from error
    if problems:
        raise OutOfMemory("; ".join(problems))


def unproven(program: Program, call: AnyCall) -> Iterator[str]:
    """The accesses of a call that may lie outside."""
    return _loop_call(program, call) if isinstance(call, LoopCall) else _template_call(program, call)


def _views(program: Program) -> Iterator[str]:
    for buffer in program.buffers.values():
        if buffer.parent is not None:
            scope, parent = Scope(program.buffers), program.buffers[buffer.parent]
            offset = expr(0) if buffer.offset is None else buffer.offset
            unit = buffer.dtype.bytes
            room = scope.of(parent.size).scaled(parent.dtype.bytes) - (scope.of(offset) + scope.of(buffer.size)).scaled(unit)
            if not scope.never_negative(scope.of(offset)) or not scope.never_negative(room):
                yield f"{buffer.name} is no part of {buffer.parent}"


# Loops


def _loop_call(program: Program, call: LoopCall) -> Iterator[str]:
    yield from _statements(Scope(program.buffers), call.body)


def _statements(scope: Scope, body: Sequence[Statement]) -> Iterator[str]:
    changed = {item.var.name for item in body if isinstance(item, Assign)}
    for item in body:
        if isinstance(item, For):
            yield from _expression(scope, item.extent)
            if item.start is not None:
                yield from _expression(scope, item.start)
            inner = scope.inner()
            if inner.interval(inner.enter(item) + number(1))[1] > LARGEST:
                yield f"{item.var.name} does not fit an int32_t"
            yield from _statements(inner, item.body)
        elif isinstance(item, Store):
            yield from _access(scope, item.buffer, item.index, ())
            yield from _expression(scope, item.index)
            yield from _expression(scope, item.value)
            yield from _places(scope, item)
        else:
            yield from _expression(scope, item.value)
            if isinstance(item, Declare) and not item.mutable and item.var.name not in changed and not item.var.dtype.is_float:
                scope.variables[item.var.name] = scope.of(item.value)


def _places(scope: Scope, item: Store) -> Iterator[str]:
    """What is stored among places is one."""
    below = scope.buffers[item.buffer].below
    if below is None:
        return
    value = scope.of(item.value)
    if not scope.never_negative(value) or not scope.never_negative(scope.of(below) - value - number(1)):
        yield f"{item.buffer} gets {text(item.value)}, which is not below {text(below)}"


def _expression(scope: Scope, root: Expr) -> Iterator[str]:
    """The loads of an expression, each under the conditions on which it is done."""
    seen: dict[tuple[int, int], Facts] = {}  # which keeps the facts, and so their identity
    nothing: Facts = ()
    stack = [(root, nothing)]
    while stack:
        item, facts = stack.pop()
        if (id(item), id(facts)) in seen:
            continue
        seen[id(item), id(facts)] = facts
        if isinstance(item, Load):
            yield from _access(scope, item.buffer, item.index, facts)
        if isinstance(item, Select):
            stack.append((item.condition, facts))
            stack += [(side, (*facts, *assumed(scope, item.condition, holds))) for side, holds in ((item.a, True), (item.b, False))]
        else:
            stack += [(operand, facts) for operand in children(item)]


def _access(scope: Scope, buffer: str, index: Expr, facts: Facts) -> Iterator[str]:
    place, size = scope.of(index), scope.of(scope.buffers[buffer].size)
    if not scope.never_negative(place, facts) or not scope.never_negative(size - place - number(1), facts):
        yield f"{buffer}[{text(index)}] may lie outside of its {text(scope.buffers[buffer].size)} elements"


# Template kernels, by what each says of itself


def _template_call(program: Program, call: TemplateCall) -> Iterator[str]:
    scope, arguments = Scope(program.buffers), call.arguments
    reach = {name: expr(elements) for name, elements in {**arguments.reach(), **dict(call.packed)}.items()}
    past = arguments.reads_past(lambda name: program.buffers[name].max_bytes)
    for name, elements in reach.items():
        pointer: Pointer | None = getattr(arguments, name)
        if pointer is None:
            continue
        buffer: Buffer = program.buffers[pointer.buffer]
        offset = scope.of(pointer.offset)
        if not scope.never_negative(offset) or not scope.never_negative(scope.of(buffer.size) - offset - scope.of(elements)):
            yield f"{arguments.kernel} reaches outside of {pointer.buffer}"
        if name == "x" and past and program.buffers[program.root(buffer.name)].kind is not Kind.ARENA:
            yield f"{arguments.kernel} reads past the channels of {pointer.buffer}, which only the arena tolerates"
