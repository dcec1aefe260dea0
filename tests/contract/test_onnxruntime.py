"""The exported model.int8.onnx is standard ONNX: operator by operator ONNX Runtime agrees with the evaluator but for rare ties."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import onnxruntime
import pytest

from edgec.export import to_onnx
from edgec.ir.graph import Graph
from edgec.oracle import Evaluator
from tests.contract.examiner import WHOLE
from tests.contract.subjects import FAMILIES, SEED, random_net, samples_of

SEEDS = (SEED, 2, 3, 4) if WHOLE else (SEED, 2)
LEVELS = ("ORT_ENABLE_ALL", "ORT_DISABLE_ALL")  # its integer kernels, and its float ones between Q and DQ
MOST_APART = 0.002  # of the values of one operator, each by one step; of few values eight
LEAST_SQNR = 25.0  # decibels, of the outputs: what one step early in the net has become at its end


def session(graph: Graph, level: str) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    return onnxruntime.InferenceSession(to_onnx(graph).SerializeToString(), options, providers=["CPUExecutionProvider"])


def found(value: str) -> str:
    """What is computed for `value`, which goes on with what it is given."""
    return f"{value}_found"


def apart(graph: Graph, values: Iterable[str]) -> Graph:
    """The graph in pieces between `values`, of which each is an input as well."""
    pieces = graph.copy()
    for value in values:
        producer = pieces.producer(value)
        assert producer is not None
        pieces.rewire(producer, producer.inputs, [found(value)])
        pieces.types[found(value)] = pieces.types[value]
        pieces.inputs.append(value)
    pieces.outputs = [found(value) for value in values]
    return pieces


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_operators_on_equal_operands_give_equal_codes(family: str, seed: int, level: str) -> None:
    net = random_net(family, seed)
    codes = [node.outputs[0] for node in net.graph.nodes if node.op == "QuantizeLinear"]
    whole = net.graph.copy()
    whole.outputs = codes
    exact, other = Evaluator(to_onnx(whole)), session(apart(net.graph, codes), level)
    names = {value.name for value in other.get_inputs()}
    for sample in samples_of(net.original, 9, 6):
        expected = exact.run(sample)
        answers = other.run([found(value) for value in codes], {name: one for name, one in {**sample, **expected}.items() if name in names})
        for value, answer in zip(codes, answers, strict=True):
            steps = np.abs(answer.astype(int) - expected[value].astype(int))
            assert steps.max() <= 1 and (steps > 0).sum() <= max(8, MOST_APART * steps.size), (value, steps.max(), (steps > 0).mean())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_outputs_agree(family: str, seed: int) -> None:
    net = random_net(family, seed)
    exact, other = Evaluator(to_onnx(net.graph)), session(net.graph, LEVELS[0])
    for sample in samples_of(net.original, 9, 6):
        expected = exact.run(sample)
        for name, answer in zip(net.graph.outputs, other.run(net.graph.outputs, sample), strict=True):
            noise, signal = np.sum((answer - expected[name]) ** 2), np.sum(expected[name] ** 2)
            assert noise * 10 ** (LEAST_SQNR / 10) <= signal, name
