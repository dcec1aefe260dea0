"""The nodes of a graph in order, each by its rule; those of a loop's body as well."""

from __future__ import annotations

from collections.abc import Mapping

from edgec.base.budget import check_time
from edgec.base.errors import CUT, Problem, cut_hint
from edgec.ir.graph import Graph, Node
from edgec.ir.loop import loop_of
from edgec.ir.types import HELD_ONLY
from edgec.lower.attention import absorb_attention
from edgec.lower.branches import Guard, guards_of, keep_condition
from edgec.lower.builder import Lowering, Unsupported
from edgec.lower.chains import cut
from edgec.lower.concatenation import reserve
from edgec.lower.loop import repeat
from edgec.lower.operators import lower_node, rule_of
from edgec.lower.quantized import as_numbers, held_type, params_of
from edgec.lower.values import NotStatic, Value, extents
from edgec.program.expr import const

CONVERSIONS = ("Cast", "BitCast")  # what alone gives floats that are not computed with


def lower_nodes(lowering: Lowering) -> Mapping[str, frozenset[Guard]]:
    """Lowers the nodes of its graph, whose inputs have values; what could not be is among the problems. What nodes count under."""
    graph = lowering.graph
    guards = guards_of(graph)
    conditions = frozenset(name for found in guards.values() for name, _ in found)
    reserve(lowering)
    absorb_attention(lowering)
    for name in graph.inputs:
        keep_condition(lowering, conditions, name)
    for node in graph:
        if id(node) in lowering.done:
            continue
        try:
            _lower(lowering, node)
            cut(lowering, node)
            for name in node.outputs:
                keep_condition(lowering, conditions, name)
            check_time(f"{node.name} ({node.op})")
        except Unsupported as problem:
            hint = problem.hint.replace(CUT, _cut_there(graph, node), 1)
            lowering.problems.append(Problem(f"{node.op}: {problem.what}", node.name or node.outputs[0], hint))
            _placeholder(lowering, node)
        except NotStatic:
            what = f"{node.op}: an extent is only known when the model runs"
            lowering.problems.append(Problem(what, node.name or node.outputs[0], _cut_there(graph, node)))
            _placeholder(lowering, node)
        except ArithmeticError as error:  # an error of arithmetic comes from numbers, and those are the model's
            what = f"{node.op}: its numbers cannot be computed with ({error})"
            lowering.problems.append(Problem(what, node.name or node.outputs[0], "export the model again"))
            _placeholder(lowering, node)
    return guards


def _lower(lowering: Lowering, node: Node) -> None:
    loop = loop_of(node)
    if loop is not None:
        repeat(lowering, loop, lower_nodes)
        return
    _check(lowering.graph, node)
    lower_node(lowering, node)


def _cut_there(graph: Graph, node: Node) -> str:
    return cut_hint((name for name in node.inputs if graph.producer(name) is not None), node.outputs)


def _check(graph: Graph, node: Node) -> None:
    """Unsupported when no rule covers the node."""
    if rule_of(node.op) is None:
        raise Unsupported("there is no implementation", f"{CUT}, or export another operator")
    for name in node.outputs:
        if name and graph.dtype(name) in HELD_ONLY and node.op not in CONVERSIONS:
            raise Unsupported(f"the result is {graph.dtype(name).value}", "convert the model to float32")


def _placeholder(lowering: Lowering, node: Node) -> None:
    """Zeros in place of a node that failed, and of those computed with it, so that the nodes behind them can be checked too."""
    operator = lowering.matched.at.get(node)
    for output in (name for failed in (operator.nodes if operator else (node,)) for name in failed.outputs):
        if output:
            kind = lowering.graph.types[output]
            grid = lowering.matched.grids.get(output)
            dtype = held_type(lowering, grid) if grid else kind.dtype
            zeros = Value(dtype, extents(kind.shape), lambda index, d=dtype: const(0, d), free=True)  # type: ignore[misc]
            lowering.values[output] = as_numbers(zeros, params_of(lowering, grid)) if grid else zeros
