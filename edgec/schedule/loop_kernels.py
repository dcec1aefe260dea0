"""Which loops a kernel computes instead: where compilers make little of them, and nobody counts on the same bits everywhere."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from math import sqrt

from edgec.ir.types import DType
from edgec.kernels import FunctionFloat, GeluFloat, SwishFloat
from edgec.program.expr import FLOAT, Binary, Cast, Const, Expr, Load, Unary, Var, const, expr, load, real, unary
from edgec.program.linear_index import linear
from edgec.program.program import AnyCall, Buffer, Declare, For, Kind, LoopCall, Pointer, Program, Store, TemplateCall
from edgec.program.walk import distinct, roots
from edgec.schedule.nests import nest_of
from edgec.targets import Target

ARCH = "x86_64"  # where that was measured
CODES = frozenset({DType.INT8, DType.UINT8, DType.INT16, DType.UINT16})


@dataclass(frozen=True)
class Rows:
    """Elements of a buffer: from `offset` on, one beside the other in rows, which are `stride` apart."""

    pointer: Pointer
    stride: int


@dataclass(frozen=True)
class Nest:
    """A loop over columns, or over rows of these, that reads one number, `load`, and stores another, which depends on it."""

    row: For | None
    column: For
    read: Declare
    load: Load
    store: Store


def with_kernels(program: Program, target: Target) -> Program:
    """`program`, in which kernels of functions are called in place of loops that are nothing else, but for a residual.

    Where a loop also turns rows into columns, the kernel's result is a buffer of its own, which a loop turns then.
    Not where codes are computed, which are the same on every processor, nor for a GPU, which has no shader of it.
    """
    if target.arch != ARCH or target.gpu or _has_codes(program):
        return program
    found = replace(program, calls=[], buffers=dict(program.buffers))
    names = {call.call.name for call in program.calls}
    for call in program.calls:
        found.calls += _kernel_of(call) or _turned(call, found, names) or [call]
    return found


def _has_codes(program: Program) -> bool:
    """Whether codes are stored; or made, and taken for numbers again in the same loop."""
    if any(buffer.dtype.bytes < 4 and not buffer.dtype.is_float for buffer in program.buffers.values() if buffer.kind is not Kind.CONSTANT):
        return True
    loops = (call for call in program.calls if isinstance(call, LoopCall))
    return any(isinstance(item, Cast) and item.dtype in CODES for call in loops for item in distinct(roots(call.body)))


def _kernel_of(call: AnyCall) -> list[AnyCall]:
    """The call of a kernel that does what a loop does, or none."""
    nest = _nest(call)
    kernel, residual = _terms(nest.store.value, nest.read.var) if nest else (None, None)
    if nest is None or kernel is None:
        return []
    places: list[Load | Store] = [nest.load, *([residual] if residual is not None else []), nest.store]
    found = [_rows(place.buffer, place.index, nest.row, nest.column) for place in places]
    rows = [item for item in found if item is not None]
    if len(rows) != len(found):
        return []
    x, y, added = rows[0], rows[-1], rows[1] if residual is not None else None
    columns, count = nest.column.extent, nest.column.extent if nest.row is None else nest.row.extent * nest.column.extent
    arguments = kernel(
        x.pointer, added.pointer if added else None, y.pointer, count, columns, x.stride, added.stride if added else 0, y.stride
    )
    return [TemplateCall(call.call, arguments)]


def _turned(call: AnyCall, program: Program, names: Collection[str]) -> list[AnyCall]:
    """The same of a function of a matrix whose rows become columns, or none: `program` gets the buffer between both calls.

    names: of all calls.
    """
    nest = _nest(call)
    kernel = _function(nest.store.value, nest.read.var) if nest else None
    if nest is None or nest.row is None or kernel is None:
        return []
    row, column = nest.column, nest.row  # of what is read
    x, y = _rows(nest.load.buffer, nest.load.index, row, column), _rows(nest.store.buffer, nest.store.index, column, row)
    if x is None or y is None or not isinstance(column.extent, Const):
        return []
    name = f"{nest.store.buffer}_in_rows"
    while name in program.buffers or f"{name}_call" in names:
        name += "_"
    count, place = row.extent * column.extent, row.var * column.extent + column.var
    program.buffers[name] = Buffer(name, FLOAT, expr(count), Kind.ARENA)
    arguments = kernel(x.pointer, None, Pointer(name, const(0)), count, column.extent, x.stride, 0, int(column.extent.value))
    body = (replace(nest.read, value=load(name, place, FLOAT)), replace(nest.store, value=nest.read.var))
    computed = replace(call.call, name=f"{name}_call", writes=(name,))
    moved = replace(call.call, nodes=(), comment=(f"{name}, its rows as columns",), reads=(name,), macs=0)
    return [TemplateCall(computed, arguments), LoopCall(moved, (replace(column, body=(replace(row, body=body),)),), True)]


def _nest(call: AnyCall) -> Nest | None:
    """What a loop is that does no more."""
    loops, body = nest_of(call)
    if len(loops) not in (1, 2) or len(body) != 2:
        return None
    read, store = body
    if not isinstance(read, Declare) or not isinstance(store, Store) or not isinstance(read.value, Load) or read.var.dtype is not FLOAT:
        return None
    return Nest(loops[0] if len(loops) == 2 else None, loops[-1], read, read.value, store)


def _terms(value: Expr, x: Var) -> tuple[type[FunctionFloat] | None, Load | None]:
    """The kernel of the function of x that is a value, or that a number from memory is added to, and that number."""
    if isinstance(value, Binary) and value.op == "add":
        for function, other in ((value.a, value.b), (value.b, value.a)):
            kernel = _function(function, x)
            if isinstance(other, Load) and other.dtype is FLOAT and kernel is not None:
                return kernel, other
    return _function(value, x), None


def _function(value: Expr, x: Var) -> type[FunctionFloat] | None:
    """The kernel of x * sigmoid(x), or of Gelu in its exact form."""
    sides = (value.a, value.b) if isinstance(value, Binary) and value.op == "mul" else ()
    if x in sides and any(isinstance(side, Unary) and side.op == "sigmoid" and side.a == x for side in sides):
        return SwishFloat
    gelu = (x * 0.5) * (1.0 + unary("erf", x * real(sqrt(0.5))))
    return GeluFloat if value == gelu else None


def _rows(buffer: str, index: Expr, row: For | None, column: For) -> Rows | None:
    """The elements that an index walks over, column by column; None where it walks otherwise."""
    if row is None and index == column.var:
        return Rows(Pointer(buffer, const(0)), 0)
    terms = linear(index)
    walked = {column.var, *([row.var] if row else [])}
    if terms is None or not walked >= terms.factors.keys() or terms.factors.get(column.var) != 1:
        return None
    return Rows(Pointer(buffer, expr(terms.constant)), terms.factors.get(row.var, 0) if row else 0)
