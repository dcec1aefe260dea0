"""Networks with normalizations over tokens: the residual stream stays in float, and the products that lead back to it end in float."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from edgec.export import to_onnx
from edgec.ir.graph import Graph
from edgec.oracle import Evaluator
from edgec.quant import QuantizeOptions, apply_calibration, quantize
from edgec.quant.findings.diagnose import diagnose
from edgec.quant.floats.attention import normalizations
from edgec.quant.scope.coverage import select
from edgec.quant.scope.residual import residual_values
from edgec.quant.scope.squares import WHY
from tests import nets
from tests.quant.small import Small, net, samples, sqnr

PLAIN = QuantizeOptions(equalize=False, observer="minmax", round_weights=False, correct_bias=False, shape_sums=False)
WIDTH = 12


def dense(small: Small, x: str, outputs: int, scale: np.ndarray | float = 1.0) -> str:
    inputs = small.graph.types[x].static_shape[-1]
    weights = small.rng.standard_normal((inputs, outputs)) * scale * inputs**-0.5
    return small.node("MatMul", x, small.constant(weights.astype(np.float32)))


def layer_norm(small: Small, x: str) -> str:
    ones = small.constant(np.ones(WIDTH, np.float32))
    return small.node("LayerNormalization", x, ones, axis=-1, epsilon=1e-5)


def root_mean_square_norm(small: Small, x: str) -> str:
    mean = small.node("ReduceMean", small.node("Mul", x, x), small.constant(np.array([-1])), keepdims=1, noop_with_empty_axes=0)
    return small.node("Div", x, small.node("Sqrt", small.node("Add", mean, small.constant(np.array([1e-5], np.float32)))))


NORMALIZATIONS = {"layer": layer_norm, "root mean square": root_mean_square_norm}


def block(kind: str, *, post: bool = False) -> tuple[Graph, dict[str, str]]:
    """A stream, of which two dense layers make one channel 300 times as large as the others; `post`: the sum is normalized."""
    small, norm, x = Small((1, 7, WIDTH)), NORMALIZATIONS[kind], "x"
    x = norm(small, x) if post else x
    wide = dense(small, x if post else norm(small, x), 4 * WIDTH)
    gelu = small.node("Gelu", wide, approximate="none")
    narrow = dense(small, gelu, WIDTH, np.where(np.arange(WIDTH) == 3, 300, 1))
    stream = small.node("Add", x, narrow)
    rows = small.node("Reshape", norm(small, stream), small.constant(np.array([7, WIDTH])), allowzero=0)
    out = dense(small, rows, 5)
    return small.done(out), {"wide": wide, "gelu": gelu, "narrow": narrow, "stream": stream, "out": out}


@pytest.mark.parametrize("post", [False, True])
@pytest.mark.parametrize("kind", NORMALIZATIONS)
def test_the_stream_and_what_leads_back_to_it_stay_in_float(kind: str, post: bool) -> None:
    """Where the normalizations that read it do."""
    graph, names = block(kind, post=post)
    selection = select(graph, exclude=[layer.node.name for layer in normalizations(select(graph))])
    assert [layer.node.op for layer in selection.matrices] == ["MatMul"] * 3
    assert {layer.node.outputs[0] for layer in selection.layers if layer.ends_in_float} == {names["narrow"], names["out"]}
    assert {names["wide"], names["gelu"]} <= set(selection.values)
    assert not {names["narrow"], names["stream"], names["out"]} & set(selection.values)


@pytest.mark.parametrize("kind", NORMALIZATIONS)
def test_small_channels_survive_large_ones(kind: str) -> None:
    """With the second dense layer's result in 8 bits it would be 28 dB."""
    graph, _ = block(kind)
    quantized = quantize(graph, samples(graph), PLAIN).graph
    assert sqnr(graph, quantized) > 35
    assert Evaluator(to_onnx(quantized)).exact_outputs == set(graph.outputs)


def joined() -> tuple[Graph, str]:
    """A class token, a hundredth as large as the others; what is computed of these is joined with it again, and the answer is its."""
    small = Small((1, 7, WIDTH))
    token = small.constant((0.02 * small.rng.standard_normal((1, 1, WIDTH))).astype(np.float32))
    stream = small.node("Concat", token, "x", axis=1)
    ends = [small.constant(np.array([number])) for number in (0, 1, 8)]
    own, others = (small.node("Slice", stream, begin, end, ends[1], ends[1]) for begin, end in pairwise(ends))
    again = small.node("Concat", own, small.node("Add", others, dense(small, others, WIDTH)), axis=1)
    first = small.node("Slice", layer_norm(small, again), *ends[:2], ends[1], ends[1])
    return small.done(dense(small, small.node("Reshape", first, small.constant(np.array([1, WIDTH])), allowzero=0), 5)), stream


def test_a_class_token_survives_the_tokens_that_it_is_joined_with() -> None:
    """With the joined stream in 8 bits all its numbers would be within two steps."""
    graph, stream = joined()
    assert stream not in select(graph).produced
    assert not any(layer.node.op == "Concat" for layer in select(graph).layers)
    assert sqnr(graph, quantize(graph, samples(graph), PLAIN).graph) > 35


