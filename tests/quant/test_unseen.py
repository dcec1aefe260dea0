"""Other data have what no calibration sample has, those that judge included: no step may make that worse than plain min-max does."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from edgec.ir.graph import Graph
from edgec.quant import QuantizeOptions, quantize
from edgec.quant.given.options import Sample
from edgec.quant.runs.statistics import Extent
from tests.quant.small import Small, sqnr

PLAIN = QuantizeOptions(observer="minmax", equalize=False, round_weights=False, correct_bias=False, shape_sums=False)
CHANNELS = 8


def detector() -> Graph:
    """Eight features, and what follows from them."""
    small = Small((1, CHANNELS, 8, 8))
    first = small.conv("x", CHANNELS, 1)
    _, weights, bias = small.graph.nodes[0].inputs
    small.graph.constants[weights] = np.eye(CHANNELS, dtype=np.float32)[:, :, None, None]
    small.graph.constants[bias] = np.zeros(CHANNELS, np.float32)
    return small.done(small.conv(small.node("Relu", first), 2, 1))


def scenes(count: int, seed: int, last: float) -> Callable[[], Iterator[Sample]]:
    """Scenes whose last feature goes as far as `last`, and the others from 1/16 to 1."""
    sizes = np.append(np.geomspace(1 / 16, 1, CHANNELS - 1), last)[None, :, None, None]

    def opened() -> Iterator[Sample]:
        rng = np.random.default_rng(seed)
        for _ in range(count):
            yield {"x": (np.abs(rng.standard_normal((1, CHANNELS, 8, 8))).clip(0, 1) * sizes).astype(np.float32)}

    return opened


def test_a_feature_that_no_calibration_sample_has_is_not_cut_on_other_data() -> None:
    graph, known, others = detector(), scenes(32, 0, -1.0), scenes(20, 1, 0.9)
    found, plain = (quantize(graph, known, options).graph for options in (QuantizeOptions(), PLAIN))
    assert sqnr(graph, found, others=others) > sqnr(graph, plain, others=others) - 0.5


def test_the_fewer_samples_speak_for_a_channel_the_wider_it_is_expected() -> None:
    """Three channels of the same mean magnitude, beside a wide one: in all samples, in half of them, in one."""
    extent, count = Extent(4), 16
    for index in range(count):
        extent.add(np.array([[[16.0], [1.0], [2.0 * (index % 2)], [16.0 * (index == 5)]]]))
    wide, steady, half, once = extent.expected(count)
    assert extent.typical(count).tolist() == [16, 1, 1, 1]
    assert wide == 16 and steady < half < once
    assert (steady, once) == (pytest.approx((16 * 1 + 16) / 17), pytest.approx((1 * 1 + 16) / 2))
