"""The law that no call of a Program leaves its memory, proven for every load and store on every build.

What a proof is missing for is a mistake of the lowering, found before anything is emitted: the indices of a model that are known only
when it runs are brought into their range by calls of their own (lower/indices.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edgec.program.arguments import LANES, Size, Window
from edgec.program.attention import PackInt8, ProductInt8Float, SoftmaxInt8, panel_depth
from edgec.program.bounds import Facts, Scope, assumed
from edgec.program.expr import Binary, Cast, Const, Expr, Load, Select, Unary, expr
from edgec.program.kernels import (
    TEMPLATES,
    ConvFloat,
    ConvInt8,
    ConvInt8Any,
    ConvInt8Float,
    ConvInt8Function,
    DepthwiseFloat,
    DepthwiseInt8,
    PoolAverageInt8,
    RowsCodes8,
    code_rows,
)
from edgec.program.polynomial import Polynomial, number
from edgec.program.program import Assign, Buffer, Declare, For, Kind, LoopCall, Pointer, Program, Statement, Store, TemplateCall
from edgec.program.text import text
from edgec.program.wide import ConvInt16, DepthwiseInt16

LARGEST = 2**31 - 1  # that an index, an int32_t, can be


class OutOfMemory(Exception):
    """An access of which nobody has proven that it lies inside its buffer."""


def prove_memory(program: Program) -> None:
    """OutOfMemory with every access that may lie outside."""
    problems = list(_views(program))
    for call in program.calls:
        found = _loop_call(program, call) if isinstance(call, LoopCall) else _template_call(program, call)
        problems += [f"{call.call.name}: {problem}" for problem in found]
    if problems:
        raise OutOfMemory("; ".join(problems))


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
            stack.append((item.index, facts))
        elif isinstance(item, Select):
            stack.append((item.condition, facts))
            stack += [(side, (*facts, *assumed(scope, item.condition, holds))) for side, holds in ((item.a, True), (item.b, False))]
        elif isinstance(item, Binary):
            stack += [(item.a, facts), (item.b, facts)]
        elif isinstance(item, (Unary, Cast)):
            stack.append((item.a, facts))


def _access(scope: Scope, buffer: str, index: Expr, facts: Facts) -> Iterator[str]:
    place, size = scope.of(index), scope.of(scope.buffers[buffer].size)
    if not scope.never_negative(place, facts) or not scope.never_negative(size - place - number(1), facts):
        yield f"{buffer}[{text(index)}] may lie outside of its {text(scope.buffers[buffer].size)} elements"


# Template kernels, by what program/kernels.py says of each


def _template_call(program: Program, call: TemplateCall) -> Iterator[str]:
    scope, arguments = Scope(program.buffers), call.arguments
    kernel = TEMPLATES[type(arguments)]
    for name, elements in _reach(scope, arguments):
        pointer: Pointer | None = getattr(arguments, name)
        if pointer is None:
            continue
        buffer: Buffer = program.buffers[pointer.buffer]
        offset = scope.of(pointer.offset)
        if not scope.never_negative(offset) or not scope.never_negative(scope.of(buffer.size) - offset - elements):
            yield f"{kernel} reaches outside of {pointer.buffer}"
        if name == "x" and _reads_past(program, arguments) and _root(program, buffer).kind is not Kind.ARENA:
            yield f"{kernel} reads past the channels of {pointer.buffer}, which only the arena tolerates"


def _reads_past(program: Program, arguments: object) -> bool:
    """Whether a kernel reads more than a pixel's channels: where its packed weights have more."""
    if isinstance(arguments, ProductInt8Float):
        inner = arguments.in_channels
        return not isinstance(inner, (int, Const)) or panel_depth(arguments) != int(inner.value if isinstance(inner, Const) else inner)
    if not isinstance(arguments, (ConvInt8, ConvInt8Float, ConvInt8Function)):
        return False
    lanes = arguments.groups * -(-arguments.out_channels // LANES) * LANES
    taps = arguments.window.kernel_height * arguments.window.kernel_width
    return program.buffers[arguments.weights.buffer].max_bytes != lanes * taps * arguments.in_channels


def _root(program: Program, buffer: Buffer) -> Buffer:
    while buffer.parent is not None:
        buffer = program.buffers[buffer.parent]
    return buffer


def _reach(scope: Scope, arguments: object) -> Iterator[tuple[str, Polynomial]]:
    """How many elements from its pointer on a kernel may touch, by argument."""

    def value(name: str) -> int:
        return int(getattr(arguments, name))

    if isinstance(arguments, RowsCodes8):
        yield from _rows(scope, arguments)
        return
    if isinstance(arguments, SoftmaxInt8):
        whole = scope.of(expr(arguments.rows)) * scope.of(expr(arguments.columns))
        yield from (("x", whole), ("y", whole), ("table", number(256)))
        return
    if isinstance(arguments, (PackInt8, ProductInt8Float)):
        yield from (_packing(scope, arguments) if isinstance(arguments, PackInt8) else _products(scope, arguments))
        return
    window: Window = arguments.window  # type: ignore[attr-defined]
    taps = window.kernel_height * window.kernel_width
    dense = isinstance(arguments, (ConvInt8, ConvInt8Float, ConvInt8Function, ConvInt8Any, ConvInt16, ConvFloat))
    inputs = value("groups") * value("in_channels") if dense else value("channels")
    outputs = value("groups") * value("out_channels") if dense else value("channels")
    yield "x", _pixels(scope, window.batch, window.in_height, window.in_width, window.in_pixel_stride, inputs)
    yield "y", _pixels(scope, window.batch, window.out_height, window.out_width, window.out_pixel_stride, outputs)
    if isinstance(arguments, (ConvInt8, ConvFloat)):
        yield "residual", _pixels(scope, window.batch, window.out_height, window.out_width, arguments.residual_pixel_stride, outputs)
    if isinstance(arguments, (ConvInt8, ConvInt8Float, ConvInt8Function, ConvInt16, ConvFloat)):
        lanes = value("groups") * -(-value("out_channels") // LANES) * LANES
        pairs = isinstance(arguments, ConvInt16)
        yield "weights", number(lanes * taps * (-(-value("in_channels") // 2) * 2 if pairs else value("in_channels")))
        yield "bias", number(lanes)
        if not isinstance(arguments, ConvFloat):
            yield "scale", number(lanes)
    elif isinstance(arguments, ConvInt8Any):
        yield "weights", number(outputs * taps * value("in_channels"))
        yield from (("bias", number(outputs)), ("scale", number(outputs)))
    elif isinstance(arguments, (DepthwiseInt8, DepthwiseInt16, DepthwiseFloat)):
        lanes = -(-outputs // LANES) * LANES
        yield from (("weights", number(lanes * taps)), ("bias", number(lanes)))
        if not isinstance(arguments, DepthwiseFloat):
            yield "scale", number(lanes)
    elif isinstance(arguments, PoolAverageInt8):
        yield "scale", number(taps + 1)


def _rows(scope: Scope, a: RowsCodes8) -> Iterator[tuple[str, Polynomial]]:
    """The same of a product of rows with codes."""
    w, panels = a.window, -(-a.out_channels // LANES)
    rows, groups = code_rows(a), panels * -(-a.in_channels // a.group) * LANES
    yield "x", _pixels(scope, w.batch, w.in_height, w.in_width, w.in_pixel_stride, a.in_channels)
    yield "y", _pixels(scope, w.batch, w.out_height, w.out_width, w.out_pixel_stride, a.out_channels)
    yield "residual", _pixels(scope, w.batch, w.out_height, w.out_width, a.residual_pixel_stride, a.out_channels)
    yield "weights", number(panels * rows * LANES)
    yield from (("scale", number(groups)), ("offset", number(groups)), ("bias", number(panels * LANES)))


def _packing(scope: Scope, a: PackInt8) -> Iterator[tuple[str, Polynomial]]:
    """The same of matrices that are packed."""
    axes = [(a.outer, a.outer_stride), (a.inner, a.inner_stride), (a.in_channels, a.k_stride), (a.out_channels, a.n_stride)]
    yield "x", _strided(scope, axes, 1)
    yield "y", scope.of(expr(a.outer)) * scope.of(expr(a.inner)) * scope.of(expr(a.panels)) * scope.of(expr(a.panel_bytes))


def _products(scope: Scope, a: ProductInt8Float) -> Iterator[tuple[str, Polynomial]]:
    """The same of products of pairs."""
    yield "x", _strided(scope, [(a.outer, a.x_outer_stride), (a.inner, a.x_inner_stride), (a.rows, a.x_row_stride)], a.in_channels)
    yield "y", _strided(scope, [(a.outer, a.y_outer_stride), (a.inner, a.y_inner_stride), (a.rows, a.y_row_stride)], a.out_channels)
    matrix = expr(a.panels) * a.panel_bytes
    yield "weights", _strided(scope, [(a.outer, a.weights_outer_stride), (a.inner, a.weights_inner_stride)], matrix)


def _strided(scope: Scope, axes: Sequence[tuple[Size, Size]], last: Size) -> Polynomial:
    """One past the last element of `last` neighbours at the end of axes of these sizes and strides."""
    total = scope.of(expr(last))
    for size, stride in axes:
        total = total + (scope.of(expr(size)) - number(1)) * scope.of(expr(stride))
    return total


def _pixels(scope: Scope, batch: Size, height: Size, width: Size, stride: Size, channels: int) -> Polynomial:
    sides = [scope.of(expr(item)) for item in (batch, height, width)]
    return (sides[0] * sides[1] * sides[2] - number(1)) * scope.of(expr(stride)) + number(channels)
