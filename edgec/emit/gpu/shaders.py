"""Every call of a Program as a compute shader, or the reason why it runs on the CPU."""

from __future__ import annotations

from dataclasses import replace

from edgec.emit.gpu.dialect import Dialect
from edgec.emit.gpu.kernels_float import float_shader
from edgec.emit.gpu.kernels_int8 import int8_shader
from edgec.emit.gpu.loops import loop_shader
from edgec.emit.gpu.render import NoShaderForm
from edgec.emit.gpu.shader import Shader
from edgec.ir.types import DType
from edgec.kernels import ConvInt16, DepthwiseInt16, LayerNormInt8, PackInt8, ProductInt8Float, SoftmaxInt8
from edgec.program.expr import Cast, Expr, Unary
from edgec.program.halves import NO_HALVES, Halves
from edgec.program.program import AnyCall, Kind, LoopCall, Program
from edgec.program.regions import places
from edgec.program.turns import spans
from edgec.program.views import views_of
from edgec.program.walk import subexpressions, walk
from edgec.targets import Target

_CODES = (DType.INT8, DType.UINT8)


def shaders(program: Program, target: Target, dialect: Dialect) -> tuple[Shader | None, ...]:
    """The shader of each call of a planned Program; None where it runs on the CPU, for which placement.place has the reason."""
    return tuple(found if isinstance(found, Shader) else None for found in shaders_or_reasons(program, target, dialect))


def shaders_or_reasons(program: Program, target: Target, dialect: Dialect, halves: Halves = NO_HALVES) -> tuple[Shader | str, ...]:
    """For each call its shader, or why it has none, as a phrase ("computes with int64"). halves: what is stored in 16 bits."""
    if not target.gpu:
        raise ValueError(f"{target.name} has no GPU: nobody chose tiles for its shaders, or packed weights as they read them")
    if dialect.signed_activations != target.signed_activations:
        raise ValueError("the dialect reads activations otherwise than the target stores them")
    if program.sizes:
        return ("has symbolic sizes",) * len(program.calls)
    where, exact = places(program, halves), floats_are_exact(program)
    repeated = {index for span in spans(program).values() for index in range(span.first - 1, span.end)}

    def one(index: int, call: AnyCall) -> Shader | str:
        if index in repeated:
            return "runs in the turns of a loop"
        try:
            if isinstance(call, LoopCall):
                return loop_shader(program, index, call, where, dialect, exact)
            if isinstance(call.arguments, (ConvInt16, DepthwiseInt16)):
                return "multiplies codes of 16 bits"
            if isinstance(call.arguments, (PackInt8, ProductInt8Float, SoftmaxInt8, LayerNormInt8)):
                return "attention in codes"
            return (
                int8_shader(program, index, call, dialect)
                or float_shader(program, index, call, dialect, halves)
                or "needs more workgroups than every GPU has"
            )
        except NoShaderForm as reason:
            return str(reason)

    def placed(index: int, call: AnyCall) -> Shader | str:
        found = one(index, call)
        if isinstance(found, str) or not any(views.in_place for views in views_of(program, index, where, halves)):
            return found
        return replace(found, source=dialect.in_place(found.source))

    return tuple(placed(index, call) for index, call in enumerate(program.calls))


def floats_are_exact(program: Program) -> bool:
    """Whether the INT8 contract says which bits the Program's floats have: it has 8-bit kernels, tensors or results."""
    if any(port.scale is not None for port in (*program.inputs, *program.outputs)):
        return True
    if any(buffer.dtype in _CODES and buffer.kind is Kind.ARENA for buffer in program.buffers.values()):
        return True
    return any(_quantizes(part) for call in program.calls for part in subexpressions(call))


def _quantizes(item: Expr) -> bool:
    """Whether it makes a code of a float."""
    return (
        item.dtype in (*_CODES, DType.INT16)
        and isinstance(item, Cast)
        and any(isinstance(part, Unary) and part.op == "rint" for part in walk(item))
    )
