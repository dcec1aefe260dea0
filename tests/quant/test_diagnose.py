"""A net with one layer made bad on purpose: the search names that layer, and no other."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import parser

from edgec.base.errors import UsageError
from edgec.frontend import from_proto
from edgec.ir.graph import Graph
from edgec.passes import optimize
from edgec.quant import Goal, QuantizeOptions, Samples, quantize
from edgec.quant.findings.advice import advise
from edgec.quant.findings.diagnose import diagnose
from edgec.records.diagnosis import BEST, Diagnosis
from tests.quant.small import Small, net, samples
from tests.quant.test_exact_rewrites import split_net

PLAIN = QuantizeOptions("minmax", equalize=False, round_weights=False, correct_bias=False, shape_sums=False)
DEPTH = 5


def chain(change: Callable[[Small, int, np.ndarray], np.ndarray] = lambda small, place, weights: weights) -> Graph:
    """DEPTH convolutions with Relu one after the other; `change` may spoil the weights of each."""
    small = Small((1, 6, 8, 8))
    value = "x"
    for place in range(DEPTH):
        value = small.conv(value, 12)
        node = small.graph.nodes[-1]
        node.name = f"layer{place}"
        node.inputs[1] = small.graph.add_constant("spoilt", change(small, place, small.graph.constants[node.inputs[1]].copy()))
        value = small.node("Relu", value)
    return small.done(value)


def found(graph: Graph, calibration: dict[str, Any], data: Samples | None = None) -> Diagnosis:
    return diagnose(graph, calibration, data or samples(graph, 4, seed=7))


def by_node(diagnosis: Diagnosis) -> dict[str, Any]:
    return {layer.node: layer for layer in diagnosis.layers}


@pytest.mark.parametrize("spoilt", range(1, DEPTH))
def test_weights_that_one_outlier_makes_coarse(spoilt: int) -> None:
    """One input channel is 0 and has huge weights, so the model stays as it is."""

    def outlier(small: Small, place: int, weights: np.ndarray) -> np.ndarray:
        if place == spoilt - 1:
            bias = small.graph.nodes[-1].inputs[2]
            weights[0], small.graph.constants[bias][0] = 0, 0
        if place == spoilt:
            weights[:, 0] = 60
        return weights

    graph = chain(outlier)
    diagnosis = found(graph, quantize(graph, samples(graph), PLAIN).calibration)
    worst = diagnosis.ranked[0]
    assert worst.node == f"layer{spoilt}" and worst.weights < 20 < worst.rounding and worst.cost > 0.9
    advice = next(advice for advice in diagnosis.advice if advice.node == worst.node)
    assert "in its weights" in advice.what and advice.attempt.startswith(f"--exclude layer{spoilt};")
    mended = quantize(graph, samples(graph), replace(PLAIN, exclude=(worst.node,))).report.outputs
    assert min(mended.values()) > min(diagnosis.judged.values()) + 10


@pytest.mark.parametrize("spoilt", range(DEPTH - 1))  # the last one ends in float
def test_an_error_is_local_in_one_layer_and_accumulates_from_there(spoilt: int) -> None:
    graph = chain()
    calibration = quantize(graph, samples(graph), PLAIN).calibration
    before, damaged = found(graph, calibration), copy.deepcopy(calibration)
    value = before.layers[spoilt + 1].value
    damaged["parameters"][value]["scale"] *= 16
    after = found(graph, damaged)
    assert after.ranked[0].node == f"layer{spoilt}" and after.ranked[0].rounding < 25 < after.ranked[0].weights
    for place, (one, other) in enumerate(zip(before.layers, after.layers, strict=True)):
        ours = place == spoilt + 1
        assert (other.local < one.local - 5) == ours, other.node
        assert (other.accumulated < one.accumulated - 3) == (place > spoilt), other.node


def test_a_channel_that_the_steps_of_its_value_lose() -> None:
    def tiny(small: Small, place: int, weights: np.ndarray) -> np.ndarray:
        if place == 2:
            bias = small.graph.nodes[-1].inputs[2]
            weights[3:6] *= 1e-5
            small.graph.constants[bias][3:6] = 0
            weights[7], small.graph.constants[bias][7] = 0, -1
        return weights

    graph = chain(tiny)
    diagnosis = found(graph, quantize(graph, samples(graph), PLAIN).calibration)
    lost = by_node(diagnosis)["layer2"]
    assert (lost.dead, lost.constant, lost.channels) == (3, 1, 12)
    assert not [layer.node for layer in diagnosis.layers if layer.dead and layer.node != "layer2"]
    costly = tuple(replace(layer, cost=0.2) for layer in diagnosis.layers)
    poor = replace(diagnosis, judged=dict.fromkeys(diagnosis.judged, 10.0), layers=costly)
    advice = [advice for advice in advise(poor, [node.name for node in graph.nodes]) if "lost in steps" in advice.what]
    assert "3 of 12 channels of layer2" in advice[0].what
    assert advice[0].attempt.startswith("--exclude layer2 --exclude layer3;")


def test_data_that_was_prepared_otherwise_is_said_of_the_input() -> None:
    graph = chain()
    calibration = quantize(graph, samples(graph), PLAIN).calibration

    def louder() -> Any:
        return ({"x": sample["x"] * 5} for sample in samples(graph, 4, seed=7)())

    diagnosis = found(graph, calibration, data=louder)
    source = by_node(diagnosis)["x"]
    assert source.operator == "input" and source.saturated > 0.2 and source.seen_high > 3 * source.high
    assert (
        diagnosis.advice[0].node == "x"
        and "[preprocess]" in diagnosis.advice[0].attempt
        and "input x goes from" in diagnosis.advice[0].what
    )
    assert not any("--samples" in advice.attempt for advice in diagnosis.advice), "it follows from the input"
    assert not any("input x" in advice.what for advice in found(graph, calibration).advice)


def test_layers_that_the_calibration_never_saw_so_large() -> None:
    graph = chain()
    calibration = quantize(graph, samples(graph), PLAIN).calibration
    value = found(graph, calibration).layers[3].value
    calibration["parameters"][value]["scale"] /= 4
    advice = found(graph, calibration).advice[0]
    assert advice.node == "layer2" and "--calib" in advice.attempt and "lie outside" in advice.what


def test_the_longest_tail_is_named() -> None:
    graph = chain()
    calibration = quantize(graph, samples(graph), PLAIN).calibration
    value = found(graph, calibration).layers[3].value
    calibration["parameters"][value]["scale"] *= 30
    diagnosis = found(graph, calibration)
    assert any("few numbers stretch" in advice.what and "--observer percentile" in advice.attempt for advice in diagnosis.advice)
    histogram = diagnosis.histograms[0]
    assert histogram.value == value and sum(histogram.counts) == 4 * 12 * 64 and len(histogram.counts) == 128
    assert histogram.middle[1] < diagnosis.ranked[0].high / 8


@pytest.mark.parametrize("family", ["squeezenet", "unet", "resnet"])
def test_every_family_of_nets(family: str) -> None:
    """Own errors are no larger than all errors together; what only moves data makes none; equal calls give equal facts."""
    graph = net(family)
    quantized = quantize(graph, samples(graph, 3), replace(PLAIN, observer="mse"))
    first, again = (diagnose(graph, quantized.calibration, samples(graph, 2)) for _ in range(2))
    assert first == again and first.advice
    assert sum(layer.cost for layer in first.layers) == pytest.approx(1.0)
    assert all(layer.local == BEST for layer in first.layers if layer.operator in ("Reshape", "MaxPool", "Transpose"))
    names = {(layer["node"], layer["operator"], layer["value"]) for layer in quantized.report.layers}
    assert names == {(layer.node, layer.operator, layer.value) for layer in first.layers if layer.scale}
    assert min(layer.local for layer in first.layers) > 10


def test_splits_and_factors_are_seen_through() -> None:
    """The float twin of an equalized network computes what the model does, so equalization is no error."""
    graph = net("mobilenet")
    quantized = quantize(graph, samples(graph, 12))
    calibration = quantized.calibration
    assert calibration["factors"] or calibration["splits"]
    diagnosis = diagnose(graph, calibration, samples(graph, 4))
    assert min(diagnosis.outputs.values()) > 30 and diagnosis.kept_in_float == quantized.report.kept_in_float


def test_a_part_of_a_layer_is_blamed_and_the_layer_excluded() -> None:
    graph = split_net().graph
    calibration = quantize(graph, samples(graph), QuantizeOptions(shape_sums=False)).calibration
    for value, kept in calibration["parameters"].items():
        kept["scale"] *= 40 if value == "conv_0_part0" else 1
    diagnosis = found(graph, calibration)
    assert diagnosis.ranked[0].node == "Conv0_part0"
    assert "--exclude Conv0" in diagnosis.advice[0].attempt and not any("_part" in advice.attempt for advice in diagnosis.advice)


def test_names_that_a_shell_or_a_pattern_would_misread() -> None:
    graph = chain()
    graph.nodes[4].name = "a [0]*,b$(x)"
    graph.touched()
    calibration = quantize(graph, samples(graph), PLAIN).calibration
    layer = by_node(found(graph, calibration))[graph.nodes[4].name]
    bad = Diagnosis(1, "mse", {"y": 10.0}, {"y": 10.0}, (replace(layer, cost=1.0, weights=5.0),), (0,), (), {})
    attempt = advise(bad, [graph.nodes[4].name])[0].attempt
    assert attempt.startswith("--exclude 'a [[]0][*]?b$(x)'")
    assert quantize(graph, samples(graph), replace(PLAIN, exclude=("a [[]0][*]?b$(x)",))).report.kept_in_float == dict.fromkeys(
        ("a [0]*,b$(x)", "Relu5"), "excluded by the options"
    )
    assert "no name" in advise(bad, [])[0].attempt
    long = "model/block/" * 9
    bad = replace(bad, layers=(replace(layer, node=f"{long}a/Conv2D_part0", cost=1.0, weights=5.0),))
    assert advise(bad, [f"{long}a/Conv2D", f"{long}b/Conv2D"])[0].attempt.startswith("--exclude '*/a/Conv2D'")


def test_no_samples_are_refused() -> None:
    graph = chain()
    calibration = quantize(graph, samples(graph), PLAIN).calibration
    with pytest.raises(UsageError, match="no samples"):
        diagnose(graph, calibration, lambda: iter(()))


@pytest.mark.parametrize(("huge", "told"), [(600.0, True), (1.0, False)])
def test_poor_answers_are_told_with_where_they_begin_and_what_mends_them(huge: float, told: bool) -> None:
    """One channel of a layer's weights reads nothing, and sets the steps of all others."""

    def outlier(small: Small, place: int, weights: np.ndarray) -> np.ndarray:
        if place == 0:
            weights[0], small.graph.constants[small.graph.nodes[-1].inputs[2]][0] = 0, 0
        if place == 1:
            weights[:, 0] = huge
        return weights

    graph = chain(outlier)
    notes = [note for note in quantize(graph, samples(graph, 16), PLAIN).report.notes if "--min-sqnr" in note]
    assert len(notes) == told and all("begins in layer1, in its weights; --min-sqnr 20 mends it" in note for note in notes)
    if told:
        assert not quantize(graph, samples(graph, 16), replace(PLAIN, goal=Goal(min_sqnr=20.0))).report.notes


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_numbers_that_are_not_finite_on_the_way() -> None:
    """Infinite minus infinite is nobody's error, and what stays in float has no range that cuts anything."""
    weights = ", ".join(["3.4028235e38"] + ["0.5"] * 8)
    nodes = "a = ConvTranspose(x, w) c = Sigmoid(a) d = Mul(a, c) f = Erf(d) y = Tanh(f)"
    text = f'<ir_version: 8, opset_import: ["": 17]> g (float[1,1,4,4] x) => (y) <float[1,1,3,3] w = {{{weights}}}> {{ {nodes} }}'
    graph = from_proto(parser.parse_model(text)).graph
    optimize(graph)
    assert "ConvTranspose_0, in its weights" in quantize(graph, samples(graph)).report.notes[-1]
