"""Resize of known data, which is computed when the model is read, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from edgec.ir.graph import Node
from edgec.ops.evaluate import evaluate

TRANSFORMS = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric")
SCALES = (0.5, 0.6, 0.3333, 1.0, 1.5, 2.0, 3.0)


def engine(x: np.ndarray, given: np.ndarray, attributes: dict[str, str | int | float]) -> np.ndarray:
    by_scales = given.dtype == np.float32
    node = helper.make_node("Resize", ["x", "", "given"] if by_scales else ["x", "", "", "given"], ["y"], **attributes)
    kinds = [("x", TensorProto.FLOAT), ("given", TensorProto.FLOAT if by_scales else TensorProto.INT64)]
    inputs = [helper.make_tensor_value_info(name, kind, None) for name, kind in kinds]
    graph = helper.make_graph([node], "one", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return np.asarray(session.run(None, {"x": x, "given": given})[0])


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_known_data_is_resized_as_onnxruntime_does(mode: str, transform: str) -> None:
    g = np.random.default_rng(3)
    for _ in range(40):
        x = g.standard_normal((1, 2, *g.integers(2, 9, 2))).astype(np.float32)
        scales = np.array([1, 1, *g.choice(SCALES, 2)], np.float32)
        given = scales if g.random() < 0.5 else np.array([1, 2, *g.integers(1, 12, 2)])
        if given is scales and (np.floor(x.shape * scales) < 1).any():
            continue
        attributes: dict[str, str | int | float] = {"mode": mode, "coordinate_transformation_mode": transform}
        if mode == "cubic":
            attributes |= {"exclude_outside": int(g.integers(2)), "cubic_coeff_a": float(g.choice([-0.5, -0.75]))}
        operands = [x, None, given] if given is scales else [x, None, None, given]
        (found,) = evaluate(Node("Resize", ["x"], ["y"], attributes), operands)
        np.testing.assert_allclose(found, engine(x, given, attributes), rtol=1e-4, atol=1e-5)


def test_a_place_that_is_a_whole_number_is_that_pixel() -> None:
    """7 -> 3 pixels by 0.5 about the middle: the first is that of place 1 exactly, where sums in floats are beside it."""
    x = np.arange(7, dtype=np.float32).reshape(1, 1, 7, 1)
    attributes = {"mode": "cubic", "coordinate_transformation_mode": "half_pixel_symmetric", "exclude_outside": 1, "cubic_coeff_a": -0.5}
    (found,) = evaluate(Node("Resize", ["x"], ["y"], attributes), [x, None, np.array([1, 1, 0.5, 1], np.float32)])
    assert found.ravel().tolist() == [1, 3, 5]
