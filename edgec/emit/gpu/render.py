"""Scalar expressions and statements as shader text, good GLSL and good MSL, with the meaning that render_c gives them in C.

Values are float, int, uint, bool, or wide: two words, for 64-bit integers, and for float64, which is only moved.
Integer arithmetic wraps, by functions of the preludes where ranges do not show that nothing overflows (MSL leaves that open).
In exact mode float arithmetic rounds to nearest even on every device, one operation at a time.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from edgec.emit.gpu.reserved import RESERVED
from edgec.emit.ranges import NOTHING, Known, before_wrap, fits, is_number, range_of
from edgec.ir.types import DType
from edgec.program.expr import Binary, Cast, Const, Expr, Load, Select, Unary, Var, binary, cast
from edgec.program.lanes import LANES, totals
from edgec.program.program import Assign, Declare, For, Statement, Store
from edgec.program.regions import Place

INDENT = "    "
_ATOM, _UNARY, _SELECT = 20, 16, 2
_INFIX = {
    "mul": ("*", 14), "div": ("/", 14), "floordiv": ("/", 14), "mod": ("%", 14), "add": ("+", 13), "sub": ("-", 13),
    "lt": ("<", 10), "le": ("<=", 10), "eq": ("==", 9), "and": ("&", 8), "xor": ("^", 7), "or": ("|", 6),
}  # fmt: skip
_LOGICAL = {"and": ("&&", 4), "or": ("||", 3), "xor": ("!=", 9)}
_WRAPS = {DType.INT8: "wrap_s8", DType.UINT8: "wrap_u8", DType.INT16: "wrap_s16", DType.UINT16: "wrap_u16"}
_LOADS = {
    DType.FLOAT32: "load_f32", DType.FLOAT16: "load_f16", DType.BFLOAT16: "load_bf16",
    DType.INT32: "load_i32", DType.UINT32: "load_u32", DType.INT8: "load_s8",
    DType.UINT8: "load_u8", DType.BOOL: "load_u8", DType.INT16: "load_s16", DType.UINT16: "load_u16",
    DType.INT64: "load_wide", DType.UINT64: "load_wide", DType.FLOAT64: "load_wide",
}  # fmt: skip
_STORES = {
    DType.FLOAT32: "store_f32", DType.FLOAT16: "store_f16", DType.BFLOAT16: "store_bf16",
    DType.INT32: "store_i32", DType.UINT32: "store_u32", DType.INT8: "store_8",
    DType.UINT8: "store_8", DType.BOOL: "store_8", DType.INT16: "store_16", DType.UINT16: "store_16",
    DType.INT64: "store_wide", DType.UINT64: "store_wide", DType.FLOAT64: "store_wide",
}  # fmt: skip
_FUNCTIONS = {
    "exp": "exp_f", "log": "log_f", "sqrt": "sqrt_f", "tanh": "tanh_f", "erf": "erf_f", "sigmoid": "sigmoid_f", "sin": "sin_f",
    "cos": "cos_f", "floor": "floor", "ceil": "ceil", "rint": "rint_even", "abs": "abs_f",
}  # fmt: skip
_ROUNDED = {DType.FLOAT16: "half_to_float(float_to_half({}))", DType.BFLOAT16: "bfloat_to_float(float_to_bfloat({}))"}
_EXACT = 1 << 24  # up to here, integers are floats
_WITH_ITSELF = {"sub": "less_itself", "div": "over_itself"}  # compilers take the result for what it is of most numbers
INEXACT = {"exp", "log", "sqrt", "tanh", "erf", "sigmoid", "sin", "cos", "div", "pow"}  # float operations that GPUs round as they like


class NoShaderForm(ValueError):
    """Why an expression stays on the CPU, as a phrase."""


@dataclass
class Scope:
    """How a call's memory and values are spelled; `given` holds expressions that have a name already."""

    places: Mapping[str, Place]
    dtypes: Mapping[str, DType]
    exact: bool = False
    given: dict[Expr, str] = field(default_factory=dict)
    ranges: Known = field(default_factory=lambda: NOTHING)  # of the loops' variables


