"""Scalar expressions and loop nests as C99 text.

Indices are int32_t. Integer arithmetic wraps at its own width, as in numpy: plain operators stand where ranges show that nothing
overflows, and functions of runtimes/c/scalar.h elsewhere. `edgec_*f` functions come from runtimes/c/math.h.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from edgec.emit.bounded import nearest_of
from edgec.emit.c_text import C_TYPES, identifier, literal, scalar_type
from edgec.emit.common_indices import common_indices
from edgec.emit.early import chooses_in_pairs, data_of, early_reads, steady_reads
from edgec.emit.half_planes import half_planes
from edgec.emit.look_ups import LookUpNest, look_ups
from edgec.emit.ranges import NOTHING, Known, before_wrap, fits, is_number, limits, of_type, range_of
from edgec.ir.types import DType
from edgec.program.expr import INT, Binary, Cast, Const, Expr, Load, Select, Size, Unary, Var, var
from edgec.program.lanes import LANES, totals
from edgec.program.program import Assign, Declare, For, Statement, Store
from edgec.program.walk import distinct, expressions, roots

INDENT = "    "
_ATOM, _UNARY, _SELECT = 20, 16, 2
# operator -> (C operator, precedence)
_INFIX = {
    "mul": ("*", 14), "div": ("/", 14), "floordiv": ("/", 14), "mod": ("%", 14), "add": ("+", 13), "sub": ("-", 13),
    "shl": ("<<", 12), "shr": (">>", 12), "lt": ("<", 10), "le": ("<=", 10), "eq": ("==", 9),
    "and": ("&", 8), "xor": ("^", 7), "or": ("|", 6),
}  # fmt: skip
_LOGICAL = {"and": ("&&", 4), "or": ("||", 3), "xor": ("!=", 9)}
_MIXED = {"<<", ">>", "&", "^", "|", "&&", "||"}  # compilers warn where these meet others without parentheses
_COMPARISONS = {"<", "<=", "==", "!="}  # nor do they like a comparison of comparisons, or of !a
_SMALL = {DType.INT8, DType.UINT8, DType.INT16, DType.UINT16}
_KIND = {
    DType.FLOAT32: "f", DType.FLOAT16: "f", DType.BFLOAT16: "f", DType.FLOAT64: "d",
    DType.INT64: "i64", DType.UINT64: "u64", DType.UINT32: "u32",
}  # fmt: skip
_TO_BITS = {
    DType.FLOAT32: "edgec_bits", DType.FLOAT64: "edgec_bits64", DType.FLOAT16: "edgec_float_to_half",
    DType.BFLOAT16: "edgec_float_to_bfloat",
}  # fmt: skip
_OF_BITS = {
    DType.FLOAT32: "edgec_float", DType.FLOAT64: "edgec_double", DType.FLOAT16: "edgec_half_to_float",
    DType.BFLOAT16: "edgec_bfloat_to_float",
}  # fmt: skip
HALVES = {DType.FLOAT16: "half", DType.BFLOAT16: "bfloat"}  # as runtimes/c/scalar.h calls them
_NEAREST = 1 << 22  # the largest magnitude that edgec_nearest takes
_FLOAT_FUNCTIONS = {"exp", "log", "sqrt", "tanh", "erf", "sigmoid", "sin", "cos", "floor", "ceil", "rint"}


class NoCForm(ValueError):
    """An expression that this renderer cannot write: a bug of the lowering."""


@dataclass
class Scope:
    """How names of the Program are spelled in one C function; `shared` holds subexpressions that have a name already."""

    buffers: Mapping[str, str]  # buffer -> pointer
    sizes: Mapping[str, str] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()  # names that a new one must not hide
    mutable: frozenset[str] = frozenset()  # variables that an Assign changes
    halves: Mapping[str, str] = field(default_factory=dict)  # buffers of elements of 16 bits that are computed with as floats: HALVES
    tables: frozenset[str] = frozenset()  # constants with an entry for every code
    ranges: Known = field(default_factory=lambda: NOTHING)  # of the loops' variables
    shared: dict[Expr, str] = field(default_factory=dict)
    data: frozenset[str] = frozenset()  # variables that hold what was read
    constants: frozenset[str] = frozenset()  # buffers that do not change while the function runs
    loops: frozenset[str] = frozenset()  # variables of the loops around

    def block(self) -> Scope:
        """The scope of an inner block: names given there end with it."""
        return replace(self, shared=dict(self.shared))

    def name(self, item: Expr, hint: str = "index") -> str:
        """A new name for a subexpression, used from here on in this block."""
        self.shared[item] = identifier(hint, self.taken | set(self.shared.values()))
        return self.shared[item]


def render(expression: Expr, scope: Scope) -> str:
    """The expression as C, with no parentheses around it."""
    return _render(expression, scope)[0]


def _render(item: Expr, scope: Scope) -> tuple[str, int]:
    if item in scope.shared:
        return scope.shared[item], _ATOM
    return _WRITERS[type(item)](item, scope)


def _at(item: Expr, scope: Scope, precedence: int) -> str:
    """`item` as an operand of an operator of that precedence."""
    text, own = _render(item, scope)
    return text if own >= precedence else f"({text})"


def _const(item: Const, scope: Scope) -> tuple[str, int]:
    text = literal(item.value, item.dtype)
    return text, _UNARY if text.startswith("-") else _ATOM


def _var(item: Var, scope: Scope) -> tuple[str, int]:
    return item.name, _ATOM


def _size(item: Size, scope: Scope) -> tuple[str, int]:
    return scope.sizes.get(item.name, item.name), _ATOM


def _load(item: Load, scope: Scope) -> tuple[str, int]:
    text = f"{scope.buffers[item.buffer]}[{render(item.index, scope)}]"
    return (f"edgec_{scope.halves[item.buffer]}_to_float({text})" if item.buffer in scope.halves else text), _ATOM


def _unary(item: Unary, scope: Scope) -> tuple[str, int]:
    if item.op == "neg" and not _may_overflow(item, scope):
        return _narrow(item.dtype, f"-{_at(item.a, scope, _UNARY + 1)}", _UNARY)
    if item.op == "bits":
        return _bits(item, scope), _UNARY
    if item.op == "not":
        return f"!{_at(item.a, scope, _UNARY)}", _UNARY
    if item.op in ("neg", "abs"):
        return _narrow(item.dtype, f"edgec_{item.op}_{_KIND.get(item.dtype, 'i32')}({render(item.a, scope)})", _ATOM)
    if item.dtype is DType.FLOAT64:
        raise NoCForm(f"{item.op} of float64 has no C form")
    if item.op in _FLOAT_FUNCTIONS:
        return f"edgec_{item.op}f({render(item.a, scope)})", _ATOM
    raise NoCForm(f"unary operator {item.op!r} has no C form")


def _bits(item: Unary, scope: Scope) -> str:
    text = render(item.a, scope)
    whole = f"{_TO_BITS[item.a.dtype]}({text})" if item.a.dtype in _TO_BITS else f"(uint{8 * item.dtype.bytes}_t)({text})"
    return f"{_OF_BITS[item.dtype]}({whole})" if item.dtype in _OF_BITS else f"({C_TYPES[item.dtype]}){whole}"


def _binary(item: Binary, scope: Scope) -> tuple[str, int]:
    operand = item.a.dtype
    if item.op in ("min", "max", "minimum", "maximum"):
        return f"edgec_{item.op}_{_KIND.get(operand, 'i32')}({render(item.a, scope)}, {render(item.b, scope)})", _ATOM
    if item.op == "pow" and not operand.is_float:
        kind = "u64" if operand.value.startswith("u") else "i64"
        return f"({C_TYPES[operand]})edgec_pow_{kind}({render(item.a, scope)}, {render(item.b, scope)})", _UNARY
    if item.op == "pow":
        return f"edgec_powf({render(item.a, scope)}, {render(item.b, scope)})", _ATOM
    if item.op == "mod" and operand.is_float and operand is not DType.FLOAT64:
        return f"edgec_fmodf({render(item.a, scope)}, {render(item.b, scope)})", _ATOM
    if operand.is_float and item.op in ("mod", "floordiv", "and", "or", "xor", "shl", "shr"):
        raise NoCForm(f"{item.op} of {operand.value} has no C form")
    if item.op in ("shl", "shr"):
        return _shift(item, scope)
    if _may_overflow(item, scope):
        kind = _KIND.get(operand, "u32" if operand is DType.UINT16 and item.op == "mul" else "i32")
        function = f"edgec_{item.op.removeprefix('floor')}_{kind}"
        return _narrow(item.dtype, f"{function}({render(item.a, scope)}, {render(item.b, scope)})", _ATOM)
    sign, level = _LOGICAL[item.op] if operand is DType.BOOL and item.op in _LOGICAL else _INFIX[item.op]
    if operand is DType.FLOAT32 and item.op == "div":
        return f"{_at(item.a, scope, level)} / {_at(item.b, scope, level + 1)}", level
    low = _UNARY if sign in _MIXED else 11 if sign in _COMPARISONS else level
    first = _ATOM if sign in _COMPARISONS and isinstance(item.a, Unary) and item.a.op == "not" else low
    text = f"{_at(item.a, scope, first)} {sign} {_at(item.b, scope, max(low, level + 1))}"
    return _narrow(item.dtype, text, level)


def _may_overflow(item: Unary | Binary, scope: Scope) -> bool:
    """Whether C leaves open what an integer operation gives: overflow of a signed type, of int for small ones, or division by 0 or -1."""
    if item.dtype.is_float or item.dtype is DType.BOOL:
        return False
    if isinstance(item, Binary) and item.op in ("div", "floordiv", "mod"):
        return range_of(item.b, scope.ranges)[0] < 1
    if item.op not in ("add", "sub", "mul", "neg"):
        return False
    computed = DType.INT32 if item.dtype in _SMALL else item.dtype
    return limits(computed)[0] < 0 and not fits(before_wrap(item, scope.ranges), computed)


def _shift(item: Binary, scope: Scope) -> tuple[str, int]:
    """Shifts happen on unsigned values: a signed left shift may overflow, a signed right shift is the compiler's choice."""
    unsigned = "uint64_t" if item.dtype.bytes == 8 else "uint32_t"
    text = f"({unsigned}){_at(item.a, scope, _UNARY)} {_INFIX[item.op][0]} {_at(item.b, scope, _UNARY)}"
    return (text, _INFIX[item.op][1]) if C_TYPES[item.dtype] == unsigned else (f"({C_TYPES[item.dtype]})({text})", _UNARY)


