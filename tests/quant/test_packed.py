"""What an input packs together has scales of its own behind the Slices that take it apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from edgec.ir.graph import Graph
from edgec.quant import quantize
from edgec.quant.given.options import Sample
from edgec.quant.scope.coverage import select
from tests.quant.small import Small


def packed(join: bool) -> Graph:
    """Two halves of an input, 1 and 1000 large, each through a convolution of its own, or together again as an image's are."""
    small = Small((1, 4, 8, 8))
    axes, steps = small.constant(np.array([1])), small.constant(np.array([1]))
    halves = [
        small.node("Slice", "x", small.constant(np.array([begin])), small.constant(np.array([begin + 2])), axes, steps) for begin in (0, 2)
    ]
    if join:
        return small.done(small.conv(small.node("Concat", *halves, axis=1), 3))
    return small.done(*(small.conv(half, 3) for half in halves))


def samples() -> Iterator[Sample]:
    rng = np.random.default_rng(0)
    for _ in range(8):
        x = rng.standard_normal((1, 4, 8, 8)).astype(np.float32)
        x[:, 2:] *= 1000
        yield {"x": x}


def test_each_part_has_its_own_scale() -> None:
    graph = packed(join=False)
    assert "x" not in select(graph).values
    scale = {layer["value"]: layer["scale"] for layer in quantize(graph, samples).report.to_json()["layers"]}
    small, large = (scale[node.outputs[0]] for node in graph.nodes if node.op == "Slice")
    assert large > 100 * small


@pytest.mark.parametrize(("join", "codes_out"), [(True, False), (False, True)])
def test_parts_of_one_thing_have_its_codes(join: bool, codes_out: bool) -> None:
    """So have those of an input whose codes the caller gives."""
    assert "x" in select(packed(join), codes_out=codes_out).values