def name_of(variable: str) -> str:
    return f"{variable}_" if variable in RESERVED or variable.startswith("gl_") or "__" in variable else variable


def literal(value: float | bool, dtype: DType) -> str:
    """A constant. Nine digits say a float exactly; its bits do where there is no decimal form, or where a compiler might flush it."""
    if dtype is DType.BOOL:
        return "true" if value else "false"
    if dtype.bytes == 8:
        low, high = struct.unpack("<II", struct.pack({DType.FLOAT64: "<d", DType.INT64: "<q"}.get(dtype, "<Q"), value))
        return f"wide({low}u, {high}u)"
    if not dtype.is_float:
        number = int(value)
        return f"{number}u" if dtype is DType.UINT32 else "int(0x80000000u)" if number == -(2**31) else str(number)
    real = np.float32(value)
    if not math.isfinite(real) or 0 < abs(real) < np.finfo(np.float32).tiny:
        return f"float_of(0x{0x7FC00000 if math.isnan(real) else int(real.view(np.uint32)):08x}u)"
    text = min((f"{real:.9g}", repr(float(real))), key=len)
    assert np.float32(float(text)) == real, text
    return f"{text}f" if any(mark in text for mark in ".e") else f"{text}.0f"


def render(item: Expr, scope: Scope) -> str:
    """The expression, with no parentheses around it."""
    return _render(item, scope)[0]


def _render(item: Expr, scope: Scope) -> tuple[str, int]:
    if item in scope.given:
        return scope.given[item], _ATOM
    if type(item) not in _WRITERS:
        raise NoShaderForm("has symbolic sizes")
    return _WRITERS[type(item)](item, scope)


def _at(item: Expr, scope: Scope, precedence: int) -> str:
    text, own = _render(item, scope)
    return text if own >= precedence else f"({text})"


def _const(item: Const, scope: Scope) -> tuple[str, int]:
    text = literal(item.value, item.dtype)
    return text, _UNARY if text.startswith("-") else _ATOM


def _var(item: Var, scope: Scope) -> tuple[str, int]:
    return name_of(item.name), _ATOM