def _narrow(dtype: DType, text: str, level: int) -> tuple[str, int]:
    """C computes small integers as int: wrap the result to its own width."""
    return (f"({C_TYPES[dtype]})({text})", _UNARY) if dtype in _SMALL else (text, level)


def _select(item: Select, scope: Scope) -> tuple[str, int]:
    condition, first = _at(item.condition, scope, _SELECT + 1), _at(item.a, scope, _SELECT + 1)
    return f"{condition} ? {first} : {_at(item.b, scope, _SELECT)}", _SELECT


def _cast(item: Cast, scope: Scope) -> tuple[str, int]:
    if item.dtype is DType.BOOL:
        return f"{_at(item.a, scope, 10)} != 0", 9
    if item.dtype in HALVES:
        kind = HALVES[item.dtype]
        return f"edgec_{kind}_to_float(edgec_float_to_{kind}({_single(item, scope)}))", _ATOM
    if item.dtype is DType.INT32 and isinstance(item.a, Unary) and item.a.op == "rint" and _is_near_zero(item.a.a, scope):
        word, parts = nearest_of(item.a.a, scope.shared)
        return f"{word}({', '.join(render(part, scope) for part in parts)})", _ATOM
    if item.a.dtype.is_float and not item.dtype.is_float and not (is_number(item.a) and _holds(item, scope)):
        kind, whole = _KIND[item.a.dtype], _KIND.get(item.dtype, "i32")
        return _narrow(item.dtype, f"edgec_to_{whole}_{kind}({render(item.a, scope)})", _ATOM)
    return f"({scalar_type(item.dtype)}){_at(item.a, scope, _UNARY)}", _UNARY


