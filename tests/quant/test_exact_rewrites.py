"""Equalizing and splitting leave the float function as it is; patches are what the operator multiplies."""

from __future__ import annotations

import numpy as np
import pytest

from edgec.export import to_onnx
from edgec.integer import match
from edgec.integer.operators import DotProduct
from edgec.ir.graph import Graph
from edgec.ir.verify import verify
from edgec.oracle import Evaluator
from edgec.quant import QuantizeOptions, apply_calibration, quantize
from edgec.quant.channels.equalize import Evenness, apply_factors, choose_factors, store_equalized
from edgec.quant.channels.split import apply_splits, find_chain, group_channels
from edgec.quant.decisions.calibration import packed
from edgec.quant.decisions.calibration_file import read_calibration
from edgec.quant.runs.float_run import Probe
from edgec.quant.scope.coverage import select
from edgec.quant.scope.patches import grouped_rows, patches, spread, ungrouped
from tests.quant.small import Small, net, samples, sqnr

FULL = Evenness(1.0, 1.0)


def test_equalizing_is_exact_through_sums_pools_and_concat() -> None:
    small = Small((1, 3, 12, 12))
    trunk = small.conv("x", 8, spread=6.0)
    side = small.conv(small.node("Relu", trunk), 8)
    added = small.node("Add", trunk, side)
    joined = small.node("Concat", small.pool("MaxPool", added), small.pool("AveragePool", side), axis=1)
    graph = small.done(small.conv(joined, 4))
    selection = select(graph)
    rng = np.random.default_rng(0)
    widths = {value: rng.uniform(0.05, 3, graph.types[value].static_shape[1]) for value in selection.values}
    found = choose_factors(graph, widths, FULL)
    factors = found.taken(found.free)
    assert trunk in factors and joined in factors
    assert "x" not in factors and graph.outputs[0] not in factors
    assert np.array_equal(factors[trunk], factors[added])
    changed = graph.copy()
    apply_factors(changed, factors)
    assert sqnr(graph, changed) > 110
    values = [trunk, side, joined]
    one, two = Probe(graph, values), Probe(changed, values)
    sample = next(samples(graph)())
    for value in values:
        np.testing.assert_allclose(two(sample)[value] * factors[value].reshape(1, -1, 1, 1), one(sample)[value], rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("op", ["LeakyRelu", "PRelu", "nearest", "linear"])
def test_equalizing_through_slopes_and_other_sizes_is_exact(op: str) -> None:
    small = Small((1, 3, 12, 12))
    slopes = small.constant(np.linspace(-0.5, 2, 8, dtype=np.float32).reshape(8, 1, 1))
    scales = small.constant(np.array([1, 1, 2, 2], np.float32))
    read = small.conv("x", 8, spread=6.0)
    made = {
        "LeakyRelu": lambda: small.node("LeakyRelu", read, alpha=0.2),
        "PRelu": lambda: small.node("PRelu", read, slopes),
    }
    written = made.get(op, lambda: small.node("Resize", read, "", scales, mode=op, coordinate_transformation_mode="asymmetric"))()
    graph = small.done(small.conv(written, 4))
    found = choose_factors(graph, {value: np.linspace(0.1, 1, 8) for value in (read, written)}, FULL)
    assert found.factors.keys() == {read, written}
    changed = graph.copy()
    apply_factors(changed, found.factors)
    assert sqnr(graph, changed) > 110


@pytest.mark.filterwarnings("error")
def test_what_a_factor_moves_beyond_float32_stays_finite() -> None:
    graph = bounded_net()
    node = next(node for node in graph.nodes if node.op == "Conv" and node.input(2))
    channels = graph.constants[node.inputs[1]].shape[0]
    node.inputs[2] = graph.add_constant("large_bias", np.full(channels, -1e38, np.float32))
    clip = next(node for node in graph.nodes if node.op == "Clip")
    clip.inputs[2] = graph.add_constant("large_bound", np.asarray(1e38, np.float32))
    apply_factors(graph, {value: np.full(channels, 1 / 64, np.float32) for value in (node.outputs[0], *clip.outputs)}, stored=clip.outputs)
    largest = np.finfo(np.float32).max
    assert (graph.constants[node.inputs[2]] == -largest).all() and graph.constants[clip.inputs[2]] == largest


def bounded_net(bound: float = 1.0) -> Graph:
    small = Small((1, 3, 12, 12))
    bounds = [small.constant(np.asarray(end, np.float32)) for end in (0.0, bound)]
    value = small.conv("x", 8, spread=6.0)
    for group in (8, 1):
        value = small.conv(small.node("Clip", value, *bounds), 8, group=group, spread=4.0)
    return small.done(value)


def test_equalizing_through_a_bounded_rectifier_is_exact_on_data_that_exceeds_the_observed_ranges() -> None:
    graph = bounded_net()
    selection = select(graph)
    probe, sample = Probe(graph, selection.values), next(samples(graph)())
    widths = {value: np.abs(array[0].reshape(array.shape[1], -1)).max(axis=1) for value, array in probe(sample).items()}
    found = choose_factors(graph, widths, FULL)
    assert len(found.bounded) == 2
    factors = found.taken(found.bounded)
    changed = graph.copy()
    apply_factors(changed, factors)
    verify(changed)
    larger = {"x": sample["x"] * 30}
    values = [*factors, *graph.outputs]
    exact, seen = Probe(graph, values)(larger), Probe(changed, values)(larger)
    for value, r in factors.items():
        assert value not in widths or (np.abs(exact[value][0].reshape(8, -1)).max(axis=1) > widths[value] * 1.5).any()
        np.testing.assert_allclose(seen[value] * r.reshape(1, -1, 1, 1), exact[value], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(seen[graph.outputs[0]], exact[graph.outputs[0]], rtol=1e-4, atol=1e-4)


def test_a_bound_for_each_channel_is_one_clip_where_8_bits_end_at_the_least() -> None:
    graph = bounded_net()
    clip = next(node for node in graph.nodes if node.op == "Clip")
    factors = {value: np.linspace(0.2, 1, 8).astype(np.float32) for value in (clip.inputs[0], clip.outputs[0])}
    changed = graph.copy()
    apply_factors(changed, factors, stored=[clip.outputs[0]])
    assert [node.op for node in changed.nodes] == [node.op for node in graph.nodes]
    sample = next(samples(graph)())
    seen = Probe(changed, [clip.outputs[0]])(sample)[clip.outputs[0]]
    exact = Probe(graph, [clip.outputs[0]])(sample)[clip.outputs[0]] / np.linspace(0.2, 1, 8).reshape(1, -1, 1, 1)
    np.testing.assert_allclose(seen, np.minimum(exact, 1.0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("excluded", ["Conv0", "Conv2", "Conv4"])
def test_layers_in_float_are_equalized_exactly_with_those_in_integers(excluded: str) -> None:
    """Its neighbours keep their factors, and a Clip of its own its bound for each channel."""
    graph = bounded_net()
    widths = {value: np.linspace(0.1, 1, graph.types[value].static_shape[1]) for value in select(graph).values}
    factors = choose_factors(graph, widths, FULL)
    changed = graph.copy()
    selection = store_equalized(changed, factors.factors, [excluded], False)
    verify(changed)
    assert [layer.node.name for layer in selection.matrices] == [name for name in ("Conv0", "Conv2", "Conv4") if name != excluded]
    bounds = {"Conv0": ["Clip1_bounds"], "Conv2": ["Clip1_bounds", "Clip3_bounds"], "Conv4": []}  # of what is not stored
    assert [node.name for node in changed.nodes if node.op == "Min"] == bounds[excluded]
    calibration = quantize(graph, samples(graph), QuantizeOptions("minmax", exclude=(excluded,), round_weights=False)).calibration
    forced = {**calibration, "factors": {value: packed(r) for value, r in factors.factors.items()}}
    assert (
        sqnr(graph, apply_calibration(graph, calibration)) > 25 and read_calibration(forced, graph).factors.keys() == factors.factors.keys()
    )


def test_streams_that_are_not_taken_keep_their_factors_at_1() -> None:
    graph = bounded_net()
    widths = {value: np.linspace(0.1, 1, graph.types[value].static_shape[1]) for value in select(graph).values}
    found = choose_factors(graph, widths, FULL)
    assert found.free == () and found.taken([]) == {}
    one, both = found.taken(found.bounded[:1]), found.taken(found.bounded)
    assert one.keys() < both.keys() and all(np.array_equal(r, both[value]) for value, r in one.items())


def test_a_nonlinear_function_forbids_factors() -> None:
    small = Small((1, 3, 12, 12))
    graph = small.done(small.conv(small.node("Sigmoid", small.conv("x", 8, spread=6.0)), 4))
    widths = {value: np.linspace(0.1, 1, graph.types[value].static_shape[1]) for value in select(graph).values}
    found = choose_factors(graph, widths, FULL)
    assert found.free == found.bounded == () and found.factors == {}


def split_net(function: str = "Swish", lines: bool = False) -> Small:
    """lines: behind each function a factor and an addend for all channels."""
    attributes = {"alpha": 1.0} if function == "Swish" else {}
    small = Small((1, 3, 24, 24), seed=4)
    first = small.conv("x", 12)
    weights, bias = (small.graph.constants[name] for name in small.graph.nodes[0].inputs[1:])
    scale = np.where(np.arange(12) % 3 == 0, 60.0, 0.3).astype(np.float32)
    weights *= scale[:, None, None, None]
    bias *= scale

    def behind(value: str) -> str:
        value = small.node(function, value, **attributes)
        factor, addend = (small.constant(np.array([number], np.float32)) for number in (0.6, -0.05))
        return small.node("Add", small.node("Mul", factor, value), addend) if lines else value

    deep = small.conv(behind(first), 12, group=12)
    small.graph.constants[small.graph.producer(deep).inputs[1]] /= scale[:, None, None, None]  # type: ignore[union-attr]
    small.done(small.conv(behind(deep), 4, 1))
    return small


def test_splitting_is_exact() -> None:
    graph = split_net().graph
    chain = find_chain(graph, graph.nodes[0])
    assert chain is not None and [node.op for node in chain.nodes] == ["Conv", "Swish", "Conv", "Swish"]
    changed = graph.copy()
    origins = apply_splits(changed, {chain.value: [[1, 4, 2], [0, 3], [5, 6, 7, 8, 9, 10, 11]]})
    verify(changed)
    assert origins["swish_3_joined"] == ("swish_3", [1, 4, 2, 0, 3, 5, 6, 7, 8, 9, 10, 11])
    assert sqnr(graph, changed) > 110


@pytest.mark.parametrize("function", ["Swish", "HardSwish"])  # a product computes the second with its sums, which nobody stores
@pytest.mark.parametrize("lines", [False, True])
def test_a_stem_of_very_uneven_channels_is_split(function: str, lines: bool) -> None:
    """Or has factors behind the function, where there can be any: they take no time."""
    graph = split_net(function, lines).graph
    result = quantize(graph, samples(graph))
    splits = {"conv_0": [[1, 2, 4, 5, 7, 8, 10, 11], [0, 3, 6, 9]]}
    assert result.calibration["splits"] == (splits if lines else {}) and bool(result.calibration["factors"]) != lines
    assert sqnr(graph, result.graph) > 25
    untabled = quantize(graph, samples(graph), QuantizeOptions(shape_sums=False)).calibration
    assert untabled["splits"] == (splits if lines or function == "Swish" else {})


@pytest.mark.parametrize("function", ["Swish", "HardSwish"])
def test_channels_are_equalized_behind_a_function_of_sums(function: str) -> None:
    """Exactly, and by as much as their spread; they are not split then."""
    graph = uneven_behind(function, 8.0)
    read = graph.nodes[1].outputs[0]
    plain, done = (
        quantize(graph, samples(graph, 16), QuantizeOptions(equalize=equalize, shape_sums=equalize)) for equalize in (False, True)
    )
    factors = done.calibration["factors"]
    assert read in factors and not done.calibration["splits"]
    assert sqnr(graph, done.graph, 64) > sqnr(graph, plain.graph, 64) + 3
    changed = graph.copy()
    apply_factors(changed, read_calibration(done.calibration, graph).factors)
    verify(changed)
    assert sqnr(graph, changed) > 110
    assert changed.producer(read).op == "Mul"  # type: ignore[union-attr]
    found = [operator for operator in match(done.graph).operators if isinstance(operator, DotProduct)]
    assert [operator.function.name for operator in found if operator.function] == [function] * 2
    assert to_onnx(apply_calibration(graph, done.calibration)) == to_onnx(done.graph)


@pytest.mark.parametrize("kind", ["one channel", "rows"])
def test_what_has_no_multiplier_by_channel_has_no_factors(kind: str) -> None:
    """A convolution of one channel, whose number would be a table's; and rows of a matrix, which are the channels of what reads them."""
    small = Small((1, 6, 10, 10))
    if kind == "one channel":
        parts = [small.node("HardSwish", small.conv("x", channels)) for channels in (1, 7)]
        graph = small.done(small.conv(small.node("Concat", *parts, axis=1), 4))
        graph.constants[graph.nodes[0].inputs[1]] *= 0.05
    else:
        rows = small.node("MatMul", "x", small.constant(small.rng.standard_normal((10, 12)).astype(np.float32)))
        graph = small.done(small.conv(small.node("HardSwish", rows), 4))
    result = quantize(graph, samples(graph, 16))
    assert Evaluator(to_onnx(result.graph)).exact_outputs == frozenset(graph.outputs)
    assert sqnr(graph, result.graph) > 25


def uneven_behind(function: str, spread: float) -> Graph:
    """conv -> function -> conv -> function -> conv: the first one's channels differ by `spread`, and the second one makes up for it."""
    attributes = {"alpha": 1.0} if function == "Swish" else {}
    small = Small((1, 4, 12, 12), seed=5)
    first = small.conv("x", 16)
    second = small.conv(small.node(function, first, **attributes), 8)
    graph = small.done(small.conv(small.node(function, second, **attributes), 4, 1))
    scale = np.geomspace(1, spread, 16).astype(np.float32)
    for name in graph.nodes[0].inputs[1:]:
        graph.constants[name] *= scale.reshape(-1, *[1] * (graph.constants[name].ndim - 1))
    graph.constants[graph.nodes[2].inputs[1]] /= scale[:, None, None]
    return graph


def test_even_channels_stay_together() -> None:
    assert group_channels(np.linspace(1, 2, 16), np.ones(16)) == [list(range(16))]
    assert [len(group) for group in group_channels(np.repeat([1.0, 30.0], [246, 10]), np.ones(256))] == [240, 16]  # in whole vectors
    assert quantize(net("yolox"), samples(net("yolox"), 2)).calibration["splits"] == {}


@pytest.mark.parametrize("group", [1, 4])
def test_patches_times_rows_is_the_convolution(group: int) -> None:
    small = Small((1, 8, 9, 7))
    graph = small.done(small.conv("x", 12, group=group))
    node = graph.nodes[0]
    node.attributes |= {"strides": [2, 1], "dilations": [1, 2], "pads": [1, 2, 0, 1]}
    from edgec.ops.infer import infer_graph

    infer_graph(graph)
    sample = next(samples(graph)())
    rows = grouped_rows(graph, node)
    product = np.einsum("gpk,gnk->pgn", patches(graph, node, sample["x"]), rows)
    product = product.reshape(len(product), -1) + graph.constants[node.inputs[2]]
    expected = Probe(graph, graph.outputs)(sample)[graph.outputs[0]].reshape(12, -1).T
    np.testing.assert_allclose(product, expected[spread(len(expected), rows.shape[2])], rtol=1e-4, atol=1e-5)
    assert np.array_equal(ungrouped(rows, graph, node), graph.constants[node.inputs[1]])
