"""A loop call as a compute shader: one invocation for every value of the nest's axes, consecutive ones on consecutive elements.

Where elements of 1 or 2 bytes are stored one behind the other, an invocation makes a whole word of them and stores that, so
that nobody else writes to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from edgec.emit.c_text import comment
from edgec.emit.gpu.dialect import Dialect
from edgec.emit.gpu.nest import Axis, Nest, independent
from edgec.emit.gpu.render import INDENT, NoShaderForm, Scope, element, name_of, render, render_statements, stored_value
from edgec.emit.gpu.rewrite import in_variables
from edgec.emit.gpu.rows import GROUP, Part, render_rows, rows, shared_arrays
from edgec.emit.gpu.shader import Shader, kernel_name
from edgec.emit.ranges import of_call
from edgec.ir.types import DType
from edgec.kernels.gpu.limits import MOST_GROUPS, Extent
from edgec.program.expr import Const, Expr, Load, Select
from edgec.program.linear_index import Linear, linear
from edgec.program.program import For, LoopCall, Program, Statement, Store
from edgec.program.regions import Place
from edgec.program.walk import children, expressions, statements, walk

LONGEST_ALONE = 1 << 16  # steps that a single invocation may do; more of them are the CPU's
_LANES = {DType.INT8: 4, DType.UINT8: 4, DType.BOOL: 4, DType.INT16: 2, DType.UINT16: 2}  # elements of a word
_BYTES = {DType.INT8: "signed_byte({}, lane)", DType.UINT8: "unsigned_byte({}, lane)", DType.BOOL: "(unsigned_byte({}, lane) != 0)"}


@dataclass(frozen=True)
class Packing:
    """`lanes` consecutive elements of a store to a word.

    The items go through memory element by element from `first` on (from the region's start), except where axes that are not
    dense begin anew, which they do at whole words.
    """

    store: Store
    lanes: int
    first: int
    dense: int  # items that lie one behind the other


def loop_shader(program: Program, index: int, call: LoopCall, places: Mapping[str, Place], dialect: Dialect, exact: bool) -> Shader:
    """The call as a shader. Raises NoShaderForm with the reason when it must stay on the CPU."""
    if call.outside is not None:
        raise NoShaderForm("tells of indices out of range")
    if set(call.call.writes) & set(program.counts.values()):
        raise NoShaderForm("counts what it finds")
    dtypes = {name: program.buffers[name].dtype for name in places}
    nest = independent(call, places, {name: dtype.bytes for name, dtype in dtypes.items()})
    nest = in_variables(Nest(_in_order_of_stores(nest), nest.body), places, dtypes)
    scope = Scope(places, dtypes, exact, ranges=of_call(program, call))
    parts = rows(nest, places, exact)
    small = any(dtypes[item.buffer].bytes < 4 for item in statements(nest.body) if isinstance(item, Store))
    halves = any(places[buffer].region == "arena_half" for buffer in (*call.call.reads, *call.call.writes))
    rendered = _by_items(nest, scope) if parts is None else _by_rows(nest, parts, scope)
    name = kernel_name(index, call.call.name)
    reduces = bool(rendered.shared)
    begin = dialect.begin(name, (GROUP, 1, 1), rendered.shared, teams=reduces)
    lines = [begin, *(INDENT + line for line in comment(call.call.comment).splitlines())]
    source = "\n".join([*lines, *rendered.lines, dialect.end(), ""])
    items = math.prod(axis.extent for axis in nest.axes)
    return Shader(
        index, name, source, (GROUP, 1, 1), rendered.grid, sum(count * 4 for _, _, count in rendered.shared), uses_bytes=small or exact,
        uses_subgroups=reduces,
        uses_half=halves, loads=math.ceil(items * _loads(nest.body, places)),
    )  # fmt: skip


@dataclass(frozen=True)
class _Rendered:
    lines: list[str]
    grid: Extent
    shared: tuple[tuple[str, str, int], ...] = ()


def _by_items(nest: Nest, scope: Scope) -> _Rendered:
    """An invocation for each item, or for each word of items."""
    items = math.prod(axis.extent for axis in nest.axes)
    steps = items * _steps(nest.body)
    if items == 1 and steps > LONGEST_ALONE:
        raise NoShaderForm(f"is one chain of {steps} steps")
    packing = _packing(nest, scope)
    count = items if packing is None else -(-items // packing.lanes)
    grid = spread(-(-count // GROUP))
    lines = [f"{INDENT}int item = {_number_of_group(grid)} * {GROUP} + local_x();", f"{INDENT}if (item < {count}) {{"]
    if items:
        lines += _packed(nest, packing, items, scope) if packing is not None else _plain(nest, scope)
    return _Rendered([*lines, f"{INDENT}}}"], grid)


def _by_rows(nest: Nest, parts: tuple[Part, ...], scope: Scope) -> _Rendered:
    """A workgroup for each item."""
    items = math.prod(axis.extent for axis in nest.axes)
    grid = spread(items)
    lines = [f"{INDENT}int item = {_number_of_group(grid)};", f"{INDENT}int lane = local_x();", f"{INDENT}if (item < {items}) {{"]
    lines += [*_decode(nest.axes, "item", 2), *render_rows(parts, scope, 2), f"{INDENT}}}"]
    return _Rendered(lines, grid, tuple(shared_arrays(parts)))


def _number_of_group(grid: Extent) -> str:
    return "group_x()" if grid[1] == 1 else f"(group_y() * {grid[0]} + group_x())"


def spread(groups: int) -> Extent:
    """A grid of at least so many workgroups, in x and then y."""
    groups = max(groups, 1)
    rows = -(-groups // MOST_GROUPS)
    return (-(-groups // rows), rows, 1)


def _plain(nest: Nest, scope: Scope) -> Iterator[str]:
    yield from _decode(nest.axes, "item", 2)
    yield from render_statements(nest.body, scope, 2)


def _decode(axes: tuple[Axis, ...], item: str, depth: int) -> Iterator[str]:
    """The values of the axes for an item; the last axis goes fastest."""
    below = 1
    lines = []
    for place, axis in reversed(list(enumerate(axes))):
        value = item if below == 1 else f"{item} / {below}"
        if place > 0:
            value = f"{value} % {axis.extent}"
        below *= axis.extent
        start = f" + {axis.start}" if axis.start else ""
        lines.append(f"{INDENT * depth}int {name_of(axis.variable.name)} = {value}{start};")
    yield from reversed(lines)


def _in_order_of_stores(nest: Nest) -> tuple[Axis, ...]:
    """The axes, that of the largest step of the first store first: then neighbours store to neighbouring elements."""
    index = next((linear(item.index) for item in statements(nest.body) if isinstance(item, Store)), None)
    if index is None:
        return nest.axes
    return tuple(sorted(nest.axes, key=lambda axis: -abs(index.factors.get(axis.variable, 0))))


# Words of small elements


def _packing(nest: Nest, scope: Scope) -> Packing | None:
    """How items share words; None where there is more than one store, or where their elements are scattered."""
    stores = [item for item in statements(nest.body) if isinstance(item, Store)]
    if len(stores) != 1 or stores[0] is not nest.body[-1] or scope.dtypes[stores[0].buffer] not in _LANES:
        return None
    store, lanes = stores[0], _LANES[scope.dtypes[stores[0].buffer]]
    index = linear(element(store.buffer, store.index, scope)[1])
    if index is None or set(index.factors) - {axis.variable for axis in nest.axes}:
        return None
    steps = sorted((index.factors.get(axis.variable, 0), axis.extent) for axis in nest.axes if axis.extent > 1)
    dense = 1
    while steps and steps[0][0] == dense:
        dense *= steps.pop(0)[1]
    first = _first(index, nest)
    if dense < lanes or first % lanes or any(step < 0 or step % lanes for step, _ in steps) or (steps and dense % lanes):
        return None
    return Packing(store, lanes, first, dense)


def _first(index: Linear, nest: Nest) -> int:
    return index.constant + sum(index.factors.get(axis.variable, 0) * axis.start for axis in nest.axes)


def _packed(nest: Nest, packing: Packing, items: int, scope: Scope) -> Iterator[str]:
    """The lanes of a word one after the other, then one store."""
    inner = nest.axes[-1]
    if inner.extent % packing.lanes == 0 and packing.dense % packing.lanes == 0:
        return _along_one_axis(nest, packing, scope)
    return _along_all_axes(nest, packing, items, scope)


def _along_one_axis(nest: Nest, packing: Packing, scope: Scope) -> Iterator[str]:
    pad, inner, lanes = INDENT * 2, nest.axes[-1], packing.lanes
    name, (region, index) = name_of(inner.variable.name), element(packing.store.buffer, packing.store.index, scope)
    *others, last = _decode((*nest.axes[:-1], Axis(inner.variable, 0, inner.extent // lanes)), "item", 2)
    yield from others
    yield f"{last.removesuffix(';')} * {lanes}{f' + {inner.start}' if inner.start else ''};"
    yield f"{pad}int place = ({render(index, scope)}) / {lanes};"
    given = dict(scope.given)
    for number, load in enumerate(dict.fromkeys(_whole_loads(nest, scope) if lanes == 4 else ())):
        region_read, read = element(load.buffer, load.index, scope)
        yield f"{pad}uint four{number} = load_word({region_read}, ({render(read, scope)}) / 4);"
        given[load] = _BYTES[load.dtype].format(f"four{number}")
    yield f"{pad}uint word = 0u;"
    yield f"{pad}for (int lane = 0; lane < {lanes}; lane++) {{"
    yield from _lane(nest, packing, replace(scope, given=given), 3)
    yield f"{pad}{INDENT}{name}++;"
    yield f"{pad}}}"
    yield f"{pad}store_word({region}, place, word);"


def _along_all_axes(nest: Nest, packing: Packing, items: int, scope: Scope) -> Iterator[str]:
    pad, lanes, whole = INDENT * 2, packing.lanes, packing.dense % packing.lanes == 0
    region, index = element(packing.store.buffer, packing.store.index, scope)
    yield f"{pad}uint word = 0u;"
    yield f"{pad}int place = 0;"
    yield f"{pad}for (int lane = 0; lane < {lanes}; lane++) {{"
    yield f"{pad}{INDENT}int number = item * {lanes} + lane;"
    if not whole:
        yield f"{pad}{INDENT}if (number >= {items}) break;"
    yield from _decode(nest.axes, "number", 3)
    yield f"{pad}{INDENT}place = ({render(index, scope)}) / {lanes};"
    yield from _lane(nest, packing, scope, 3)
    yield f"{pad}}}"
    if whole:
        yield f"{pad}store_word({region}, place, word);"
        return
    store, part = "store_8" if lanes == 4 else "store_16", f"int(word >> uint(lane * {32 // lanes}))"
    yield f"{pad}if (item * {lanes} + {lanes} <= {items}) store_word({region}, place, word);"  # the last word may have other owners too
    yield f"{pad}else for (int lane = 0; lane < {items % lanes}; lane++) {store}({region}, place * {lanes} + lane, {part});"


def _lane(nest: Nest, packing: Packing, scope: Scope, depth: int) -> Iterator[str]:
    """The body, whose value goes into its part of the word."""
    bits = 32 // packing.lanes
    yield from render_statements(nest.body[:-1], scope, depth)
    yield f"{INDENT * depth}word |= (uint({stored_value(packing.store, scope)}) & {2**bits - 1:#x}u) << uint(lane * {bits});"


def _whole_loads(nest: Nest, scope: Scope) -> Iterator[Load]:
    """Loads of bytes that, for the lanes of an item, are the bytes of one word."""
    inner = nest.axes[-1]
    for item in nest.body:
        for root in [] if isinstance(item, For) else expressions(item):
            for load in _always(root):
                index = linear(element(load.buffer, load.index, scope)[1]) if load.dtype in _BYTES else None
                if index is None or set(index.factors) - {axis.variable for axis in nest.axes} or index.factors.get(inner.variable) != 1:
                    continue
                if _first(index, nest) % 4 == 0 and all(index.factors.get(axis.variable, 0) % 4 == 0 for axis in nest.axes[:-1]):
                    yield load


def _always(item: Expr) -> Iterator[Load]:
    """Loads that are evaluated whatever the conditions say."""
    if isinstance(item, Load):
        yield item
    elif isinstance(item, Select):
        yield from _always(item.condition)
    else:
        for child in children(item):
            yield from _always(child)


# What a nest costs


def _times(loop: For) -> int:
    """Iterations of a loop, one where they depend on another loop's."""
    return int(loop.extent.value) if isinstance(loop.extent, Const) else 1


def _steps(body: tuple[Statement, ...]) -> int:
    return sum(_times(item) * _steps(item.body) if isinstance(item, For) else 1 for item in body)


def _loads(body: tuple[Statement, ...], places: Mapping[str, Place]) -> float:
    """Loads that one invocation does, both sides of conditions counted; two of halves are one."""
    found = 0.0
    for item in body:
        if isinstance(item, For):
            found += _times(item) * _loads(item.body, places)
            continue
        loads = [part for root in expressions(item) for part in walk(root) if isinstance(part, Load)]
        found += sum(0.5 if places[load.buffer].region == "arena_half" else 1 for load in loads)
    return found