def _single(item: Cast, scope: Scope) -> str:
    """What is rounded to 16 bits, as a float: of a double the odd one of both neighbours, so that it is rounded once."""
    if item.a.dtype is DType.FLOAT64:
        return f"edgec_odd_float({render(item.a, scope)})"
    return render(item.a, scope) if item.a.dtype is DType.FLOAT32 else f"(float){_at(item.a, scope, _UNARY)}"


def _is_near_zero(item: Expr, scope: Scope) -> bool:
    """Whether a float32 is a number that edgec_nearest rounds."""
    low, high = range_of(item, scope.ranges)
    return item.dtype is DType.FLOAT32 and is_number(item) and low >= -_NEAREST and high <= _NEAREST


def _holds(item: Cast, scope: Scope) -> bool:
    """Whether the integer type holds every value of the float, in C's own conversion."""
    return fits(range_of(item.a, scope.ranges), item.dtype)


_WRITERS: dict[type, Callable[..., tuple[str, int]]] = {
    Const: _const, Var: _var, Size: _size, Load: _load, Unary: _unary, Binary: _binary, Select: _select, Cast: _cast,
}  # fmt: skip


def render_statements(body: tuple[Statement, ...], scope: Scope, depth: int = 1) -> Iterator[str]:
    """Lines of C for a statement list."""
    pad = INDENT * depth
    for item in body:
        if isinstance(item, For):
            start = render(item.start, scope) if item.start is not None else "0"
            end = render(item.extent if item.start is None else item.start + item.extent, scope)
            yield from render_loop(item, start, end, scope, depth)
            continue
        for part in common_indices(item, scope.shared, scope.mutable):
            text = render(part, scope)
            yield f"{pad}const int32_t {scope.name(part)} = {text};"
        reading = scope.block()  # another statement's may differ, and gets other names
        for read in early_reads((part for part in expressions(item) if part not in scope.shared), scope.data, scope.mutable):
            if read not in scope.shared:
                value = identifier("value", scope.taken | set(reading.shared.values()))
                yield f"{pad}const {scalar_type(read.dtype)} {value} = {render(read, scope)};"
                reading.shared[read] = value
        yield pad + _simple(item, reading)
        scope = replace(scope, taken=scope.taken | set(reading.shared.values()), data=data_of(item, scope.data))


