"""Types of node outputs, from the rules of OPERATORS."""

from __future__ import annotations

from edgec.base.errors import ModelError, Problem, did_you_mean
from edgec.ir.graph import Graph, Node
from edgec.ir.types import MOST_AXES, TensorType
from edgec.ir.verify import infer_rules
from edgec.ops.registry import OPERATORS, Call


def infer_node(graph: Graph, node: Node) -> list[TensorType]:
    """Types of the outputs of `node`; ModelError that names the node when its inputs do not fit."""
    where = f"{node.name or node.op} ({node.op})"
    if node.op not in OPERATORS:
        raise ModelError("unknown operator", where=where, hint=did_you_mean(node.op, OPERATORS))
    missing = [name for name in node.inputs if name and name not in graph.types]
    if missing:
        raise ModelError(f"input {missing[0]!r} has no type", where=where)
    try:
        types = OPERATORS[node.op].infer(Call(graph, node))
    except ModelError as error:
        raise ModelError(error.summary, where=where, hint=error.hint) from None
    except (KeyError, IndexError, ValueError) as error:
        raise ModelError(f"is not in canonical form: {error!r}", where=where) from error
    if len(types) < len(node.outputs):
        raise ModelError(f"has {len(node.outputs)} outputs, edgec computes {len(types)}", where=where)
    wrong = [kind for kind in types if any(isinstance(extent, int) and extent < 0 for extent in kind.shape)]
    if wrong:
        raise ModelError(f"its result would be {wrong[0]}", where=where, hint="no extent is below 0")
    most = max(len(kind.shape) for kind in types)
    if most > MOST_AXES:
        raise ModelError(f"its result has {most} axes, more than {MOST_AXES} dimensions", where=where)
    return types[: len(node.outputs)]


def infer_graph(graph: Graph) -> None:
    """Set the types of all node outputs, in order; every problem is listed at once."""
    problems: list[Problem] = []
    for node in graph.nodes:
        try:
            graph.types.update(zip(node.outputs, infer_node(graph, node), strict=True))
        except ModelError as error:
            problems.append(Problem(error.summary, error.where, error.hint))
    if problems:
        raise ModelError(f"the shapes of {len(problems)} operator(s) do not fit", problems)


infer_rules[:] = [infer_node]