def element(buffer: str, index: Expr, scope: Scope) -> tuple[str, Expr]:
    """(region, index from the region's start) of an element."""
    place, size = scope.places[buffer], scope.dtypes[buffer].bytes
    assert place.offset % size == 0, f"{buffer} lies at byte {place.offset}"
    return place.region, binary("add", index, place.offset // size)


def _load(item: Load, scope: Scope) -> tuple[str, int]:
    region, index = element(item.buffer, item.index, scope)
    text = f"{_LOADS[item.dtype]}({region}, {render(index, scope)})"
    return (f"{text} != 0", 9) if item.dtype is DType.BOOL else (text, _ATOM)


def _unary(item: Unary, scope: Scope) -> tuple[str, int]:
    if item.op == "bits":
        raise NoShaderForm(f"takes the bits of {item.a.dtype.value}")
    if item.dtype.bytes == 8:
        if item.dtype is DType.FLOAT64 or item.op not in ("neg", "abs"):
            raise NoShaderForm(f"computes with {item.dtype.value}")
        text = render(item.a, scope)
        return (text, 0) if item.op == "abs" and item.dtype is DType.UINT64 else (f"wide_{item.op}({text})", _ATOM)
    whole = not item.dtype.is_float and item.dtype is not DType.UINT32
    if item.op == "neg" and whole and not fits(before_wrap(item, scope.ranges), DType.INT32):
        return _narrow(item, f"neg_int({render(item.a, scope)})", _ATOM, scope)
    if item.op == "neg":
        return _narrow(item, f"-{_at(item.a, scope, _UNARY + 1)}", _UNARY, scope)
    if item.op == "not":
        return f"!{_at(item.a, scope, _UNARY + 1)}", _UNARY
    if item.op == "abs" and not item.dtype.is_float:
        return _narrow(item, f"abs_int({render(item.a, scope)})", _ATOM, scope) if whole else (render(item.a, scope), _SELECT)
    if item.op not in _FUNCTIONS or not item.dtype.is_float:
        raise NoShaderForm(f"has {item.op} of {item.dtype.value}")
    _check_exact(item.op, scope)
    return f"{_FUNCTIONS[item.op]}({render(item.a, scope)})", _ATOM


def _check_exact(operator: str, scope: Scope) -> None:
    if scope.exact and operator in INEXACT:
        raise NoShaderForm(f"has the bits of a float {operator} to give, which GPUs round as they like")


def _binary(item: Binary, scope: Scope) -> tuple[str, int]:
    operand = item.a.dtype
    if operand.bytes == 8:
        return _wide_binary(item, scope), _ATOM
    if operand.is_float:
        return _float_binary(item, scope)
    if item.op in ("min", "max"):
        return f"{item.op}({render(item.a, scope)}, {render(item.b, scope)})", _ATOM
    if item.op in ("shl", "shr"):
        return _shift(item, scope)
    if item.op == "pow":
        raise NoShaderForm(f"has pow of {operand.value}")
    if function := _function(item, scope):
        return _narrow(item, f"{function}({render(item.a, scope)}, {render(item.b, scope)})", _ATOM, scope)
    return _infix(item, scope)


def _function(item: Binary, scope: Scope) -> str:
    """The prelude's function for an integer operation that the languages leave open for some operands; empty for others."""
    word = "uint" if item.a.dtype is DType.UINT32 else "int"
    if item.op in ("div", "floordiv", "mod"):
        a, b = range_of(item.a, scope.ranges), range_of(item.b, scope.ranges)
        plain = b[0] >= 1 and (a[0] >= 0 or item.op != "mod")
        return "" if plain else f"{'remainder' if item.op == 'mod' else 'divide'}_{word}"
    overflows = item.op in ("add", "sub", "mul") and word == "int" and not fits(before_wrap(item, scope.ranges), DType.INT32)
    return f"{item.op}_int" if overflows else ""


def _wide_binary(item: Binary, scope: Scope) -> str:
    a, b, op = render(item.a, scope), render(item.b, scope), item.op
    unsigned = "_u" if item.a.dtype is DType.UINT64 else ""
    if item.a.dtype is DType.FLOAT64 or op == "pow":
        raise NoShaderForm(f"computes with {item.a.dtype.value}")
    if op in ("min", "max"):
        return f"(wide_lt{unsigned}({a}, {b}) ? {a} : {b})" if op == "min" else f"(wide_lt{unsigned}({a}, {b}) ? {b} : {a})"
    if op == "le":
        return f"(!wide_lt{unsigned}({b}, {a}))"
    if op in ("shl", "shr"):
        return f"wide_{op}({a}, {b}.x)"
    if op in ("div", "floordiv", "mod"):
        return f"wide_{op.removeprefix('floor')}{unsigned}({a}, {b})"
    return f"wide_{op}{unsigned if op == 'lt' else ''}({a}, {b})"


def _float_binary(item: Binary, scope: Scope) -> tuple[str, int]:
    a, b, op = item.a, item.b, item.op
    if op in ("min", "max", "minimum", "maximum", "pow"):
        _check_exact(op, scope)
        return f"{op}_f({render(a, scope)}, {render(b, scope)})", _ATOM
    if op == "eq" and a == b:
        return f"!is_nan({render(a, scope)})", _UNARY
    if op in _WITH_ITSELF and a == b:
        return f"{_WITH_ITSELF[op]}({render(a, scope)})", _ATOM
    if op in ("mod", "floordiv", "and", "or", "xor", "shl", "shr"):
        raise NoShaderForm(f"has {op} of {a.dtype.value}")
    for zero, other in ((a, b), (b, a))[: {"mul": 2, "div": 1}.get(op, 0)]:
        if isinstance(zero, Const) and zero.value == 0:
            text = f"{'zero_times' if op == 'mul' else 'zero_over'}({render(other, scope)})"
            return (f"-{text}", _UNARY) if math.copysign(1, zero.value) < 0 else (text, _ATOM)
    if scope.exact and op in ("add", "mul"):
        return f"{'add' if op == 'add' else 'multiply'}_even({render(a, scope)}, {render(b, scope)})", _ATOM
    if scope.exact and op == "sub":
        return f"add_even({render(a, scope)}, -{_at(b, scope, _UNARY + 1)})", _ATOM
    _check_exact(op, scope)
    return _infix(item, scope)


def _infix(item: Binary, scope: Scope) -> tuple[str, int]:
    sign, level = _LOGICAL[item.op] if item.a.dtype is DType.BOOL and item.op in _LOGICAL else _INFIX[item.op]
    low = level if level > 12 else 11 if level > 8 else _UNARY  # with parentheses where readers could doubt the order
    text = f"{_at(item.a, scope, low)} {sign} {_at(item.b, scope, max(low, level + 1))}"
    return _narrow(item, text, level, scope)


def _shift(item: Binary, scope: Scope) -> tuple[str, int]:
    """On unsigned words, as in C."""
    text = f"uint({render(item.a, scope)}) {'<<' if item.op == 'shl' else '>>'} uint({render(item.b, scope)})"
    return (text, 12) if item.dtype is DType.UINT32 else _narrow(item, f"int({text})", _ATOM, scope)


def _narrow(item: Unary | Binary | Cast, text: str, level: int, scope: Scope) -> tuple[str, int]:
    """Small integers are ints, which are cut to their own width where they may be wider."""
    wide = before_wrap(item, scope.ranges) != range_of(item, scope.ranges)
    return (f"{_WRAPS[item.dtype]}({text})", _ATOM) if item.dtype in _WRAPS and wide else (text, level)


def _select(item: Select, scope: Scope) -> tuple[str, int]:
    condition, first = _at(item.condition, scope, _SELECT + 1), _at(item.a, scope, _SELECT + 1)
    return f"{condition} ? {first} : {_at(item.b, scope, _SELECT + 1)}", _SELECT


def _cast(item: Cast, scope: Scope) -> tuple[str, int]:
    source, wanted = item.a.dtype, item.dtype
    if source.bytes == 8 or wanted.bytes == 8:
        return _cast_of_wide(item, scope)
    text = render(item.a, scope)
    if wanted is DType.BOOL:
        zero = "0.0f" if source.is_float else "0u" if source is DType.UINT32 else "0"
        return f"{_at(item.a, scope, 10)} != {zero}", 9
    if wanted in _ROUNDED:
        return _ROUNDED[wanted].format(render(cast(item.a, DType.FLOAT32), scope)), _ATOM
    if wanted.is_float:
        if source.is_float:
            return _render(item.a, scope)
        low, high = range_of(item.a, scope.ranges)
        rounds = scope.exact and source is DType.INT32 and (low < -_EXACT or high > _EXACT)
        return f"{'float_even' if rounds else 'float'}({text})", _ATOM
    if source.is_float and not (is_number(item.a) and fits(range_of(item.a, scope.ranges), wanted)):
        return (f"uint_of({text})", _ATOM) if wanted is DType.UINT32 else _narrow(item, f"int_of({text})", _ATOM, scope)
    if wanted is DType.UINT32:
        return f"uint({text})", _ATOM
    if source.is_float or source is DType.BOOL:
        return f"int({text})", _ATOM
    return _narrow(item, f"int({text})", _ATOM, scope) if source is DType.UINT32 else _narrow(item, *_render(item.a, scope), scope)


def _cast_of_wide(item: Cast, scope: Scope) -> tuple[str, int]:
    source, wanted = item.a.dtype, item.dtype
    if DType.FLOAT64 in (source, wanted) or (wanted.is_float and scope.exact) or source.is_float:
        raise NoShaderForm(f"converts {source.value} to {wanted.value}")
    text = render(item.a, scope)
    if source.bytes < 8:
        return (f"wide_of_uint({text})" if source is DType.UINT32 else f"wide_of_int(int({text}))"), _ATOM
    if wanted.bytes == 8:
        return _render(item.a, scope)
    if wanted.is_float:
        return f"wide_to_float{'_u' if source is DType.UINT64 else ''}({text})", _ATOM
    if wanted is DType.BOOL:
        return f"!wide_eq({text}, wide(0u, 0u))", _UNARY
    low = f"{_at(item.a, scope, _ATOM)}.x"
    return (low, _ATOM) if wanted is DType.UINT32 else _narrow(item, f"int({low})", _ATOM, scope)


_WRITERS: dict[type, Callable[..., tuple[str, int]]] = {
    Const: _const, Var: _var, Load: _load, Unary: _unary, Binary: _binary, Select: _select, Cast: _cast,
}  # fmt: skip


# Statements


def render_statements(body: tuple[Statement, ...], scope: Scope, depth: int) -> Iterator[str]:
    """Lines of shader text for a statement list."""
    pad = INDENT * depth
    for item in body:
        if not isinstance(item, For):
            yield pad + _simple(item, scope)
            continue
        if item.lanes and scope.exact:
            yield from _in_lanes(item, scope, depth)
            continue
        start = render(item.start, scope) if item.start is not None else "0"
        end = render(item.extent if item.start is None else item.start + item.extent, scope)
        name = name_of(item.var.name)
        yield f"{pad}for (int {name} = {start}; {name} < {end}; {name}++) {{"
        yield from render_statements(item.body, scope, depth + 1)
        yield f"{pad}}}"


def _in_lanes(loop: For, scope: Scope, depth: int) -> Iterator[str]:
    """A loop whose totals are in parts, one after another; without exact bits a plain loop does."""
    pad, inner, name = INDENT * depth, INDENT * (depth + 1), name_of(loop.var.name)
    found = totals(loop)
    parts = [f"{name_of(item.var.name)}_parts" for item in found]
    for item, part in zip(found, parts, strict=True):
        yield f"{pad}{kind_of(item.var.dtype)} {part}[{LANES}];"
        yield f"{pad}for (int lane = 0; lane < {LANES}; lane++) {part}[lane] = {literal(item.start, item.var.dtype)};"
    given: dict[Expr, str] = {item.var: f"{part}[{name} & {LANES - 1}]" for item, part in zip(found, parts, strict=True)}
    yield f"{pad}for (int {name} = 0; {name} < {render(loop.extent, scope)}; {name}++) {{"
    yield from render_statements(loop.body, replace(scope, given={**scope.given, **given}), depth + 1)
    yield f"{pad}}}"
    yield f"{pad}for (int half_of = {LANES // 2}; half_of > 0; half_of /= 2) {{"
    for item, part in zip(found, parts, strict=True):
        kept, other = (Var(item.var.dtype, f"{part}[lane{more}]") for more in ("", " + half_of"))
        yield f"{inner}for (int lane = 0; lane < half_of; lane++) {kept.name} = {render(binary(item.op, kept, other), scope)};"
    yield f"{pad}}}"
    for item, part in zip(found, parts, strict=True):
        left = Var(item.var.dtype, f"{part}[0]")
        yield f"{pad}{name_of(item.var.name)} = {render(binary(item.op, item.var, left), scope)};"


def _simple(item: Statement, scope: Scope) -> str:
    if isinstance(item, Store):
        return _store(item, scope)
    assert isinstance(item, (Declare, Assign))
    kind = f"{kind_of(item.var.dtype)} " if isinstance(item, Declare) else ""
    return f"{kind}{render(item.var, scope)} = {render(item.value, scope)};"


def kind_of(dtype: DType) -> str:
    """The type of a variable."""
    if dtype.bytes == 8:
        return "wide"
    return {DType.BOOL: "bool", DType.UINT32: "uint"}.get(dtype, "float" if dtype.is_float else "int")


def _store(item: Store, scope: Scope) -> str:
    region, index = element(item.buffer, item.index, scope)
    return f"{_STORES[scope.dtypes[item.buffer]]}({region}, {render(index, scope)}, {stored_value(item, scope)});"


def stored_value(item: Store, scope: Scope) -> str:
    """What a store is given: an int of whose lower bits it keeps as many as it needs, or a float or uint."""
    dtype, value = scope.dtypes[item.buffer], item.value
    if dtype is DType.BOOL:
        return f"int({render(value, scope)})"
    wraps = value.dtype in _WRAPS and value.dtype.bytes >= dtype.bytes
    while wraps and isinstance(value, Cast) and value.a.dtype in (*_WRAPS, DType.INT32) and value.a.dtype.bytes >= dtype.bytes:
        value = value.a
    return render(value, scope)
