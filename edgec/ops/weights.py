"""The numbers that an operator multiplies by must be numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgec.base.errors import ModelError, Problem
from edgec.ir.graph import Graph, Node
from edgec.ir.loop import loops_in
from edgec.ops import OPERATORS
from edgec.ops.registry import Role


def check_weights(graph: Graph, hint: str) -> None:
    """ModelError unless no constant is NaN and no weight infinite; infinities are fine in masks and bounds, NaN where Where chooses it."""
    problems = _problems(graph)
    if problems:
        raise ModelError(f"{len(problems)} weight tensor(s) are not finite", problems, hint=hint)


def _problems(graph: Graph) -> list[Problem]:
    """Those of the bodies of its loops too."""
    problems = [problem for loop in loops_in(graph) for problem in _problems(loop.body)]
    for name, array in graph.constants.items():
        if array.dtype.kind != "f":
            continue
        readers = graph.readers(name)
        weight = any(OPERATORS[node.op].role is Role.MATRIX or "Normalization" in node.op or "ize" in node.op for node in readers)
        computed = [node for node in readers if node.op != "Where"]
        if np.isnan(array).any() and (computed or not readers):
            problems.append(Problem("holds NaN", f"tensor {name}", _reader(computed)))
        elif weight and np.isinf(array).any():
            problems.append(Problem("holds infinities", f"tensor {name}", _reader(readers)))
    return problems


def _reader(nodes: Sequence[Node]) -> str:
    """Who it matters to; what nobody reads is an output."""
    return f"read by {', '.join(node.name for node in nodes[:3])}" if nodes else "an output, and known already: leave it out of the model"
