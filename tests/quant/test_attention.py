"""Attention becomes integers where the outputs hardly lose by it, and only there."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import numpy as np
import onnx
import pytest

from edgec.frontend import from_proto
from edgec.integer import match
from edgec.integer.operators import DotProduct, LayerNorm, Move, Multiplication, PairProduct, Quantize, Requantize, Softmax, Table
from edgec.ir.graph import Graph
from edgec.passes import optimize
from edgec.quant import QuantizeOptions, is_quantized, quantize
from edgec.quant.channels.features import choose_features, feature_counts
from edgec.quant.floats.attention import (
    ALLOWED,
    attention,
    choose_attention,
    choose_normalizations,
    groups,
    normalizations,
    standardizations,
)
from edgec.quant.network import NO_INTEGERS
from edgec.quant.runs.statistics import Extent
from edgec.quant.scope.coverage import select
from edgec.quant.trials.scores import Score
from tests.attention import vit
from tests.nets import Net
from tests.quant.small import score_of

FLOATS = 40.0  # dB, with all of attention in float


def network(blocks: int = 2) -> Graph:
    graph = from_proto(vit(1, blocks)).graph
    optimize(graph)
    return graph


def scored(lost: dict[str, float], kept: Collection[str]) -> Score:
    """Where each node that is no float node costs its share in dB."""
    return score_of(np.array([10 ** (-(FLOATS - sum(cost for name, cost in lost.items() if name not in kept)) / 10)]))


@pytest.mark.parametrize(
    ("costs", "wanted"),  # of the first product, Softmax and the second product of each block, in shares of what is allowed
    [
        ([0.1] * 6, set()),
        ([0.1, 0.9, 0.1] * 2, {1, 4}),
        ([0.1, 0.6, 2.0, 0.1, 0.6, 2.0], {1, 2, 4, 5}),
        ([0.1, 0.1, 2.0, 0.1, 0.1, 0.1], {1, 2}),
        ([2.0, 0.0, 0.0, 0.1, 0.1, 0.1], {0, 1, 2}),
        ([2.0] * 6, {0, 1, 2, 3, 4, 5}),
    ],
)
def test_as_much_as_is_allowed(costs: list[float], wanted: set[int]) -> None:
    graph = network()
    layers = attention(select(graph))
    names = [layer.node.name for layer in layers]
    assert [layer.node.op for layer in layers] == ["MatMul", "Softmax", "MatMul"] * 2
    lost = {name: cost * ALLOWED for name, cost in zip(names, costs, strict=True)}
    kept = choose_attention(graph, layers, scored(lost, names), lambda floats: scored(lost, floats))
    assert kept == {names[place] for place in wanted}


@pytest.mark.parametrize(("apart", "kept"), [(0.0, 0), (0.5, 6)])
def test_what_chance_may_hide_counts_as_lost(apart: float, kept: int) -> None:
    """Integers cost half of what is allowed on the mean sample; on some more, on others less."""
    layers = attention(select(graph := network()))
    turns = np.array([1.0, -1.0] * 4)
    floats, found = (score_of(10 ** (-(FLOATS - lost) / 10) / 8) for lost in (np.zeros(8), ALLOWED / 2 + 2 * apart * turns))
    assert len(choose_attention(graph, layers, floats, lambda kept: floats if len(kept) == len(layers) else found)) == kept


def test_the_usage_says_how_much_that_is() -> None:
    assert f"costs the outputs at most {ALLOWED:g} dB" in (Path(__file__).parents[2] / "docs" / "usage.md").read_text()


@pytest.mark.parametrize(("costs", "wanted"), [([0.1] * 4, set()), ([0.4] * 4, {2, 3}), ([2, 0, 0, 0.1], {0}), ([2] * 4, {0, 1, 2, 3})])
def test_as_many_normalizations_as_are_allowed(costs: list[float], wanted: set[int]) -> None:
    """The last one, which only a mean of tokens reads, gives floats whatever it costs."""
    layers = normalizations(select(network()))
    names = [layer.node.name for layer in layers]
    assert [layer.node.op for layer in layers] == ["LayerNormalization"] * 4
    lost = {name: cost * ALLOWED for name, cost in zip(names, costs, strict=True)}
    kept = choose_normalizations(layers, scored(lost, names), lambda floats: scored(lost, floats))
    assert kept == {names[place] for place in wanted}


def test_groups_are_whole_blocks() -> None:
    graph = network(6)
    layers = attention(select(graph))
    found = list(groups(graph, layers))
    assert [len(group) for group in found] == [6, 6, 6] and frozenset().union(*found) == {layer.node.name for layer in layers}


def samples(shape: tuple[int, ...], scale: float = 1.0) -> list[dict[str, np.ndarray]]:
    random = np.random.default_rng(5)
    return [{"x": (scale * random.standard_normal(shape)).astype(np.float32)} for _ in range(4)]


def test_a_transformer_in_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgec.quant.floats.attention.ALLOWED", 6.0)
    data = samples((1, 3, 20, 25))
    found = quantize(network(), lambda: data, QuantizeOptions(effort="fast"))
    operators = [type(operator) for operator in match(found.graph).operators]
    assert operators.count(PairProduct) == 4 and operators.count(Softmax) == 2 and operators.count(LayerNorm) == 4
    assert operators.count(Table) == 2 and operators.count(Multiplication) == 0  # GELU, and nothing for the scale of the scores
    assert not any("attention" in why for why in found.report.kept_in_float.values())


def peaked() -> onnx.ModelProto:
    """Attention whose second operand has one outlier that no probability ever lets through: 8 bits lose all the others."""
    net = Net("peaked", 3, (1, 16, 8))
    scores = net.node("MatMul", ["x", net.node("Transpose", ["x"], perm=[0, 2, 1])])
    mask = np.zeros((1, 16, 16), np.float32)
    mask[..., -1] = -1e4
    wide = np.ones((1, 16, 1), np.float32)
    wide[:, -1] = 1e5
    probabilities = net.node("Softmax", [net.add(scores, net.constant(mask))], axis=-1)
    return net.model(net.node("MatMul", [probabilities, net.node("Mul", ["x", net.constant(wide)])]))


def test_what_8_bits_cannot_hold_stays_in_float() -> None:
    graph = from_proto(peaked()).graph
    optimize(graph)
    data = samples((1, 16, 8))
    found = quantize(graph, lambda: data, QuantizeOptions(effort="fast"))
    kept = {name for name, why in found.report.kept_in_float.items() if "attention" in why}
    assert kept and all(sqnr > 15 for sqnr in found.report.outputs.values())
    assert found.calibration["exclude"], "what is applied again is the same"


def test_a_network_without_integers_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgec.quant.floats.attention.ALLOWED", 0.0)
    net = Net("similarity", 3, (1, 16, 8))
    graph = from_proto(net.model(net.node("MatMul", ["x", net.node("Transpose", ["x"], perm=[0, 2, 1])]))).graph
    optimize(graph)
    data = samples((1, 16, 8))
    found = quantize(graph, lambda: data, QuantizeOptions(effort="fast"))
    assert NO_INTEGERS in found.report.notes and not is_quantized(found.graph)
    with_integers = quantize(network(), lambda: samples((1, 3, 20, 25)), QuantizeOptions(effort="fast"))
    assert NO_INTEGERS not in with_integers.report.notes


def _tanh_gelu(net: Net, x: str) -> str:
    cubed = net.node("Mul", [net.node("Pow", [x, net.constant(np.float32(3))]), net.constant(np.float32(0.044715))])
    inner = net.node("Mul", [net.node("Add", [x, cubed]), net.constant(np.float32((2 / np.pi) ** 0.5))])
    gate = net.node("Add", [net.node("Tanh", [inner]), net.constant(np.float32(1))])
    return net.node("Mul", [net.node("Mul", [x, net.constant(np.float32(0.5))]), gate])


def _erf_gelu(net: Net, x: str) -> str:
    gate = net.node("Add", [net.node("Erf", [net.node("Div", [x, net.constant(np.float32(2**0.5))])]), net.constant(np.float32(1))])
    return net.node("Mul", [net.node("Mul", [x, net.constant(np.float32(0.5))]), gate])


def _quick_gelu(net: Net, x: str) -> str:
    return net.node("Mul", [x, net.node("Sigmoid", [net.node("Mul", [x, net.constant(np.float32(1.702))])])])


@pytest.mark.parametrize("gelu", [_erf_gelu, _tanh_gelu, _quick_gelu])
def test_gelu_between_two_layers_is_one_table(gelu: Callable[[Net, str], str]) -> None:
    net = Net("ffn", 1, (1, 6, 8))
    hidden = net.add(net.node("MatMul", ["x", net.normal(8, 32, scale=0.4)]), net.normal(32, scale=0.1))
    graph = from_proto(net.model(net.add(net.node("MatMul", [gelu(net, hidden), net.normal(32, 8, scale=0.2)]), net.normal(8)))).graph
    optimize(graph)
    data = samples((1, 6, 8))
    found = match(quantize(graph, lambda: data, QuantizeOptions(effort="fast")).graph)
    computing = [type(operator) for operator in found.operators if not isinstance(operator, Quantize | Requantize | Move)]
    assert computing == [DotProduct, Table, DotProduct] and not found.refused


def standardized(first: str, second: str, width: int = 6, *, pictures: bool = False) -> Graph:
    """Features, of which the first is far wider, less their middles and of one scale, and two products behind."""
    shape = (1, 2, 4, width) if pictures else (1, width)
    net = Net("policy", 9, shape)
    middles, scales = net.normal(width), net.constant(np.float32([0.02, *[1.0] * (width - 1)]))
    x = net.node(second, [net.node(first, ["x", middles]), scales])
    if pictures:
        x = net.node("Conv", [x, net.normal(8, 2, 3, 3, scale=0.3)], kernel_shape=[3, 3])
        return graph_of(net.model(x))
    hidden = net.node("Relu", [net.node("Gemm", [x, net.normal(width, 32, scale=0.5)])])
    return graph_of(net.model(net.node("Gemm", [hidden, net.normal(32, 3, scale=0.3)])))


def graph_of(model: onnx.ModelProto) -> Graph:
    graph = from_proto(model).graph
    optimize(graph)
    return graph


def test_features_are_standardized_before_they_are_stored() -> None:
    """Else all others would share the codes of the widest one: 29 dB in integers."""
    data = [{"x": sample["x"] * np.float32([50, 1, 1, 1, 1, 1])} for sample in samples((1, 6)) * 4]
    graph = standardized("Sub", "Mul")
    assert [layer.node.op for layer in standardizations(graph, select(graph))] == ["Sub", "Mul"]
    found = quantize(graph, lambda: data, QuantizeOptions(effort="fast"))
    assert min(found.report.outputs.values()) > 40
    assert [type(operator) for operator in match(found.graph).operators].count(DotProduct) == 2
    assert found.calibration["exclude"], "what is applied again is the same"


def test_so_are_those_of_signals_before_a_convolution() -> None:
    """As accelerometers and gyroscopes have them: 11 dB in integers."""
    data = [{"x": sample["x"] * np.float32([[50], [1], [1]])} for sample in samples((1, 3, 20)) * 4]
    net = Net("motion", 9, (1, 3, 20))
    x = net.node("Mul", [net.node("Sub", ["x", net.normal(3, 1)]), net.constant(np.float32([[0.02], [1], [1]]))])
    x = net.node("Conv", [x, net.normal(8, 3, 5, scale=0.3)], kernel_shape=[5])
    graph = graph_of(net.model(net.node("Conv", [net.node("Relu", [x]), net.normal(4, 8, 3, scale=0.2)], kernel_shape=[3])))
    found = quantize(graph, lambda: data, QuantizeOptions(effort="fast"))
    assert found.calibration["exclude"] and min(found.report.outputs.values()) > 35


def test_features_of_one_width_are_standardized_in_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgec.quant.floats.attention.ALLOWED", 20.0)
    found = quantize(standardized("Sub", "Mul"), lambda: samples((1, 6)), QuantizeOptions(effort="fast"))
    assert not found.calibration["exclude"]


def test_what_standardizes_no_features_of_matrices_is_no_matter() -> None:
    for graph in (standardized("Sub", "Mul", pictures=True), standardized("Sub", "Mul", 1)):
        assert not standardizations(graph, select(graph))


@pytest.mark.parametrize(("second", "apart", "equalized"), [("Mul", 1.5, False), ("Add", 1.5, True), ("Mul", 4.0, True)])
def test_what_is_standardized_is_equalized_no_further(second: str, apart: float, equalized: bool) -> None:
    """Such features go equally far; which ones went further in a few samples is luck, and factors by it cut others: by 5 dB. But one that
    goes 16 times as far as most is none."""
    graph = standardized("Sub", second)
    value = graph.nodes[1].outputs[0]
    extents = {name: Extent(size) for name, size in feature_counts(graph).items()}
    for extent in extents.values():
        for size in range(1, 17):  # a sample each
            extent.add(size * apart ** -np.arange(extent.channels)[:, None])
    found = choose_features(graph, select(graph, ["*Sub*", f"*{second}*"]), extents, 16)
    assert (value in found) is equalized and len(found) >= 1
