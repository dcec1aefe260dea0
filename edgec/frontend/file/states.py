"""Outputs of one run that are inputs of the next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

from edgec.base.errors import Problem, UsageError, did_you_mean
from edgec.base.part import States
from edgec.ir.graph import Graph, State
from edgec.ir.types import DType

REFUSED = "the states do not fit the model"


def check_states(file: onnx.GraphProto, states: States) -> None:
    """UsageError with every name that is no input or no output of what is left of the model, and every output that is named twice."""
    weights = {tensor.name for tensor in file.initializer}
    inputs = [value.name for value in file.input if value.name not in weights]
    outputs = [value.name for value in file.output]
    made = {name for node in file.node for name in node.output}
    ends = [output for output, _ in states.values()]
    problems = []
    for name, (output, _) in states.items():
        where = f"--state {name}:{output}"
        if name not in inputs:
            problems.append(Problem(f"the model has no input {name!r}", where, did_you_mean(name, inputs)))
        if output not in outputs:
            hint = f"add --output {output}" if output in made else did_you_mean(output, outputs)
            problems.append(Problem(f"the model has no output {output!r}", where, hint))
        if ends.count(output) > 1:
            problems.append(Problem(f"{output!r} becomes two inputs", where, "let the model give it twice"))
    if states and not set(outputs) - set(ends):
        problems.append(Problem("no output is left for the caller", "--state", "a model that only remembers computes nothing"))
    if problems:
        raise UsageError(REFUSED, problems)


def keep_states(graph: Graph, states: States, empty: Sequence[str] = ()) -> None:
    """Set the states of an imported graph. `empty`: inputs that hold nothing. UsageError names every pair whose types differ or change."""
    problems = []
    for name, (output, start) in states.items():
        where = f"--state {name}:{output}"
        if name in empty:
            problems.append(Problem("the input holds nothing", where, "--shape pins the shape that the state keeps"))
            continue
        ends = graph.types[name], graph.types[output]
        if not all(kind.is_static for kind in ends):
            problems.append(Problem("only a run knows its shape", where, "a state keeps one shape: pin it with --shape"))
        elif ends[0] != ends[1] or graph.held_dtype(name) is not graph.held_dtype(output):
            told = [f"{graph.held_dtype(end).value}[{','.join(map(str, graph.shape(end)))}]" for end in (name, output)]
            problems.append(Problem(f"{told[0]} cannot become {told[1]}", where, "a state keeps its type and its shape"))
        elif not _holds(graph, name, start):
            problems.append(Problem(f"{start!r} is no {graph.held_dtype(name).value}", where, "start with another number"))
    if problems:
        raise UsageError(REFUSED, problems)
    graph.states.update({name: State(*state) for name, state in states.items()})


def _holds(graph: Graph, name: str, start: float) -> bool:
    """Whether the state's type has this number; floats round it, to another finite one."""
    kind = graph.held_dtype(name)
    if kind.is_float:
        with np.errstate(over="ignore"):
            return bool(np.isfinite(np.float64(start).astype(kind.numpy)))
    limits = (0, 1) if kind is DType.BOOL else (np.iinfo(kind.value).min, np.iinfo(kind.value).max)
    return float(start).is_integer() and limits[0] <= int(start) <= limits[1]
