"""Which loops a kernel computes instead: where compilers make little of them, and nobody counts on the same bits everywhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

from edgec.kernels import FunctionFloat, GeluFloat, SwishFloat
from edgec.program.expr import FLOAT, Binary, Expr, Load, Unary, Var, const, expr, real, unary
from edgec.program.linear_index import linear
from edgec.program.program import AnyCall, Declare, For, Kind, LoopCall, Pointer, Program, Store, TemplateCall
from edgec.targets import Target

ARCH = "x86_64"  # where that was measured


@dataclass(frozen=True)
class Rows:
    """Elements of a buffer: from `offset` on, one beside the other in rows, which are `stride` apart."""

    pointer: Pointer
    stride: int


def with_kernels(program: Program, target: Target) -> Program:
    """`program`, in which kernels of functions are called in place of loops that are nothing else, but for a residual.

    Not where codes are computed, which are the same on every processor, nor for a GPU, which has no shader of it.
    """
    kinds = {buffer.dtype for buffer in program.buffers.values() if buffer.kind is not Kind.CONSTANT}
    codes = any(kind.bytes < 4 and not kind.is_float for kind in kinds)
    if target.arch != ARCH or target.gpu or codes:
        return program
    return replace(program, calls=[_kernel_of(call) or call for call in program.calls])


def _kernel_of(call: AnyCall) -> TemplateCall | None:
    """The call of a kernel that does what a loop does."""
    nest = _nest(call)
    if nest is None:
        return None
    row, column, (read, store) = nest
    if not isinstance(read, Declare) or not isinstance(store, Store) or not isinstance(read.value, Load) or read.var.dtype is not FLOAT:
        return None
    kernel, residual = _terms(store.value, read.var)
    if kernel is None:
        return None
    places: list[Load | Store] = [read.value, *([residual] if residual is not None else []), store]
    found = [_rows(place.buffer, place.index, row, column) for place in places]
    rows = [item for item in found if item is not None]
    if len(rows) != len(found):
        return None
    x, y, added = rows[0], rows[-1], rows[1] if residual is not None else None
    columns, count = column.extent, column.extent if row is None else row.extent * column.extent
    arguments = kernel(
        x.pointer, added.pointer if added else None, y.pointer, count, columns, x.stride, added.stride if added else 0, y.stride
    )
    return TemplateCall(call.call, arguments)


def _nest(call: AnyCall) -> tuple[For | None, For, tuple[object, object]] | None:
    """(rows, columns, two statements) of a loop that is no more than these."""
    if not isinstance(call, LoopCall) or not call.parallel or call.outside is not None:
        return None
    loops, body = list[For](), call.body
    while len(body) == 1 and isinstance(body[0], For) and body[0].start is None and len(loops) < 2:
        loops.append(body[0])
        body = body[0].body
    if not loops or len(body) != 2:
        return None
    return loops[0] if len(loops) == 2 else None, loops[-1], (body[0], body[1])


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
