"""The state of one lowering: values by name, the Program that grows, and how a deferred value becomes memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgec.base.errors import CUT, Problem
from edgec.integer import Matched
from edgec.ir.graph import Graph, Node
from edgec.ir.types import Dim, DType, Symbol
from edgec.lower.coding import decoded
from edgec.lower.comment import describe
from edgec.lower.destination import destination
from edgec.lower.layout import wants_channels_last
from edgec.lower.nest import Axis, nest
from edgec.lower.values import (
    Coded,
    Extents,
    Index,
    Order,
    Value,
    View,
    channels_last,
    derived,
    extents,
    is_one,
    order_of,
    packed_strides,
    row_major,
    store,
    view_of,
    viewed,
)
from edgec.program.arguments import Arguments
from edgec.program.contents import Contents, contents
from edgec.program.expr import INT, Expr, Size, const, extent, most, product, var
from edgec.program.memory import unproven
from edgec.program.names import KEYWORDS, LOCALS, MACROS
from edgec.program.program import (
    Buffer,
    Call,
    Declare,
    For,
    Kind,
    LoopCall,
    Pointer,
    Program,
    Statement,
    Store,
    TemplateCall,
    read_by,
)
from edgec.program.walk import distinct, expressions, loads, roots, stores, subexpressions
from edgec.targets import Target

LONGEST_NAME = 40  # characters of an ONNX name that its C identifier keeps


@dataclass(frozen=True)
class LowerOptions:
    """How the package's interface looks: `io` is the element type (of the model, or raw int8 / uint8), io_layout the order."""

    io: str = "model"
    io_layout: str = "model"


