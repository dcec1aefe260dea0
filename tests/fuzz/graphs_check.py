"""From a model and its inputs to cases: the float Program with ONNX Runtime's answers, the int8 Program with the oracle's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx

from edgec.errors import ModelError
from edgec.export import to_onnx
from edgec.frontend import from_proto
from edgec.ir.graph import Graph
from edgec.lower import lower
from edgec.lower.plan import plan
from edgec.oracle import Evaluator
from edgec.passes import optimize
from edgec.program.program import Program
from edgec.quant import QuantizeOptions, quantize
from edgec.targets import Target
from tests.operators.case import Case
from tests.operators.own_cases import run_onnxruntime
from tests.operators.suite import Compiled
from tests.passes.compare import random_array

Arrays = Mapping[str, np.ndarray]


def optimized(model: onnx.ModelProto) -> Graph:
    graph = from_proto(model).graph
    optimize(graph)
    return graph


def program_of(graph: Graph, target: Target) -> Program:
    program = lower(graph, target, "case")
    plan(program)
    return program


def invented(model: onnx.ModelProto, generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Ordinary numbers for every input."""
    graph = from_proto(model).graph
    return {name: np.asarray(random_array(graph.types[name], generator)) for name in graph.inputs}


def float_case(name: str, model: onnx.ModelProto, inputs: Arrays, target: Target) -> Compiled:
    """ONNX Runtime's answer on the model as it is, each operator by itself."""
    expected = run_onnxruntime(model, dict(inputs))
    return Compiled(Case(f"{name}, float", "graph", model, dict(inputs), expected), program_of(optimized(model), target))


def int8_case(name: str, model: onnx.ModelProto, samples: Sequence[Arrays], target: Target) -> Compiled | None:
    """The model quantized on samples, and the oracle's answer to the first; outputs beyond the contract are not looked at.

    None for a model in which nothing can be quantized.
    """
    graph = optimized(model)
    try:
        graph = quantize(graph, lambda: [dict(sample) for sample in samples], QuantizeOptions()).graph
    except ModelError:
        return None
    exported, inputs = to_onnx(graph), {name: samples[0][name] for name in graph.inputs}
    evaluator = Evaluator(exported)
    answers = evaluator.run(inputs)
    expected = [answers[output] for output in graph.outputs]
    bounds = [
        np.full(array.shape, 0.0 if output in evaluator.exact_outputs else np.inf)
        for output, array in zip(graph.outputs, expected, strict=True)
    ]
    return Compiled(Case(f"{name}, int8", "graph", exported, inputs, expected, bounds=bounds), program_of(graph, target))
