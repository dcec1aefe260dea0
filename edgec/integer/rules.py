"""The clauses of docs/int8.md, one rule each: the operator that a node is the heart of, or why it is none.

A reason is told where codes are near: an operand is codes, or a QuantizeLinear takes the result. "" is no reason worth telling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod

import numpy as np

from edgec.integer.dot_product import LIMIT, dot_product_of
from edgec.integer.grid import Grid, any_grid_of, code_of, ratio, stands_for, stored_type, usable
from edgec.integer.layer_norm import layer_norm_of
from edgec.integer.operators import (
    DotProduct,
    IntegerOperator,
    Join,
    Mean,
    Move,
    Multiplication,
    Operand,
    Quantize,
    Requantize,
    Sum,
    Table,
    Tail,
)
from edgec.integer.pair_product import is_pair, pair_product_of
from edgec.integer.roles import refusal
from edgec.integer.shaping import shaped_tail_of
from edgec.integer.softmax import softmax_of
from edgec.integer.tails import any_tail_of, tail_of
from edgec.integer.unary import Found, following_of, function_of, product_with_itself
from edgec.ir.graph import Graph, Node
from edgec.ir.text import value_name
from edgec.ops.registry import OPERATORS, Role

NO_TAIL = "its result does not go to one QuantizeLinear alone"
LARGE = "a multiplier is above 2^64"


@dataclass
class Context:
    """The graph, and the values known to be codes so far."""

    graph: Graph
    grids: dict[str, Grid] = field(default_factory=dict)

    def operand(self, name: str) -> Operand | None:
        """`name` as codes of 8 bits."""
        found = self.any_operand(name)
        return found if found is not None and found.grid.bits == 8 else None

    def any_operand(self, name: str) -> Operand | None:
        """`name` as codes of 8 or 16 bits."""
        return Operand(name, self.grids[name]) if name in self.grids else None

    def operands(self, names: list[str]) -> tuple[Operand, ...] | str:
        """All of `names` as codes of 8 bits, or which of them are none; "" where no single one is codes."""
        found = tuple(operand for operand in map(self.operand, names) if operand is not None)
        if len(found) == len(names):
            return found
        floats = [name for name in names if name not in self.grids]
        others = floats or [name for name in names if self.operand(name) is None]
        what = "floats" if floats else "codes of 16 bits"
        return f"it reads {what}: {', '.join(map(value_name, others))}" if any(name in self.grids for name in names) else ""


Answer = IntegerOperator | str
Rule = Callable[[Context, Node], Answer]


def quantize(context: Context, node: Node) -> Answer:
    """Clause 2, or 7 where the operand and the result are codes of 8 bits."""
    grid, source = any_grid_of(context.graph, node), context.operand(node.inputs[0])
    if grid is None:
        return "only constant per-tensor 8-bit parameters, or of 16 bits, are supported on computed values"
    tail = Tail(node.outputs[0], stored_type(context.graph, node), grid, 0, grid.most, ())
    moved = context.any_operand(node.inputs[0])
    if grid.bits == 16 and moved is not None and moved.grid == grid and 2.0**-100 < grid.scale < 2.0**100:
        return Requantize(node, (moved,), tail)  # clauses 3 and 2 give back what they are given
    if grid.bits == 8 and source is not None and usable(ratio(source.grid.scale, grid.scale)):
        return Requantize(node, (source,), tail)
    return Quantize(node, (), tail)


def dot_product(context: Context, node: Node) -> Answer:
    """Clause 4, 15 where 16 bits are near, or 16 for two computed operands."""
    if is_pair(context.graph, node):
        operands = context.operands(node.inputs)
        ending = tail_of(context.graph, node.outputs[0])
        return operands if isinstance(operands, str) else pair_product_of(context.graph, node, operands, ending)
    source, tail = context.any_operand(node.inputs[0]), any_tail_of(context.graph, node.outputs[0])
    if source is not None:
        shaped = shaped_tail_of(context.graph, node) if tail is None and source.grid.bits == 8 else None
        found = dot_product_of(context.graph, node, source.grid, shaped.tail, shaped) if shaped else ""
        return found if isinstance(found, DotProduct) else dot_product_of(context.graph, node, source.grid, tail)
    stored = context.graph.producer(node.input(1), "DequantizeLinear") is not None
    return f"it reads {_floats(context.graph, node.inputs[0])}: {value_name(node.inputs[0])}" if stored or tail else ""


def _floats(graph: Graph, name: str) -> str:
    """What a value is that is no codes of one grid: perhaps codes whose parameters go by channel."""
    node = graph.producer(name)
    scaled = node is not None and node.op == "Mul" and node.inputs[1] in graph.constants
    decode = graph.producer(node.inputs[0] if scaled and node is not None else name, "DequantizeLinear")
    if decode is None or not (scaled or graph.types[decode.inputs[1]].static_shape):
        return "floats"
    zero = graph.constant(decode.input(2)) if decode.input(2) else None
    return f"codes of several {'scales' if zero is None or (zero == zero.min()).all() else 'zero points'}"


def addition(context: Context, node: Node) -> Answer:
    """Clause 5."""
    operands, tail = context.operands(node.inputs), tail_of(context.graph, node.outputs[0])
    if isinstance(operands, str) or tail is None:
        return operands if isinstance(operands, str) else NO_TAIL
    first, second = (ratio(operand.grid.scale, tail.grid.scale) for operand in operands)
    if not usable(first, second):
        return LARGE
    return Sum(node, operands, tail, (first, -second if node.op == "Sub" else second))


def multiplication(context: Context, node: Node) -> Answer:
    """Clause 6."""
    operands, tail = context.operands(node.inputs), tail_of(context.graph, node.outputs[0])
    if isinstance(operands, str) or tail is None:
        return operands if isinstance(operands, str) else NO_TAIL
    with np.errstate(over="ignore"):
        multiplier = ratio(np.float32(operands[0].grid.scale * operands[1].grid.scale), tail.grid.scale)
    return Multiplication(node, operands, tail, multiplier) if usable(multiplier) else LARGE


def join(context: Context, node: Node) -> Answer:
    """Clause 7 for Concat. Operands of one grid just move, and keep it where the result goes anywhere else than to that grid."""
    operands, tail = context.operands(node.inputs), tail_of(context.graph, node.outputs[0], activation=False)
    if isinstance(operands, str):
        return operands
    grids = list(dict.fromkeys(operand.grid for operand in operands))
    if len(grids) == 1:
        same = tail is not None and tail.grid == grids[0]
        return Join(node, operands, tail if same else None, grids[0])
    if tail is None:
        return f"its operands have {len(grids)} grids, and {NO_TAIL}"
    if not usable(*(ratio(grid.scale, tail.grid.scale) for grid in grids)):
        return LARGE
    return Join(node, operands, tail, tail.grid)


def move(context: Context, node: Node) -> Answer:
    """Clause 7 for data movement and the largest of windows; 15 for movement of 16 bits."""
    source = context.any_operand(node.inputs[0])
    if source is None:
        return ""
    if source.grid.bits == 16 and node.op in ("MaxPool", "GlobalMaxPool"):
        return f"{node.op} of codes of 16 bits"
    why = _MOVES[node.op](context.graph, node, source.grid) or refusal(context.graph, node, Role.MOVE)
    return why or Move(node, (source,), None)


def _always(graph: Graph, node: Node, grid: Grid) -> str:
    return ""


def _resize(graph: Graph, node: Node, grid: Grid) -> str:
    return "" if node.attributes["mode"] == "nearest" else f"Resize {node.attributes['mode']} computes new numbers"


def _pad(graph: Graph, node: Node, grid: Grid) -> str:
    if node.attributes["mode"] != "constant":
        return ""
    given = graph.constant(node.input(2)) if node.input(2) else np.zeros(())
    if given is None:
        return "the padding value is computed"
    fill = given.reshape(()).item()
    return "" if stands_for(code_of(fill, grid), grid) == np.float32(fill) else f"no code stands for the padding value {fill:g}"


_MOVES: dict[str, Callable[[Graph, Node, Grid], str]] = {
    **dict.fromkeys((
        "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Split", "Expand", "Tile", "Gather", "DepthToSpace",
        "SpaceToDepth", "Identity", "MaxPool", "GlobalMaxPool",
    ), _always),
    "Resize": _resize, "Pad": _pad,
}  # fmt: skip


def mean(context: Context, node: Node) -> Answer:
    """Clause 8."""
    source, tail = context.operand(node.inputs[0]), tail_of(context.graph, node.outputs[0])
    if source is None or tail is None:
        return NO_TAIL if source else ""
    why = refusal(context.graph, node, Role.AVERAGE)
    if why:
        return why
    window = node.attributes["kernel_shape"] if node.op == "AveragePool" else context.graph.types[node.inputs[0]].static_shape[2:]
    factor, count = ratio(source.grid.scale, tail.grid.scale), prod(int(extent) for extent in window)
    if not usable(factor):
        return LARGE
    return Mean(node, (source,), tail, factor, count) if count * 255 < LIMIT else "the integer accumulator could overflow"


def table(context: Context, node: Node) -> Answer:
    """Clause 9, where one node is the function, or the first of a chain."""
    found = function_of(context.graph, node)
    return _table(context, node, found, ()) if found is not None else ""


def swish(context: Context, node: Node) -> Answer:
    """Clause 9, where a Mul multiplies its operand with a function of the same."""
    if len(node.inputs) == 2:
        for x, factor in (node.inputs, node.inputs[::-1]):
            found = product_with_itself(context.graph, node, x, factor) if x in context.grids else None
            if found is not None:
                return _table(context, node, (x, found[0]), found[1])
    return ""


def _table(context: Context, node: Node, found: Found, inside: tuple[Node, ...]) -> Answer:
    """By `node`, which computes what was found with those inside, and the functions that follow."""
    source = context.operand(found[0])
    if source is None:
        return ""
    functions, nodes = [found[1]], [*inside, node]
    while (following := following_of(context.graph, nodes[-1])) is not None:
        nodes.append(following[0])
        functions.append(following[1])
    tail = tail_of(context.graph, nodes[-1].outputs[0], activation=False)
    return Table(nodes[-1], (source,), tail, tuple(functions), inside=tuple(nodes[:-1])) if tail is not None else NO_TAIL


def softmax(context: Context, node: Node) -> Answer:
    """Clause 17."""
    source, tail = context.operand(node.inputs[0]), tail_of(context.graph, node.outputs[0], activation=False)
    if source is None or tail is None:
        return NO_TAIL if source else ""
    return softmax_of(context.graph, node, source, tail)


def layer_norm(context: Context, node: Node) -> Answer:
    """Clause 18."""
    source, tail = context.operand(node.inputs[0]), tail_of(context.graph, node.outputs[0], activation=False)
    if source is None or tail is None:
        return NO_TAIL if source else ""
    return layer_norm_of(context.graph, node, source, tail)


_OF_ROLE: dict[Role, tuple[Rule, ...]] = {
    Role.MATRIX: (dot_product,), Role.ADD: (table, addition), Role.MUL: (table, swish, multiplication), Role.CONCAT: (join,),
    Role.AVERAGE: (mean,), Role.TABLE: (table,),
    Role.SOFTMAX: (softmax,), Role.NORM: (layer_norm,),
}  # fmt: skip


def rules_of(node: Node) -> tuple[Rule, ...]:
    """The rules that may apply, those first that are tried first."""
    if node.op == "QuantizeLinear":
        return (quantize,)
    if node.op in _MOVES:
        return (move,)
    known = OPERATORS.get(node.op)
    return _OF_ROLE.get(known.role if known else Role.FLOAT, (table,))
