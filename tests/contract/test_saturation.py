"""What codes saturate at is no matter of a Clip: the exported model leaves it out, and answers the same."""

from __future__ import annotations

import numpy as np
import pytest

from edgec.export import onnx_file, to_onnx
from edgec.export.saturation import without_saturated_clips
from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType, TensorType
from edgec.oracle import Evaluator
from tests.contract.subjects import random_net, samples_of

FLOAT, CODES = TensorType(DType.FLOAT32, (4,)), TensorType(DType.UINT8, (4,))


def clipped(low: float | None, high: float | None, scale: float, zero_point: int, outputs: tuple[str, ...] = ("q",)) -> Graph:
    bounds = {name: np.array(value, np.float32) for name, value in (("low", low), ("high", high)) if value is not None}
    constants = bounds | {"scale": np.array(scale, np.float32), "zero": np.array(zero_point, np.uint8)}
    kinds = {name: TensorType(DType.UINT8 if name == "zero" else DType.FLOAT32, ()) for name in constants}
    graph = Graph("clipped", ["x"], outputs, constants=constants, types=kinds | {"x": FLOAT})
    names = [name if name in bounds else "" for name in ("low", "high")]
    graph.insert(Node("Clip", ["x", *names], ["y"], {}, "clip"), [FLOAT])
    graph.insert(Node("QuantizeLinear", ["y", "scale", "zero"], ["q"], {}, "quantize"), [CODES])
    return graph


@pytest.mark.parametrize(
    ("low", "high", "scale", "zero_point", "stays"),
    [
        (0.0, 6.0, 6.0069 / 255, 0, False),
        (0.0, 6.0, 6.02 / 255, 0, True),  # 6 is code 254
        (0.0, 6.0, 5.0 / 255, 0, False),
        (0.0, 6.0, 7.0 / 255, 0, True),
        (0.0, 6.0, 5.0 / 255, 1, True),  # -scale is code 0
        (-1.0, None, 1 / 127, 127, False),
        (None, 1.0, 1 / 128, 127, False),
        (None, 1.0, 1 / 100, 0, True),
    ],
)
def test_bounds_at_the_ends_of_the_codes_go(low: float | None, high: float | None, scale: float, zero_point: int, stays: bool) -> None:
    graph = clipped(low, high, scale, zero_point)
    assert [node.op for node in without_saturated_clips(graph)] == ["Clip"] * stays + ["QuantizeLinear"]
    assert [node.op for node in graph] == ["Clip", "QuantizeLinear"], "the graph itself must not change"


def test_what_somebody_else_sees_stays() -> None:
    graph = clipped(0.0, 6.0, 5.0 / 255, 0, ("y", "q"))
    assert without_saturated_clips(graph) is graph


def test_whole_networks_answer_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    net = random_net("mobilenet")
    model = to_onnx(net.graph)
    monkeypatch.setattr(onnx_file, "without_saturated_clips", lambda graph: graph)
    whole = to_onnx(net.graph)
    assert len(model.graph.node) < len(whole.graph.node)
    for sample in samples_of(net.original, 9, 3):
        found, expected = (Evaluator(one).run(sample) for one in (model, whole))
        assert all(np.array_equal(found[name], expected[name]) for name in net.graph.outputs)