def render_loop(loop: For, start: str, end: str, scope: Scope, depth: int) -> Iterator[str]:
    """One For with its bounds given as text."""
    pad, name = INDENT * depth, loop.var.name
    if loop.lanes:
        yield from _in_lanes(loop, end, scope, depth)
        return
    nest = look_ups(loop, scope.tables) if scope.tables else None
    if nest is not None:
        yield from _look_ups(nest, start, end, scope, depth)
        return
    rounded = half_planes(loop, scope.halves) if scope.halves else None
    if rounded is not None:
        x, y = (_moved(scope.buffers[name], at, "0", scope) for name, at in ((rounded.x, rounded.x_origin), (rounded.y, rounded.y_origin)))
        yield f"{pad}edgec_halves({x}, {rounded.plane}, {rounded.planes}, {y}, {start}, {end});"
        return
    for read in steady_reads(loop.body, scope.constants - scope.halves.keys(), scope.loops):
        if read not in scope.shared:
            text = render(read, scope)
            yield f"{pad}const {scalar_type(read.dtype)} {scope.name(read, 'held')} = {text};"
    if chooses_in_pairs(loop):
        yield f"{pad}EDGEC_STAYS_A_LOOP"
    yield f"{pad}for (int32_t {name} = {start}; {name} < {end}; {name}++) {{"
    yield from render_statements(loop.body, replace(scope.block(), loops=scope.loops | {name}), depth + 1)
    yield f"{pad}}}"


