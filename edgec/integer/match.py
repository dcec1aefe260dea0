"""The stage between Q/DQ and a Program: which nodes are which integer operator. Quantization wrote the grids; nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from edgec.base.budget import check_time
from edgec.integer.grid import Grid, any_grid_of
from edgec.integer.operators import IntegerOperator, Join, Move
from edgec.integer.rules import Context, rules_of
from edgec.ir.graph import Graph, Node


@dataclass(frozen=True, eq=False)
class Matched:
    """operators: in the order of their nodes. at: by every node that an operator computes. grids: of the float values that are codes.

    refused: why a node near to codes stays in float. failed: nodes whose numbers cannot be computed with.
    """

    operators: tuple[IntegerOperator, ...]
    at: Mapping[Node, IntegerOperator]
    grids: Mapping[str, Grid]
    refused: Mapping[Node, str]
    failed: Mapping[Node, ArithmeticError] = field(default_factory=dict)


def match(graph: Graph, codes: Mapping[str, Grid] | None = None) -> Matched:
    """The integer operators of `graph`. codes: graph inputs that arrive as codes already."""
    context = Context(graph, dict(codes or {}))
    operators: list[IntegerOperator] = []
    at: dict[Node, IntegerOperator] = {}
    refused: dict[Node, str] = {}
    failed: dict[Node, ArithmeticError] = {}
    for node in graph.nodes:
        if node in at:
            continue
        try:
            found = _matched(context, node)
        except ArithmeticError as error:
            failed[node] = error
            continue
        check_time(f"{node.name} ({node.op})")
        if isinstance(found, IntegerOperator):
            operators.append(found)
            at.update(dict.fromkeys(found.nodes, found))
            for inner in found.inside:
                refused.pop(inner, None)
        elif found:
            refused[node] = found
    return Matched(tuple(operators), at, context.grids, refused, failed)


def _matched(context: Context, node: Node) -> IntegerOperator | str:
    """The operator at `node`, or why there is none: of several reasons the last. Tells the context which values are codes."""
    if node.op == "DequantizeLinear":
        grid = any_grid_of(context.graph, node)
        if grid is not None:
            context.grids[node.outputs[0]] = grid
        return ""
    why = ""
    for rule in rules_of(node):
        found = rule(context, node)
        if isinstance(found, IntegerOperator):
            _keep(context, found)
            return found
        why = found or why
    reads = any(name in context.grids for name in node.inputs)
    return why or (f"no clause computes {node.op}" if reads else "")


def _keep(context: Context, found: IntegerOperator) -> None:
    """Values that a float reader may read, and are codes."""
    if isinstance(found, Move):
        context.grids.update({name: found.operands[0].grid for name in found.node.outputs if name})
    if isinstance(found, Join) and found.tail is None:
        context.grids[found.node.outputs[0]] = found.grid