class Unsupported(Exception):
    """A node that cannot be lowered: what is missing, and a hint."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what, self.hint = what, hint


class Lowering:
    """Everything that operator rules share. `matched` says what computes in integers, `values` holds the lowered tensors by ONNX name."""

    def __init__(self, graph: Graph, matched: Matched, target: Target, name: str, options: LowerOptions) -> None:
        self.graph, self.matched, self.target, self.options = graph, matched, target, options
        self.program = Program(name, target.name)
        self.activation = DType.INT8 if target.signed_activations else DType.UINT8
        self.values: dict[str, Value] = {}
        self.done: set[int] = set()  # ids of nodes that another node's rule has computed
        self.destinations: dict[str, View] = {}  # where a value is wanted: its slice of a concatenation
        self.reserved: dict[str, Value] = {}  # concatenations whose buffer exists before they are reached
        self.conditions: dict[str, tuple[str, int]] = {}  # the buffer of a value that decides, and the first call behind it
        self.lengths: dict[str, int] = {}  # how many nodes are deferred behind a value, see edgec/lower/chains.py
        self.problems: list[Problem] = []
        self._order = {node.name: place for place, node in enumerate(graph.nodes)}
        self._identifiers = {word.lower() for word in KEYWORDS | LOCALS}
        self._serials: dict[str, int] = {}
        self._constants: dict[tuple[str, Contents], str] = {}

    def inner(self, graph: Graph, matched: Matched) -> Lowering:
        """The lowering of a loop's body: to the same Program, over values of its own."""
        found = Lowering(graph, matched, self.target, self.program.name, self.options)
        found.program, found.problems = self.program, self.problems
        found._identifiers, found._serials, found._constants = self._identifiers, self._serials, self._constants
        return found

    # Names and buffers

    def identifier(self, hint: str) -> str:
        """A C identifier, not yet taken, near to an ONNX name."""
        word = re.sub(r"[^0-9A-Za-z]+", "_", hint).strip("_")[:LONGEST_NAME].strip("_") or "value"
        word = f"n{word}" if word[0].isdigit() else word
        serial = self._serials.get(word.lower(), 1)
        name = word if serial == 1 else f"{word}_{serial}"
        while name.lower() in self._identifiers or name in MACROS:
            serial += 1
            name = f"{word}_{serial}"
        self._serials[word.lower()] = serial
        self._identifiers.add(name.lower())
        return name

    def buffer(self, hint: str, dtype: DType, size: Expr, kind: Kind = Kind.ARENA) -> str:
        name = self.identifier(hint)
        self.program.buffers[name] = Buffer(name, dtype, size, kind)
        return name

    def constant(self, hint: str, array: np.ndarray, role: str = "table") -> str:
        """A buffer of the weights blob; equal contents of one role share one."""
        data = np.ascontiguousarray(array).reshape(-1)
        key = (role, contents(data))
        if key not in self._constants:
            name = self.identifier(hint)
            self.program.buffers[name] = Buffer(name, DType.of(data), const(data.size), Kind.CONSTANT, data=data)
            self._constants[key] = name
        return self._constants[key]

    def pointer(self, hint: str, array: np.ndarray) -> Pointer:
        return Pointer(self.constant(hint, array), const(0))

    def weights(self, hint: str, array: np.ndarray) -> Pointer:
        """Weights, biases and scales of a template kernel in plain order, by output channel; scheduling packs them."""
        return Pointer(self.constant(hint, array, "weights"), const(0))

    def literal(self, array: np.ndarray, hint: str = "constant") -> Value:
        """A known tensor; one that holds a single value becomes a literal, others a buffer once they are read."""
        shape = tuple(const(int(size)) for size in array.shape)
        dtype = DType.of(array)
        first = array.flat[:1]
        if array.size and bool((array == first).all()) and first.tobytes() * array.size == array.tobytes():  # 0.0 is not -0.0
            single = const(first.item(), dtype)
            return Value(dtype, shape, lambda index: single, free=True, constant=array)
        strides = packed_strides(shape, row_major(array.ndim))

        def at(index: Index) -> Expr:
            return View(self.constant(hint, array), dtype, const(0), strides).at(index)

        return Value(dtype, shape, at, free=True, constant=array)

    # Values

    def value(self, name: str) -> Value:
        """The tensor called `name`; constants are made on first use."""
        if name not in self.values:
            self.values[name] = self.literal(self.graph.constants[name], name)
        return self.values[name]

    def shape(self, name: str) -> Extents:
        return self.extents(self.graph.shape(name))

    def extents(self, dims: Sequence[Dim]) -> Extents:
        """Expressions of extents. Those that are computed from what the run counts are computed now, in a call of their own, if no call
        before has done so."""
        known, statements = dict[str, Expr](), list[Statement]()
        for dim in dims:
            self._derive(dim, known, statements)
        if statements:
            self.loops([], statements, "extents", Value(INT, (), lambda index: const(0), ops=("Extents",)))
        return extents(tuple(dims))

    def _derive(self, dim: Dim, known: dict[str, Expr], statements: list[Statement]) -> Expr:
        """An extent, behind statements that compute it: `known` are the variables of those that have been."""
        if not isinstance(dim, Symbol) or dim.made is None or dim.name in self.program.counts:
            return known.get(dim.name, extent(dim)) if isinstance(dim, Symbol) else extent(dim)
        value = derived(dim, lambda operand: self._derive(operand, known, statements), self.program.counts)
        name = self.program.counts[dim.name] = self.buffer("extent", INT, const(1))
        variable = known[dim.name] = var(f"n{len(known)}")
        statements += [Declare(variable, value), Store(name, const(0), variable)]
        return variable

    def define(self, name: str, value: Value) -> None:
        """Let `name` be `value`; what several readers would compute anew each is put into memory now."""
        if self.graph.reader_count(name) > 1:
            value = self.shared(value, name)
        self.values[name] = value

    def shared(self, value: Value, name: str) -> Value:
        """`value` in a form that any number of readers may evaluate."""
        free = value.coded.value.free if value.coded is not None else value.free
        return value if free else self.stored(value, name)

    def stored(self, value: Value, name: str) -> Value:
        """`value` computed into memory, as codes where it has them."""
        if value.coded is not None:
            codes = value.coded.value
            return self.recoded(value, self.materialize(codes, name, self.preferred(codes, name)))
        return self.materialize(value, name, self.preferred(value, name))

    def recoded(self, value: Value, stored: Value) -> Value:
        """`value` again, its 8-bit form now being `stored`."""
        assert value.coded is not None
        return decoded(Coded(stored, value.coded.zero, value.coded.scale), value.dtype)

    def preferred(self, value: Value, name: str) -> Order | None:
        """Channels-last when a convolution or pool reads `name`, perhaps through elementwise operators; else no wish."""
        return channels_last(value.rank) if value.rank >= 3 and wants_channels_last(self.graph, name) else None

    def dense(self, hint: str, dtype: DType, shape: Extents, order: Order) -> Value:
        """A new arena buffer for a tensor in the given memory order."""
        view = View(self.buffer(hint, dtype, product(tuple(map(most, shape)))), dtype, const(0), packed_strides(shape, order))
        return replace(viewed(view, shape), order=order)

    def places(self, hint: str, shape: Extents, extent: Expr) -> Value:
        """A new arena buffer for places on an axis: whoever reads it trusts that 0 <= place < extent."""
        result = self.dense(hint, INT, shape, row_major(len(shape)))
        name = view_of(result).buffer
        self.program.buffers[name] = replace(self.program.buffers[name], below=extent)
        return result

    def place(self, name: str, dtype: DType, shape: Extents, order: Order) -> Value:
        """Where the value `name` shall be written: its slice of a concatenation if one waits for it, else a new buffer."""
        view = destination(self.destinations.get(name), dtype, shape, order)
        return self.dense(name, dtype, shape, order) if view is None else viewed(view, shape)

    def materialize(self, value: Value, hint: str, order: Order | None = None, into: View | None = None) -> Value:
        """Compute `value` into memory (a new buffer unless `into` is given) by one loop nest."""
        order = order or value.order or row_major(value.rank)
        target = viewed(into, value.shape) if into is not None else self.dense(hint, value.dtype, value.shape, order)
        if into is not None:
            order = order_of(into, value.shape)
        axes, index = split_axes(value, order)
        self.loops(axes, [store(target, index, value.at(index))], hint, value)
        return target

    def keep(self, name: str, value: Value, stored: Value) -> None:
        """`stored` now holds `value` (or its 8-bit form), for later readers of `name` too; what is codes remains so."""
        known = self.values.get(name)
        if known is value:
            self.values[name] = replace(stored, coded=value.coded)
        elif known is not None and known.coded is not None and known.coded.value is value:
            self.values[name] = self.recoded(known, stored)

    # Calls

    def loops(
        self, axes: Sequence[Axis], body: Sequence[Statement], hint: str, about: Value, macs: int = 0, outside: str | None = None,
        in_order: bool = False,
    ) -> None:  # fmt: skip
        """Append a loop nest that computes `about`; `outside` is where it tells of an index out of range.

        in_order: iterations of the outermost loop may meet in memory, so no threads share them.
        """
        statements = nest(axes, body)
        counted = self._sizes(roots(statements))
        reads, writes = tuple(dict.fromkeys((*loads(statements), *counted))), stores(statements)
        call = self._call(about, hint, macs, reads, writes)
        known = not any(isinstance(e, Size) and e.counted for item in statements for e in distinct(expressions(item)))
        one_loop = len(statements) == 1 and isinstance(statements[0], For) and not in_order and known
        made = LoopCall(call, statements, one_loop, outside)
        if counted and any(unproven(self.program, made)):  # an element that is there in all other models
            raise Unsupported(f"{'+'.join(about.ops)} over elements that a run counts: there may be none", CUT)
        self.program.calls.append(made)

    def template(self, arguments: Arguments, hint: str, about: Value, macs: int, operands: str, lines: Sequence[str] = ()) -> None:
        """Append a call of a template kernel."""
        written: Pointer = vars(arguments)["y"]
        made = TemplateCall(self._call(about, hint, macs, read_by(arguments), (written.buffer,), operands, lines), arguments)
        if any(isinstance(e, Size) and e.counted for e in subexpressions(made)):
            raise Unsupported(f"{'+'.join(about.ops)} over elements that are counted while the model runs", CUT)
        self.program.calls.append(made)

    def _call(
        self, about: Value, hint: str, macs: int, reads: tuple[str, ...], writes: tuple[str, ...],
        operands: str = "", lines: Sequence[str] = (),
    ) -> Call:  # fmt: skip
        """What the next call says about itself, its nodes in their order: the first names it, as a reader of the model looks for the
        convolution, not for what was fused into it."""
        nodes = tuple(sorted(about.nodes, key=lambda name: self._order.get(name, len(self._order))))
        title = describe(len(self.program.calls), replace(about, nodes=nodes), macs, operands)
        return Call(self.identifier(f"{next(iter(nodes), hint)}_call"), nodes, (title, *lines), reads, writes, macs)

    def _sizes(self, found: Iterable[Expr]) -> list[str]:
        """Notes the sizes among expressions; the buffers of those that are counted."""
        counted = []
        for e in distinct(found):
            if isinstance(e, Size) and e.counted:
                counted.append(self.program.counts[e.name])
            elif isinstance(e, Size) and e not in self.program.sizes:
                self.program.sizes.append(e)
        return counted

    def absorb(self, node: Node) -> None:
        """`node` is computed by another node's kernel."""
        self.done.add(id(node))


def split_axes(value: Value, order: Order) -> tuple[list[Axis], tuple[Expr, ...]]:
    """Loop variables for every element of `value`, outermost first by `order`, and the index they form."""
    axes: list[Axis] = []
    index: list[Expr] = [const(0)] * value.rank
    for dim in order:
        factors = value.splits[dim] if value.splits else (value.shape[dim],)
        position: Expr = const(0)
        for size in factors:
            axis = var(f"i{len(axes)}")
            axes.append((axis, size))
            position = position * size + (const(0) if is_one(size) else axis)
        index[dim] = position
    return axes, tuple(index)