def _in_lanes(loop: For, end: str, scope: Scope, depth: int) -> Iterator[str]:
    """A loop whose totals are in parts, which compilers keep in vectors: all parts again and again, then some, then the parts join."""
    pad, inner, innermost = (INDENT * (depth + level) for level in range(3))
    lane, first = (identifier(text, scope.taken) for text in ("lane", "first"))
    found = totals(loop)
    parts = [identifier(f"{item.var.name}_parts", scope.taken) for item in found]
    block = scope.block()
    block.shared.update({item.var: f"{part}[{lane}]" for item, part in zip(found, parts, strict=True)})
    count = int(loop.extent.value) if isinstance(loop.extent, Const) else None
    whole, rest = (
        (f"({end}) / {LANES} * {LANES}", f"({end}) % {LANES}") if count is None else (str(count // LANES * LANES), str(count % LANES))
    )
    counts = loop.var in distinct(roots(loop.body))  # else all elements are one number
    yield f"{pad}{{"
    for item, part in zip(found, parts, strict=True):
        start = literal(item.start, item.var.dtype)
        yield f"{inner}{scalar_type(item.var.dtype)} {part}[{LANES}];"
        yield f"{inner}for (int32_t {lane} = 0; {lane} < {LANES}; {lane}++) {part}[{lane}] = {start};"
    if whole != "0":
        yield f"{inner}for (int32_t {first} = 0; {first} < {whole}; {first} += {LANES}) {{"
        if any(item.op not in ("add", "mul") for item in found):
            yield f"{innermost}EDGEC_STAYS_A_LOOP"
        yield f"{innermost}for (int32_t {lane} = 0; {lane} < {LANES}; {lane}++) {{"
        if counts:
            yield f"{innermost}{INDENT}const int32_t {loop.var.name} = {first} + {lane};"
        yield from render_statements(loop.body, block.block(), depth + 3)
        yield f"{innermost}}}"
        yield f"{inner}}}"
    if rest != "0":
        yield f"{inner}for (int32_t {lane} = 0; {lane} < {rest}; {lane}++) {{"
        if counts:
            yield f"{innermost}const int32_t {loop.var.name} = {lane if whole == '0' else f'{whole} + {lane}'};"
        yield from render_statements(loop.body, block.block(), depth + 2)
        yield f"{inner}}}"
    for item, part in zip(found, parts, strict=True):
        yield f"{inner}{item.var.name} = edgec_join_{item.op}({item.var.name}, {part});"
    yield f"{pad}}}"


def _look_ups(nest: LookUpNest, start: str, end: str, scope: Scope, depth: int) -> Iterator[str]:
    """A nest whose look-ups the kernel `look_up` does: all at once, or for one block after the other."""
    pad, inner = INDENT * depth, INDENT * (depth + 1)
    if nest.whole is not None:
        (item,), first, count = nest.found, _times(start, nest.row), _times(end if start == "0" else f"{end} - {start}", nest.row)
        assert item.origin is not None
        x, y = (
            _moved(scope.buffers[name], origin, first, scope) for name, origin in ((item.x, item.origin), (nest.store.buffer, nest.whole))
        )
        yield f"{pad}run->kernels->look_up({scope.buffers[item.table]}, {x}, {y}, {count});"
        return
    yield f"{pad}for (int32_t block = {start}; block < {end}; block += {nest.rows}) {{"
    yield f"{inner}const int32_t stop = edgec_min_i32(block + {nest.rows}, {end});"
    ranges = {**scope.ranges, "block": scope.ranges.get(nest.loop.var.name, of_type(INT))}
    block = replace(scope.block(), tables=frozenset(), ranges=ranges)
    for number, item in enumerate(nest.found):
        name = f"found{number or ''}"
        x = name if item.origin is None else _moved(scope.buffers[item.x], item.origin, _times("block", nest.row), scope)
        yield f"{inner}{C_TYPES[item.load.dtype]} {name}[{nest.rows * nest.row}];"
        if item.origin is None:
            copying, within = nest.storing(Store(name, nest.number(var("block")), item.code)), {**scope.buffers, name: name}
            yield from render_loop(copying, "block", "stop", replace(block, buffers=within), depth + 1)
        yield f"{inner}run->kernels->look_up({scope.buffers[item.table]}, {x}, {name}, {_times('stop - block', nest.row)});"
        block.shared[item.load] = f"{name}[{render(nest.number(var('block')), block)}]"
    yield from render_loop(nest.loop, "block", "stop", block, depth + 1)
    yield f"{pad}}}"


def _times(text: str, factor: int) -> str:
    return text if factor == 1 or text == "0" else f"({text}) * {factor}" if " " in text else f"{text} * {factor}"


def _moved(pointer: str, origin: Expr, offset: str, scope: Scope) -> str:
    """pointer + origin + offset."""
    parts = [
        pointer,
        *([] if isinstance(origin, Const) and origin.value == 0 else [render(origin, scope)]),
        *([] if offset == "0" else [offset]),
    ]
    return " + ".join(parts)


def _simple(item: Statement, scope: Scope) -> str:
    if isinstance(item, Declare):
        qualifier = "" if item.mutable else "const "
        return f"{qualifier}{scalar_type(item.var.dtype)} {item.var.name} = {render(item.value, scope)};"
    if isinstance(item, Assign):
        return f"{render(item.var, scope)} = {render(item.value, scope)};"
    assert isinstance(item, Store)
    rounds = item.buffer in scope.halves and item.value not in scope.shared
    value = _single(item.value, scope) if rounds and isinstance(item.value, Cast) else render(item.value, scope)
    if item.buffer in scope.halves:
        value = f"edgec_float_to_{scope.halves[item.buffer]}({value})"
    return f"{scope.buffers[item.buffer]}[{render(item.index, scope)}] = {value};"
