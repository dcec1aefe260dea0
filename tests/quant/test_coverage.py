"""Which operators compute in integers, and where Q/DQ stand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

import edgec
from edgec.base.errors import ModelError, UsageError
from edgec.export import to_onnx
from edgec.integer import match
from edgec.ir.graph import Graph
from edgec.ir.verify import verify
from edgec.quant import QuantizeOptions, quantize
from edgec.quant.scope.coverage import select
from tests.quant.small import Small, net, samples, sqnr

PLAIN = QuantizeOptions(equalize=False)


def parameters(graph: Graph, value: str) -> tuple[float, int]:
    """Scale and zero point of `value`, which a DequantizeLinear must write."""
    node = graph.producer(value, "DequantizeLinear")
    assert node is not None, f"{value} is not quantized"
    return float(graph.constants[node.inputs[1]]), int(graph.constants[node.inputs[2]])


def names(graph: Graph) -> list[str]:
    return [layer.node.op for layer in select(graph).layers]


def test_the_activation_is_fused_and_zero_is_the_lowest_level() -> None:
    small = Small((1, 3, 8, 8))
    graph = small.done(small.conv(small.node("Relu", small.conv("x", 4)), 2))
    quantized = quantize(graph, samples(graph), PLAIN).graph
    convolution = next(node for node in quantized.nodes if node.op == "Conv")
    relu = quantized.readers(convolution.outputs[0])[0]
    assert relu.op == "Relu"
    assert [node.op for node in quantized.readers(relu.outputs[0])] == ["QuantizeLinear"]
    assert parameters(quantized, "relu_1")[1] == 0
    verify(quantized)


def test_an_activation_with_company_is_not_fused() -> None:
    small = Small((1, 3, 8, 8))
    first = small.conv("x", 4)
    graph = small.done(small.conv(small.node("Add", small.node("Relu", first), first), 2))
    assert names(graph) == ["Conv", "Relu", "Add", "Conv"]
    assert sqnr(graph, quantize(graph, samples(graph), PLAIN).graph) > 30


def test_the_tail_stays_in_float() -> None:
    small = Small((1, 3, 8, 8))
    last = small.conv("x", 4)
    axes = [small.node("Sigmoid", last), small.pool("MaxPool", last, 1)]
    graph = small.done(small.node("Concat", *axes, axis=1))
    assert names(graph) == ["Conv"]
    quantized = quantize(graph, samples(graph), PLAIN).graph
    assert [node.op for node in quantized.nodes][-4:] == ["Conv", "Sigmoid", "MaxPool", "Concat"]
    coded = quantize(graph, samples(graph), replace(PLAIN, codes_out=True)).graph
    assert [node.op for node in coded.nodes][-3:] == ["Sigmoid", "MaxPool", "Concat"] and parameters(coded, last)


def test_a_graph_output_keeps_its_name() -> None:
    small = Small((1, 3, 8, 8))
    middle = small.conv("x", 4)
    graph = small.done(middle, small.conv(middle, 2))
    quantized = quantize(graph, samples(graph), PLAIN).graph
    assert quantized.outputs == graph.outputs
    assert quantized.inputs == ["x"]
    assert sqnr(graph, quantized) > 35


def test_moved_data_keeps_its_parameters() -> None:
    small = Small((1, 4, 8, 8))
    pooled = small.pool("MaxPool", small.node("Relu", small.conv("x", 8)))
    turned = small.node("Transpose", pooled, perm=[0, 1, 3, 2])
    graph = small.done(small.conv(turned, 2))
    quantized = quantize(graph, samples(graph), PLAIN).graph
    assert parameters(quantized, "relu_1") == parameters(quantized, pooled) == parameters(quantized, turned)


def test_concat_shares_when_nobody_else_reads() -> None:
    small = Small((1, 4, 8, 8))
    one, two = small.node("Relu", small.conv("x", 4)), small.conv("x", 4)
    graph = small.done(small.conv(small.node("Concat", one, two, axis=1), 2))
    quantized = quantize(graph, samples(graph), PLAIN).graph
    assert parameters(quantized, one) == parameters(quantized, two) == parameters(quantized, "concat_3")


@pytest.mark.parametrize(("factor", "shared"), [(1.0, True), (40.0, False)])
def test_concat_requantizes_an_operand_that_others_need_finely(factor: float, shared: bool) -> None:
    small = Small((1, 4, 8, 8))
    fine, coarse = small.conv("x", 4), small.conv("x", 4)
    weights = small.graph.producer(coarse).inputs[1]  # type: ignore[union-attr]
    small.graph.constants[weights] = (small.graph.constants[small.graph.producer(fine).inputs[1]] * factor)[::-1].copy()  # type: ignore[union-attr]
    joined = small.node("Concat", fine, coarse, axis=1)
    graph = small.done(small.conv(joined, 2), small.conv(fine, 2))
    quantized = quantize(graph, samples(graph), PLAIN).graph
    assert (parameters(quantized, fine) == parameters(quantized, joined)) is shared


def test_one_pair_serves_all_readers() -> None:
    small = Small((1, 4, 8, 8))
    first = small.conv("x", 4)
    graph = small.done(small.node("Concat", small.conv(first, 2), small.conv(first, 2), small.conv(first, 2), axis=1))
    quantized = quantize(graph, samples(graph), PLAIN).graph
    activations = [node for node in quantized.nodes if node.op == "QuantizeLinear"]
    assert len(activations) == 2  # x and the first convolution; the others end in float


def test_float_readers_of_a_float_value_see_it_exactly() -> None:
    small = Small((1, 4, 8, 8))
    graph = small.done(small.conv("x", 4), small.node("Neg", "x"))
    quantized = quantize(graph, samples(graph), PLAIN).graph
    assert quantized.producer(graph.outputs[1]).inputs == ["x"]  # type: ignore[union-attr]


def test_weights_are_symmetric_per_channel_and_the_bias_fits_them() -> None:
    small = Small((1, 4, 8, 8))
    graph = small.done(small.conv("x", 6, spread=8.0))
    small.graph.constants[graph.nodes[0].inputs[1]][2] = 0  # a channel of zeros with a bias
    quantized = quantize(graph, samples(graph), PLAIN).graph
    convolution = next(node for node in quantized.nodes if node.op == "Conv")
    weights, bias = (quantized.producer(name) for name in convolution.inputs[1:])
    assert weights is not None and bias is not None
    stored, scales, zero = (quantized.constants[name] for name in weights.inputs)
    assert stored.dtype == np.int8 and stored.min() >= -127 and not zero.any() and weights.attributes["axis"] == 0
    assert scales.shape == (6,) and scales.dtype == np.float32
    kept, steps, _ = (quantized.constants[name] for name in bias.inputs)
    input_scale = np.float32(parameters(quantized, convolution.inputs[0])[0])
    assert kept.dtype == np.int32 and np.array_equal(steps, input_scale * scales)
    assert np.abs(kept.astype(np.int64)).max() + 127 * 255 * 36 < 2**31
    exact = graph.constants[graph.nodes[0].inputs[2]]
    assert kept[2] * float(steps[2]) == pytest.approx(float(exact[2]), rel=1e-5)


def test_what_could_overflow_stays_in_float() -> None:
    small = Small((1, 40000))
    weights = small.constant(np.full((40000, 2), 0.01, np.float32))
    graph = small.done(small.node("MatMul", "x", weights))
    assert select(graph).layers == ()
    assert "overflow" in select(graph).refused["MatMul0"]
    with pytest.raises(ModelError, match="nothing in this model"):
        quantize(graph, samples(graph, 1))


def test_excluded_nodes_stay_in_float() -> None:
    small = Small((1, 4, 8, 8))
    graph = small.done(small.conv(small.conv("x", 4), 4))
    result = quantize(graph, samples(graph), QuantizeOptions(exclude=("Conv1",)))
    kept = next(node for node in result.graph.nodes if node.name == "Conv1")
    assert kept.inputs[1] in result.graph.constants
    assert result.report.kept_in_float == {"Conv1": "excluded by the options"}
    with pytest.raises(UsageError, match="did you mean 'Conv1'"):
        quantize(graph, samples(graph), QuantizeOptions(exclude=("Conv_1",)))


def test_an_activation_stays_in_float_with_its_layer() -> None:
    """What it writes is stored, not what it reads."""
    small = Small((1, 4, 8, 8))
    first = small.node("Relu", small.conv("x", 4))
    graph = small.done(small.conv(first, 4))
    chosen = select(graph, ["Conv0"])
    assert chosen.refused == dict.fromkeys(("Conv0", "Relu1"), "excluded by the options") and chosen.values == (first,)
    assert select(graph, ["Relu1"]).refused == {"Relu1": "excluded by the options"}


def test_an_excluded_layer_is_not_split() -> None:
    """Half of its channels are so small that splitting helps; excluded it keeps its name, and stays whole."""
    small = Small((1, 6, 8, 8))
    value = small.node("HardSwish", small.conv("x", 16))
    value = small.conv(small.node("HardSwish", small.conv(value, 16, group=16)), 8)
    graph = small.done(value)
    first, depthwise = (node for node in graph.nodes if node.op == "Conv" and node.name in ("Conv0", "Conv2"))
    tiny = np.where(np.arange(16) < 8, 1e-3, 1).astype(np.float32)
    graph.constants[first.inputs[1]] = graph.constants[first.inputs[1]] * tiny.reshape(-1, 1, 1, 1)
    graph.constants[first.inputs[2]] = graph.constants[first.inputs[2]] * tiny
    graph.constants[depthwise.inputs[1]] = graph.constants[depthwise.inputs[1]] / tiny.reshape(-1, 1, 1, 1)
    assert quantize(graph, samples(graph)).calibration["splits"]
    for name, function in (("Conv0", ["HardSwish1"]), ("HardSwish1", []), ("Conv2", ["HardSwish3"])):
        result = quantize(graph, samples(graph), QuantizeOptions(exclude=(name,), rescue=False))
        assert not result.calibration["splits"] and list(result.report.kept_in_float) == [name, *function]


def test_a_model_with_parameters_is_left_alone() -> None:
    graph = net("resnet")
    once = quantize(graph, samples(graph)).graph
    again = quantize(once, samples(graph))
    assert [node.op for node in again.graph.nodes] == [node.op for node in once.nodes]
    assert again.calibration == {}
    assert "own parameters" in again.report.notes[0]


def test_the_largest_of_a_whole_picture_is_a_code(tmp_path: Path) -> None:
    """All between the convolutions computes in integers, and the package gives the evaluator's bytes."""
    small = Small((1, 3, 8, 8))
    graph = small.done(small.conv(small.node("GlobalMaxPool", small.conv("x", 6)), 4, kernel=1))
    quantized = quantize(graph, samples(graph), replace(PLAIN, codes_out=True)).graph
    matched = match(quantized)
    assert {node.op for node in quantized.nodes if node not in matched.at} == {"DequantizeLinear"} and not matched.refused
    onnx.save(to_onnx(quantized), tmp_path / "largest.onnx")
    assert edgec.build(tmp_path / "largest.onnx", target="portable", precision="int8", cc="gcc -O0", out=tmp_path / "out").examined
