"""Is a Graph well formed? Run between stages; a failure is a bug of the stage before, behind the import one of the file."""

from __future__ import annotations

from collections.abc import Callable

from edgec.base.errors import ModelError, Problem
from edgec.ir.graph import Graph, Node
from edgec.ir.loop import loops_in
from edgec.ir.types import DType, TensorType

InferRule = Callable[[Graph, Node], list[TensorType]]

# edgec.ops puts its shape rules here when it is imported: this room lies below it.
infer_rules: list[InferRule] = []


def verify(graph: Graph, hint: str = "this is a bug of edgec") -> None:
    """ModelError that lists everything: order of nodes, definitions, types against the shape rules, constants against their types."""
    if not infer_rules:
        raise RuntimeError("import edgec.ops before verifying: it brings the shape rules")
    problems = _problems(graph)
    if problems:
        raise ModelError(f"the graph {graph.name!r} is not well formed", problems, hint=hint)


def _problems(graph: Graph) -> list[Problem]:
    """Those of the bodies of its loops, else its own."""
    inner = [problem for loop in loops_in(graph) for problem in _problems(loop.body)]
    problems = [*inner, *_constants(graph), *_order(graph)]
    return problems or [problem for node in graph.nodes for problem in _types(graph, node)]


def _constants(graph: Graph) -> list[Problem]:
    problems = []
    for name, array in graph.constants.items():
        found = TensorType(DType.of(array), tuple(array.shape))
        if graph.types.get(name) != found:
            problems.append(Problem(f"is {found} but typed {graph.types.get(name)}", f"constant {name}"))
    return problems


def _order(graph: Graph) -> list[Problem]:
    """Every value is defined once, before it is read; every output is defined; every value has a type."""
    problems = [Problem("is an input and a constant", name) for name in graph.inputs if name in graph.constants]
    defined = set(graph.inputs) | set(graph.constants)
    for node in graph.nodes:
        where = f"{node.name} ({node.op})"
        problems += [Problem(f"reads {name!r} before it is defined", where) for name in node.inputs if name and name not in defined]
        for name in node.outputs:
            if not name:
                problems.append(Problem("has an output without a name", where))
            elif name in defined:
                problems.append(Problem(f"defines {name!r} a second time", where))
            defined.add(name)
    problems += [Problem("is not defined", f"output {name}") for name in graph.outputs if name not in defined]
    problems += [Problem("has no type", name) for name in sorted(defined - {""}) if name not in graph.types]
    problems += [Problem("has a type but no definition", name) for name in graph.types if name not in defined]
    return problems


def _types(graph: Graph, node: Node) -> list[Problem]:
    where = f"{node.name} ({node.op})"
    try:
        inferred = infer_rules[0](graph, node)
    except ModelError as error:
        return [Problem(error.summary, error.where, error.hint)]
    rows = list(zip(node.outputs, inferred, strict=True))
    return [Problem(f"{name!r} is {kind}, which holds nothing", where) for name, kind in rows if 0 in kind.shape] + [
        Problem(f"{name!r} is typed {graph.types[name]}, the rule says {kind}", where) for name, kind in rows if graph.types[name] != kind
    ]