def test_a_product_that_reads_the_stream_itself_takes_8_bits_of_it() -> None:
    """And the Add after it the float one: a sum between the two is no layer of its own."""
    small = Small((1, 7, WIDTH))
    first = small.node("Add", "x", dense(small, "x", WIDTH))
    second = small.node("Add", first, dense(small, first, WIDTH))
    graph = small.done(layer_norm(small, second))
    selection = select(graph)
    assert [layer.node.op for layer in selection.layers] == ["MatMul", "MatMul"] and selection.values == ("x", first)
    assert selection.refused == {"Add1": "a residual stream, which a normalization reads"}
    quantized = quantize(graph, samples(graph), PLAIN).graph
    assert quantized.producer(second).inputs[0] == first  # type: ignore[union-attr]


def test_moved_data_that_a_float_operator_reads_too_stays_in_float() -> None:
    small = Small((1, 7, WIDTH))
    rows = small.node("Reshape", layer_norm(small, dense(small, "x", WIDTH)), small.constant(np.array([7, WIDTH])), allowzero=0)
    total = small.node("Add", rows, dense(small, rows, WIDTH))
    graph = small.done(layer_norm(small, total))
    assert select(graph).values == ("x", rows)


def test_depthwise_convolutions_end_in_codes() -> None:
    small = Small((1, WIDTH, 6, 5))
    depthwise = small.conv("x", WIDTH, group=WIDTH)
    graph = small.done(layer_norm(small, small.node("Transpose", depthwise, perm=[0, 2, 3, 1])))
    assert residual_values(graph) and select(graph).values == ("x", depthwise)


@pytest.mark.parametrize("family", sorted(nets.MODELS))
def test_networks_without_such_normalizations_have_none(family: str) -> None:
    assert not residual_values(net(family))


def test_a_normalization_of_pictures_is_none() -> None:
    """The mean of squares over height and width, as instance normalizations are written out."""
    small = Small((1, 4, 6, 5))
    x = small.conv("x", 4)
    mean = small.node("ReduceMean", small.node("Mul", x, x), small.constant(np.array([2, 3])), keepdims=1, noop_with_empty_axes=0)
    graph = small.done(small.node("Div", x, small.node("Sqrt", mean)))
    assert not residual_values(graph)


def by_sums(small: Small, x: str, axis: int, features: int) -> str:
    """As JAX writes it: by the mean of squares less the square of the mean, of channels that are all large."""
    axes = small.constant(np.array([axis]))
    per_feature = [features if place == axis else 1 for place in range(3)]
    part = small.constant(np.array(1 / features, np.float32))

    def mean(value: str) -> str:
        return small.node("Mul", small.node("ReduceSum", value, axes, keepdims=1, noop_with_empty_axes=0), part)

    middle = mean(x)
    variance = small.node("Relu", small.node("Sub", mean(small.node("Mul", x, x)), small.node("Mul", middle, middle)))
    root = small.node("Sqrt", small.node("Add", variance, small.constant(np.array([1e-6], np.float32))))
    weights = small.constant(small.rng.uniform(0.5, 2, per_feature).astype(np.float32))
    factor = small.node("Mul", small.node("Reciprocal", root), weights)
    return small.node("Add", small.node("Mul", small.node("Sub", x, middle), factor), weights)


@pytest.mark.parametrize("axis", [1, 2])
def test_statistics_of_a_normalization_by_sums_stay_in_float(axis: int) -> None:
    """The variance is a small difference of two large numbers; in 8 bits it would often be 0."""
    small = Small((1, 7, WIDTH))
    large = small.node("Add", small.node("Mul", "x", small.constant(np.array([0.1], np.float32))), small.constant(np.ones(1, np.float32)))
    value = by_sums(small, large, axis, (7, WIDTH)[axis - 1])
    graph = small.done(dense(small, small.node("Reshape", value, small.constant(np.array([7, WIDTH])), allowzero=0), 5))
    selection = select(graph)
    assert [layer.node.op for layer in selection.layers][-2:] == ["Reshape", "MatMul"] and WHY in selection.refused.values()
    assert sqnr(graph, quantize(graph, samples(graph), PLAIN).graph) > 35


def test_products_of_what_was_summed_compute_in_integers() -> None:
    """As do sums of what is no square: only the statistics stay in float."""
    small = Small((1, 7, WIDTH))
    power = small.node("ReduceSum", small.node("Mul", "x", "x"), small.constant(np.array([1])), keepdims=0, noop_with_empty_axes=0)
    graph = small.done(dense(small, small.node("Relu", dense(small, power, WIDTH)), 5))
    assert [layer.node.op for layer in select(graph).layers] == ["MatMul", "MatMul"]


def test_the_calibration_is_repeated_and_diagnosed() -> None:
    graph, names = block("layer")
    result = quantize(graph, samples(graph))
    assert to_onnx(apply_calibration(graph, result.calibration)) == to_onnx(result.graph)
    layers = {layer.value: layer for layer in diagnose(graph, result.calibration, samples(graph)).layers}
    assert layers[names["gelu"]].scale > 0 and names["stream"] not in layers
    narrow = layers[names["narrow"]]  # its weights err, and nothing else does
    assert narrow.scale == 0 and narrow.saturated == 0 and narrow.local == narrow.weights < 60 < narrow.rounding
