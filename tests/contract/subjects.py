"""The nets that the contract is tested with: random, float or quantized, each with an exam that no emitted code has part in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx

from edgec.emit import ExamData
from edgec.exam.expected import write_exam
from edgec.export import to_onnx
from edgec.frontend import from_proto
from edgec.ir.graph import Graph
from edgec.lower import LowerOptions, lower
from edgec.lower.plan import plan
from edgec.oracle import Evaluator
from edgec.passes import optimize
from edgec.program.program import Program
from edgec.quant import QuantizeOptions, quantize
from edgec.schedule import schedule
from edgec.targets import Target, load_target
from tests.nets import MODELS

FAMILIES = tuple(MODELS)
SEED = 1
SAMPLES = 4


@dataclass(frozen=True, eq=False)
class Net:
    """A net: as imported, and as it is lowered."""

    name: str
    original: Graph
    graph: Graph


def samples_of(graph: Graph, seed: int = 7, count: int = SAMPLES) -> list[dict[str, np.ndarray]]:
    """Standard normal inputs."""
    generator = np.random.default_rng(seed)
    shapes = {name: graph.types[name].static_shape for name in graph.inputs}
    return [{name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()} for _ in range(count)]


def quantized_net(model: onnx.ModelProto, name: str, **choices: Any) -> Net:
    """`model` quantized on random samples; quick choices unless others are given. A model that comes quantized stays as it is."""
    net = float_net(model, name)
    options = QuantizeOptions(**{"observer": "minmax", "round_weights": False, **choices})
    return Net(name, net.original, quantize(net.graph, lambda: samples_of(net.original), options).graph)


def float_net(model: onnx.ModelProto, name: str) -> Net:
    """`model` imported and optimized."""
    original = from_proto(model).graph
    graph = original.copy()
    optimize(graph)
    return Net(name, original, graph)


@cache
def random_net(family: str, seed: int = SEED) -> Net:
    """A net of tests/nets.py, quantized."""
    return quantized_net(MODELS[family](seed), f"{family}_{seed}")


@cache
def random_float_net(family: str, seed: int = SEED) -> Net:
    return float_net(MODELS[family](seed), f"{family}_{seed}_float")


def program_of(net: Net, target: Target, **options: Any) -> Program:
    """The planned Program of `net`."""
    program = schedule(lower(net.graph, target, net.name, LowerOptions(**options)), target)
    plan(program)
    return program


@cache
def exam_of(net: Net) -> ExamData:
    """The exam that a build would write."""
    return write_exam(net.original, net.graph, program_of(net, load_target("portable")), lambda: samples_of(net.original), SEED)


def exact_exam(net: Net, vectors: Sequence[dict[str, np.ndarray]]) -> ExamData:
    """Questions of one's own to an imported quantized net; the evaluator answers from the model as it was imported."""
    evaluator = Evaluator(to_onnx(net.original))
    answers = [evaluator.run(vector) for vector in vectors]
    return ExamData(list(vectors), answers, {name: name in evaluator.exact_outputs for name in net.original.outputs})
