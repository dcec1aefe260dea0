"""Layers that read the same weights store them once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from edgec.ir.graph import Graph
from edgec.ops.registry import Role
from edgec.quant import QuantizeOptions, quantize
from edgec.quant.codes.rounding import Moments, damped, damped_rows
from edgec.quant.decisions.calibration_file import read_calibration
from edgec.quant.decisions.layers import rebuild
from edgec.quant.decisions.sharers import sharers_of, together
from edgec.quant.decisions.twins import stored_twin
from edgec.quant.fits.fitted import Fitted
from edgec.quant.scope.coverage import select
from edgec.quant.search.finer import round_finely
from tests.quant.small import Opened, Small, samples, sqnr


def recurrent(steps: int, width: int) -> Graph:
    """h = Tanh(h W + b[step]): the bias of one step is far larger than those of the others."""
    small = Small((1, width), seed=3)
    weights = small.constant((small.rng.standard_normal((width, width)) / width**0.5).astype(np.float32))
    value = "x"
    for step in range(steps):
        bias = small.constant((small.rng.standard_normal(width) * (3 if step == 1 else 0.1)).astype(np.float32))
        value = small.node("Tanh", small.node("Gemm", value, weights, bias, transA=0, transB=1, alpha=1.0, beta=1.0))
    return small.done(value)


def stored_weights(graph: Graph) -> set[str]:
    found = [graph.producer(node.inputs[1]) for node in graph.nodes if node.op == "Gemm"]
    return {dequantize.inputs[0] for dequantize in found if dequantize is not None}


def correlated(graph: Graph, count: int, seed: int) -> Opened:
    """Of which rounding knows what matters: three numbers tell all of one."""
    width = graph.types["x"].static_shape[1]
    mixed = np.random.default_rng(0).standard_normal((3, width))

    def opened() -> Iterator[dict[str, np.ndarray]]:
        rng = np.random.default_rng(seed)
        for _ in range(count):
            yield {"x": (rng.standard_normal((1, 3)) @ mixed).astype(np.float32)}

    return opened


def test_one_copy_is_stored_of_what_all_steps_read() -> None:
    graph = recurrent(3, 48)
    opened, others = correlated(graph, 32, 1), correlated(graph, 16, 2)
    nearest = quantize(graph, opened, QuantizeOptions(round_weights=False))
    made = quantize(graph, opened)
    taken = {step["step"]: (step["places"], step["taken"]) for step in made.report.steps}
    assert taken["rounding"] == (1, 1), "what the weights are is decided once"
    assert taken["bias correction"][0] == 3, "biases are each layer's own"
    assert len(stored_weights(made.graph)) == 1
    assert sqnr(graph, made.graph, others=others) > sqnr(graph, nearest.graph, others=others)


def test_finer_rounding_keeps_one_copy() -> None:
    graph = recurrent(3, 16)
    opened = samples(graph, 16)
    found = read_calibration(quantize(graph, opened).calibration, graph)
    finer = round_finely(graph, Fitted(found, opened, 16), None).calibration
    stored, selection = stored_twin(graph, finer)
    made = rebuild(stored, selection.matrices, finer.parameters, finer.weights)
    assert len({id(one.values) for one in made.values()}) == 1
    assert len({one.bias.tobytes() for one in made.values() if one.bias is not None}) == 3


def test_layers_with_other_decisions_have_weights_of_their_own() -> None:
    """As a calibration file of others may say."""
    graph = recurrent(3, 16)
    calibration = read_calibration(quantize(graph, samples(graph, 8), QuantizeOptions(effort="fast")).calibration, graph)
    stored, selection = stored_twin(graph, calibration)
    changed = selection.matrices[1].node.outputs[0]
    old = calibration.weights[changed]
    weights = {**calibration.weights, changed: replace(old, steps=np.ones_like(old.steps))}
    made = [rebuild(stored, selection.matrices, calibration.parameters, weights)[layer.node.outputs[0]] for layer in selection.matrices]
    assert not np.array_equal(made[0].values, made[1].values) and np.array_equal(made[0].values, made[2].values)


def test_weights_that_are_read_in_two_ways_are_not_shared() -> None:
    small = Small((1, 8))
    weights = small.constant(small.rng.standard_normal((8, 8)).astype(np.float32))
    biases = [small.constant(small.rng.standard_normal(8).astype(np.float32)) for _ in range(2)]
    value = small.node("Relu", small.node("Gemm", "x", weights, biases[0], transA=0, transB=1, alpha=1.0, beta=1.0))
    graph = small.done(small.node("Gemm", value, weights, biases[1], transA=0, transB=0, alpha=1.0, beta=1.0))
    layers = [layer for layer in select(graph).layers if layer.role is Role.MATRIX]
    assert [len(group) for group in together(sharers_of(layers))] == [1, 1]


def test_each_layer_has_a_mean_of_its_own() -> None:
    """The products are about it, whether they are there or only the rows."""
    rng = np.random.default_rng(0)
    rows = [(rng.standard_normal((2, 5, 80)) + offset).astype(np.float32) for offset in (0, 50)]
    moments = Moments()
    for number, one in enumerate(rows):
        moments.add(one, one, number)
    spreads, damping = damped_rows(moments)
    by_rows = spreads.transpose(0, 2, 1) @ spreads + damping[:, None, None] * np.eye(80)
    centred = np.concatenate([one - one.mean(axis=1, keepdims=True, dtype=np.float64) for one in rows], axis=1)
    np.testing.assert_allclose(by_rows - damping[:, None, None] * np.eye(80), centred.transpose(0, 2, 1) @ centred / 10, atol=1e-9)
    np.testing.assert_allclose(damped(moments), by_rows, atol=1e-3)
