"""Channels that go together go together: shapes shrink, ONNX Runtime runs what is left, and channels of zeros change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from edgec.ir.graph import Graph
from edgec.ir.types import static
from edgec.passes import optimize
from edgec.prune import prune
from edgec.prune.channels import FIXED
from edgec.prune.choice import products_of
from edgec.prune.order import find_streams
from edgec.prune.shrink import kept_indices, shrink
from edgec.prune.ties import find_cells
from edgec.quant.runs.float_run import Probe
from tests.quant.small import Small, net, samples, sqnr

SHAPE = (1, 3, 9, 11)


def residual() -> Graph:
    small = Small(SHAPE)
    stem = small.node("Relu", small.conv("x", 16))
    branch = small.conv(small.node("Relu", small.conv(stem, 24)), 16)
    joined = small.node("Relu", small.node("Add", stem, branch))
    return small.done(small.node("GlobalAveragePool", small.conv(joined, 5, 1)))


def depthwise() -> Graph:
    small = Small(SHAPE)
    wide = small.node("Relu", small.conv("x", 24, 1))
    filtered = small.node("Relu", small.conv(wide, 24, 3, group=24))
    return small.done(small.conv(filtered, 6, 1))


def doubled() -> Graph:
    """Two filters for each channel."""
    small = Small(SHAPE)
    wide = small.node("Relu", small.conv("x", 12, 1))
    return small.done(small.conv(small.node("Relu", small.conv(wide, 24, 3, group=12)), 6, 1))


def concat() -> Graph:
    small = Small(SHAPE)
    parts = [small.node("Relu", small.conv("x", count, kernel)) for count, kernel in ((8, 1), (16, 3))]
    joined = small.pool("MaxPool", small.node("Concat", *parts, "x", axis=1))
    return small.done(small.conv(joined, 6))


def grouped() -> Graph:
    small = Small(SHAPE)
    wide = small.node("Relu", small.conv("x", 16))
    return small.done(small.conv(small.node("Relu", small.conv(wide, 24, 3, group=4)), 6, 1))


def shuffled() -> Graph:
    """Channels dealt out to groups between two grouped filters, as ShuffleNet has it."""
    small = Small(SHAPE)
    wide = small.node("Relu", small.conv(small.node("Relu", small.conv("x", 16)), 24, 1, group=2))
    apart = small.node("Reshape", wide, small.constant(np.array((1, 2, 12, 9, 11))), allowzero=0)
    dealt = small.node("Transpose", apart, perm=[0, 2, 1, 3, 4])
    joined = small.node("Reshape", dealt, small.constant(np.array((1, 24, 9, 11))), allowzero=0)
    return small.done(small.conv(small.node("Relu", small.conv(joined, 16, 3, group=2)), 6, 1))


def flat() -> Graph:
    """A convolution's map as the row of a matrix product."""
    small = Small((1, 3, 4, 5))
    wide = small.node("Relu", small.conv("x", 16))
    row = small.node("Reshape", wide, small.constant(np.array((1, 320))), allowzero=0)
    hidden = small.node("Relu", small.node("Gemm", row, small.constant(_matrix(320, 24)), alpha=1.0, beta=1.0, transA=0, transB=0))
    return small.done(small.node("MatMul", hidden, small.constant(_matrix(24, 5))))


def gated() -> Graph:
    """Squeeze and excitation, an affine step for each channel, and halves that are taken apart again."""
    small = Small(SHAPE)
    wide = small.node("Relu", small.conv("x", 16))
    gate = small.node("Sigmoid", small.conv(small.node("Relu", small.conv(small.node("GlobalAveragePool", wide), 8, 1)), 16, 1))
    scaled = small.node("Mul", small.node("Mul", wide, gate), small.constant(np.linspace(0.5, 2, 16, dtype=np.float32).reshape(16, 1, 1)))
    small.node("Split", scaled, small.constant(np.array((6, 10))), outputs=2, axis=1)
    first, second = small.graph.nodes[-1].outputs
    return small.done(small.node("Add", small.conv(first, 6, 1), small.conv(second, 6)))


