"""A normalization in float has its scale, shift and bound in float: what is behind them is rounded once."""

from __future__ import annotations

import numpy as np
import pytest

from edgec.ir.graph import Graph
from edgec.quant import QuantizeOptions, quantize
from edgec.quant.scope.coverage import select
from edgec.quant.scope.normalized import WHY
from tests.quant.small import Small, samples, sqnr

PLAIN = QuantizeOptions(equalize=False, observer="minmax", round_weights=False, correct_bias=False, shape_sums=False)
CHANNELS, GROUPS = 16, 4


def instances(small: Small, x: str) -> str:
    """A normalization of groups, as PyTorch exports it."""
    shape, flat = small.graph.shape(x), small.constant(np.array([1, GROUPS, -1]))
    ones, zeros = (small.constant(np.full(GROUPS, number, np.float32)) for number in (1, 0))
    normal = small.node("InstanceNormalization", small.node("Reshape", x, flat, allowzero=0), ones, zeros, epsilon=1e-5)
    return small.node("Reshape", normal, small.constant(np.array(shape)), allowzero=0)


def squares(small: Small, x: str) -> str:
    """By the root of the mean square of each channel."""
    mean = small.node("ReduceMean", small.node("Mul", x, x), small.constant(np.array([2, 3])), keepdims=1, noop_with_empty_axes=0)
    return small.node("Div", x, small.node("Sqrt", small.node("Add", mean, small.constant(np.array([1e-5], np.float32)))))


def scaled(normalization: object) -> tuple[Graph, dict[str, str]]:
    small = Small((1, 3, 8, 8))
    normal = normalization(small, small.conv("x", CHANNELS))  # type: ignore[operator]
    channels = (small.constant(small.rng.uniform(*ends, (CHANNELS, 1, 1)).astype(np.float32)) for ends in ((0.1, 9), (-9, 9)))
    product = small.node("Mul", normal, next(channels))
    total = small.node("Add", product, next(channels))
    relu = small.node("Relu", total)
    return small.done(small.conv(relu, 4)), {"product": product, "total": total, "relu": relu}


@pytest.mark.parametrize("normalization", [instances, squares])
def test_only_what_comes_of_all_three_is_stored(normalization: object) -> None:
    graph, names = scaled(normalization)
    selection = select(graph)
    assert selection.values == ("x", names["relu"])
    steps = [graph.producer(end) for end in names.values()]
    assert [selection.refused[node.name] for node in steps if node is not None] == [WHY] * 3


def test_the_outputs_lose_less_than_by_a_rounding_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, _ = scaled(instances)
    known = samples(graph, 16)
    found = sqnr(graph, quantize(graph, known, PLAIN).graph)
    monkeypatch.setattr("edgec.quant.scope.candidates.behind_normalizations", lambda graph, written: frozenset())
    assert found > sqnr(graph, quantize(graph, known, PLAIN).graph) + 3


def test_steps_behind_anything_else_are_integers() -> None:
    small = Small((1, 3, 8, 8))
    total = small.node("Add", small.conv("x", CHANNELS), small.constant(np.ones((CHANNELS, 1, 1), np.float32)))
    graph = small.done(small.conv(small.node("Relu", total), 4))
    assert not select(graph).refused


def test_a_bound_from_above_alone_is_in_float_too() -> None:
    small = Small((1, 3, 8, 8))
    scale, most = small.constant(np.full((CHANNELS, 1, 1), 3, np.float32)), small.constant(np.array(2, np.float32))
    product = small.node("Mul", instances(small, small.conv("x", CHANNELS)), scale)
    graph = small.done(small.conv(small.node("Clip", product, "", most), 4))
    assert list(select(graph).refused.values()).count(WHY) == 3
