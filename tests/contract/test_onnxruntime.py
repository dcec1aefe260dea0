"""The exported model.int8.onnx is standard ONNX: operator by operator ONNX Runtime agrees with the evaluator but for rare ties."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnxruntime
import pytest

from edgec.export import to_onnx
from edgec.ir.graph import Graph, Node
from edgec.oracle import Evaluator
from tests.contract.examiner import WHOLE
from tests.contract.subjects import FAMILIES, SEED, random_net, samples_of

SEEDS = (SEED, 2, 3, 4) if WHOLE else (SEED, 2)
LEVELS = ("ORT_ENABLE_ALL", "ORT_DISABLE_ALL")  # its integer kernels, and its float ones between Q and DQ
MOST_APART = 0.002  # of the values of one operator, each by one step; of few values four
LEAST_SQNR = 30.0  # decibels, of the outputs: what one step early in the net has become at its end


def session(graph: Graph, level: str) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    return onnxruntime.InferenceSession(to_onnx(graph).SerializeToString(), options, providers=["CPUExecutionProvider"])


def operands(graph: Graph, node: Node) -> Iterator[str]:
    """The codes from which `node` computes its own: what the nearest QuantizeLinear before it gave."""
    for name in node.inputs:
        producer = graph.producer(name)
        if producer is None:
            continue
        if producer.op == "QuantizeLinear":
            yield name
        else:
            yield from operands(graph, producer)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_operators_on_equal_operands_give_equal_codes(family: str, seed: int, level: str) -> None:
    net = random_net(family, seed)
    nodes = [node for node in net.graph.nodes if node.op == "QuantizeLinear"]
    seen = net.graph.copy()
    seen.outputs = [node.outputs[0] for node in nodes]
    exact, other = Evaluator(to_onnx(seen)), session(seen, level)
    compared = 0
    for sample in samples_of(net.original, 9, 6):
        found, expected = dict(zip(seen.outputs, other.run(seen.outputs, sample), strict=True)), exact.run(sample)
        for node in nodes:
            if all(np.array_equal(found[name], expected[name]) for name in operands(net.graph, node)):
                name = node.outputs[0]
                apart = np.abs(found[name].astype(int) - expected[name].astype(int))
                assert apart.max() <= 1 and (apart > 0).sum() <= max(4, MOST_APART * apart.size), (name, apart.max(), (apart > 0).mean())
                compared += 1
    assert compared >= 2 * len(nodes), "too little was compared"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_outputs_agree(family: str, seed: int) -> None:
    net = random_net(family, seed)
    exact, other = Evaluator(to_onnx(net.graph)), session(net.graph, LEVELS[0])
    for sample in samples_of(net.original, 9, 6):
        expected = exact.run(sample)
        for name, found in zip(net.graph.outputs, other.run(net.graph.outputs, sample), strict=True):
            noise, signal = np.sum((found - expected[name]) ** 2), np.sum(expected[name] ** 2)
            assert noise * 10 ** (LEAST_SQNR / 10) <= signal, name