def deconvolved() -> Graph:
    small = Small(SHAPE)
    wide = small.node("Relu", small.conv("x", 16))
    weights = small.rng.standard_normal((16, 12, 2, 2)).astype(np.float32) / 6
    attributes = {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [0] * 4, "dilations": [1, 1], "group": 1, "output_padding": [0, 0]}
    up = small.node("Relu", small.node("ConvTranspose", wide, small.constant(weights), **attributes))
    padded = small.node("Pad", up, small.constant(np.array((0, 0, 1, 1, 0, 0, 1, 1))), mode="constant")
    cut = small.node("Slice", padded, *(small.constant(np.array(one)) for one in ((2,), (9,), (1,), (1,))))
    return small.done(small.conv(cut, 5, 1))


def _matrix(rows: int, columns: int) -> np.ndarray:
    return (np.random.default_rng(rows).standard_normal((rows, columns)) / rows**0.5).astype(np.float32)


NETS: dict[str, Callable[[], Graph]] = {
    one.__name__: one for one in (residual, depthwise, doubled, concat, grouped, shuffled, flat, gated, deconvolved)
}


def some_gone(graph: Graph, seed: int = 0) -> tuple[Graph, Graph]:
    """The graph with the writers of some cells set to zero, and the graph without these cells; every fourth cell of each stream goes."""
    cells = find_cells(graph)
    stays = np.ones(len(cells.births), bool)
    for stream in find_streams(cells):
        stays[np.random.default_rng(seed).permutation(stream.cells)[: len(stream.cells) // 4]] = False
    kept = kept_indices(cells, cells.roots(), stays)
    zeroed = graph.copy()
    for node in zeroed.nodes:
        if node.op in ("Conv", "ConvTranspose", "Gemm") and node.outputs[0] in kept:
            gone = ~kept[node.outputs[0]][1]
            weights = zeroed.constants[node.inputs[1]].copy()
            axis = 0 if node.op == "Conv" else 1
            np.moveaxis(weights, axis, 0)[gone] = 0
            node.inputs[1] = zeroed.add_constant("zeroed", weights)
            if node.input(2):
                node.inputs[2] = zeroed.add_constant("zeroed", np.where(gone, np.float32(0), zeroed.constants[node.inputs[2]]))
    zeroed.touched()
    return zeroed, shrink(graph, kept)


@pytest.mark.parametrize("name", [name for name in NETS if name != "gated"])  # a gate of zeros is a half
def test_channels_of_zeros_are_not_missed(name: str) -> None:
    """Which tells that what goes together was found: no other channel reads or makes what is gone."""
    zeroed, small = some_gone(NETS[name]())
    sizes = [sum(products_of(graph, node) for node in graph.nodes) for graph in (zeroed, small)]
    assert sizes[1] < 0.9 * sizes[0]
    one, two = Probe(zeroed, zeroed.outputs), Probe(small, small.outputs)
    for sample in samples(small, 2, 5)():
        for value in small.outputs:
            np.testing.assert_allclose(two(sample)[value], one(sample)[value], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", NETS)
def test_half_of_a_network_is_gone_and_the_fit_makes_up_for_much(name: str) -> None:
    graph = NETS[name]()
    pruned = prune(graph, samples(graph, 24), 0.4)
    report, small = pruned.report, pruned.graph
    counted = [sum(products_of(one, node) for node in one.nodes) for one in (graph, small)]
    assert 0.4 <= report.macs == 1 - counted[1] / counted[0] < 0.7 and report.parameters > 0
    assert (small.inputs, small.outputs) == (graph.inputs, graph.outputs)
    assert [small.types[value] for value in (*small.inputs, *small.outputs)] == [graph.types[v] for v in (*graph.inputs, *graph.outputs)]
    assert report.layers and all(1 <= layer.after < layer.before for layer in report.layers)
    assert report.fitted >= report.plain and report.samples == 6 and report.apart
    assert abs(sqnr(graph, small, others=samples(graph, 64, 9)) - report.sqnr) < 3


def test_what_is_fitted_is_better_than_what_is_left() -> None:
    gains = []
    for name in ("residual", "depthwise", "concat", "grouped", "deconvolved"):
        report = prune(NETS[name](), samples(NETS[name](), 32), 0.3).report
        gains.append(report.fitted - report.plain)
    assert min(gains) > 0.5 and np.mean(gains) > 3


@pytest.mark.parametrize("family", ["mobilenet", "squeezenet", "yolox", "unet", "resnet"])
def test_the_families(family: str) -> None:
    graph = net(family)
    _, small = some_gone(graph)
    assert sum(products_of(small, node) for node in small.nodes) < 0.8 * sum(products_of(graph, node) for node in graph.nodes)
    again = small.copy()
    optimize(again)
    assert sqnr(small, again) > 100 and [small.types[one] for one in small.outputs] == [graph.types[one] for one in graph.outputs]


def test_dead_channels_go_first_and_cost_nothing() -> None:
    graph = residual()
    (hidden,) = (node for node in graph.nodes if node.op == "Conv" and graph.shape(node.outputs[0])[1] == 24)
    for place in (1, 2):
        array = graph.constants[hidden.inputs[place]].copy()
        array[::2] = 0
        graph.constants[hidden.inputs[place]] = array
    found = prune(graph, samples(graph, 16), 0.2)
    assert [(layer.node, layer.before, layer.after) for layer in found.report.layers] == [(hidden.name, 24, 16)]
    assert found.report.sqnr > 100
    (left,) = (node for node in found.graph.nodes if node.name == hidden.name)
    weights = found.graph.constants[left.inputs[1]]
    np.testing.assert_array_equal(weights[weights.any(axis=(1, 2, 3))], graph.constants[hidden.inputs[1]][1::2])


def test_no_part_of_a_split_is_emptied() -> None:
    """Two heads, computed together, keep a channel each: what goes instead of one that is spared must not empty the other."""
    small = Small((1, 3, 4, 5))
    together = small.node("Relu", small.conv(small.node("Relu", small.conv("x", 16)), 3, 1))
    small.node("Split", together, small.constant(np.array((2, 1))), outputs=2, axis=1)
    heads, parts = [], small.graph.nodes[-1].outputs
    for part, size in zip(parts, (40, 20), strict=True):
        row = small.node("Reshape", part, small.constant(np.array((1, size))), allowzero=0)
        heads.append(small.node("MatMul", row, small.constant(_matrix(size, 32))))
    graph = small.done(*heads)
    found = prune(graph, samples(graph, 16), 0.6).graph
    assert all(static(found.shape(part))[1] for part in parts)


def test_numbers_that_are_not_finite_spoil_nothing() -> None:
    graph = residual()

    def spoiled() -> Iterator[dict[str, np.ndarray]]:
        for number, sample in enumerate(samples(graph, 16)()):
            yield {"x": np.where(np.arange(11) == number, np.float32(np.nan), sample["x"])}

    found = prune(graph, spoiled, 0.3)
    assert all(np.isfinite(array).all() for array in found.graph.constants.values())
    assert sqnr(graph, found.graph) > 5


def test_the_same_again() -> None:
    graph = concat()
    one, two = (prune(graph, samples(graph, 8), 0.3).graph for _ in range(2))
    assert one.constants.keys() == two.constants.keys()
    assert all(np.array_equal(one.constants[name], two.constants[name]) for name in one.constants)


def test_what_is_tied() -> None:
    """Of a residual stream one cell for each channel; of equal groups one cell for the same place in each."""
    for build, value, count in ((residual, "add_5", 16), (grouped, "conv_2", 6), (doubled, "conv_2", 12), (shuffled, "conv_2", 6)):
        graph = build()
        cells = find_cells(graph)
        found = set(cells.roots()[cells.of[value].cells].tolist())
        assert len(found) == count and FIXED not in found, build.__name__
    assert static(residual().shape("add_5")) == (1, 16, 9, 11)
