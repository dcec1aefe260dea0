"""Operands that say what a shape is and are computed while the model runs: the shape that the file declares for the result counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from edgec.base.errors import ModelError
from edgec.export import to_onnx
from edgec.frontend import from_proto

from .models import ints, model, node, run

RNG = np.random.default_rng(0)
M = RNG.standard_normal((1, 5, 5)).astype(np.float32)
X = RNG.standard_normal((2, 3, 4, 3)).astype(np.float32)


def declared(call: onnx.NodeProto, feeds: dict[str, np.ndarray], shape: list[int], opset: int = 18) -> onnx.ModelProto:
    kinds: dict[str, Any] = {name: (helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for name, array in feeds.items()}
    proto = model([call], kinds, ["y"], opset=opset)
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, shape))
    return proto


# the node, what it reads besides x, and the shape of its result
CASES: dict[str, tuple[onnx.NodeProto, dict[str, np.ndarray], list[int]]] = {
    "shape": (node("Reshape", "x s", "y"), {"s": ints(6, -1)}, [6, 12]),
    "new axes": (node("Unsqueeze", "x s", "y"), {"s": ints(0, -1)}, [1, 2, 3, 4, 3, 1]),
    "repeats": (node("Tile", "x s", "y"), {"s": ints(1, 2, 1, 3)}, [2, 6, 4, 9]),
    "expanded": (node("Expand", "x s", "y"), {"s": ints(2, 1, 1, 1, 1)}, [2, 2, 3, 4, 3]),
    "one of equal axes": (node("ReduceMax", "x a", "y", keepdims=0), {"a": ints(-1)}, [2, 3, 4]),
    "the other of equal axes": (node("ReduceMax", "x a", "y", keepdims=0), {"a": ints(1)}, [2, 4, 3]),
    "two of four axes": (node("ReduceSum", "x a", "y", keepdims=0), {"a": ints(-1, 2)}, [2, 3]),
    "axes that stay": (node("ReduceL2", "x a", "y"), {"a": ints(1, 0)}, [1, 1, 4, 3]),
    "running sums": (node("CumSum", "x a", "y", reverse=1, exclusive=1), {"a": ints(-2)}, [2, 3, 4, 3]),
    "a slice": (node("Slice", "x s e a p", "y"), {"s": ints(-1, 1), "e": ints(-99, 3), "a": ints(2, -1), "p": ints(-2, 1)}, [2, 3, 2, 2]),
    "a slice of the first axes": (node("Slice", "x s e", "y"), {"s": ints(1, -2), "e": ints(9, 9)}, [1, 2, 4, 3]),
    "padding": (node("Pad", "x p c", "y"), {"p": ints(0, 1, 0, 2, 1, 0, 0, 0), "c": np.array(7, np.float32)}, [3, 4, 4, 5]),
    "padding cropped": (node("Pad", "x p _ a", "y"), {"p": ints(-1, 2), "a": ints(2)}, [2, 3, 5, 3]),
    "mirrored": (node("Pad", "x p", "y", mode="reflect"), {"p": ints(0, 2, 3, 0, 0, 1, 0, 2)}, [2, 6, 7, 5]),
    "edges": (node("Pad", "x p", "y", mode="edge"), {"p": ints(1, 0, 0, 4, 0, 2, 0, 0)}, [3, 5, 4, 7]),
    "the largest": (node("TopK", "x k", "y i", axis=2), {"k": ints(2)}, [2, 3, 2, 3]),
    "a triangle": (node("Trilu", "x k", "y", upper=0), {"k": np.array(-1)}, [2, 3, 4, 3]),
    "cropped": (node("CenterCropPad", "x s", "y", axes=[2, 3]), {"s": ints(2, 6)}, [2, 3, 2, 6]),
    "sizes": (node("Resize", "x _ _ s", "y", mode="linear"), {"s": ints(2, 3, 6, 2)}, [2, 3, 6, 2]),
    "scales": (node("Resize", "x _ s", "y", mode="linear"), {"s": np.array([1, 1, 1.7, 0.8], np.float32)}, [2, 3, 6, 2]),
    "scales of cubes": (
        node("Resize", "x _ s", "y", mode="cubic", exclude_outside=1), {"s": np.array([1, 1, 1.7, 0.8], np.float32)}, [2, 3, 6, 2],
    ),
    "half a pixel on": (
        node("Resize", "x _ s", "y", coordinate_transformation_mode="tf_half_pixel_for_nn", nearest_mode="floor"),
        {"s": np.array([1, 1, 1.5, 0.7], np.float32)}, [2, 3, 6, 2],
    ),
    "antialias": (
        node("Resize", "x _ s", "y", mode="linear", antialias=1, exclude_outside=1), {"s": np.array([1, 1, 0.6, 0.7], np.float32)},
        [2, 3, 2, 2],
    ),
    "a part of the image": (
        node("Resize", "x r _ s", "y", mode="linear", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=9.0),
        {"r": np.array([0, 0, 0.2, -0.3, 1, 1, 0.9, 0.6], np.float32), "s": ints(2, 3, 5, 1)}, [2, 3, 5, 1],
    ),
    "blocks": (node("Col2Im", "m i k", "y"), {"m": M, "i": ints(5, 5), "k": ints(1, 5)}, [1, 1, 5, 5]),
    "normalization": (
        node("BatchNormalization", "x a b c d", "y"),
        {name: np.abs(RNG.standard_normal(3)).astype(np.float32) for name in "abcd"}, [2, 3, 4, 3],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_late(name: str) -> None:
    call, others, shape = CASES[name]
    feeds = {name: array for name, array in ({"x": X} | others).items() if name in call.input}
    proto = declared(call, feeds, shape)
    (expected,), imported = run(proto, feeds), from_proto(proto)
    (found,) = run(to_onnx(imported.graph), {name: feeds[name] for name in imported.graph.inputs})
    assert found.shape == expected.shape and np.allclose(found, expected, 1e-4, 1e-5)


def test_the_user_is_told_what_was_believed() -> None:
    proto = declared(node("Reshape", "x s", "y"), {"x": X, "s": ints(6, -1)}, [6, 12])
    assert "its result is [6, 12], as the file declares" in from_proto(proto).notes[0]


@pytest.mark.parametrize("shape", [[6, 13], [2, 3, 4, 4]])
def test_a_shape_that_cannot_be_is_not_believed(shape: list[int]) -> None:
    with pytest.raises(ModelError, match="is computed while the model runs"):
        from_proto(declared(node("Reshape", "x s", "y"), {"x": X, "s": ints(6, -1)}, shape))


@pytest.mark.parametrize(
    ("name", "value"), [("coordinate_transformation_mode", "nonsense"), ("nearest_mode", "nonsense"), ("mode", "nonsense")]
)
@pytest.mark.parametrize("shape", [[2, 3, 6, 2], [2, 3, 4, 3]])
def test_nothing_is_resized_in_a_way_that_nobody_knows(name: str, value: str, shape: list[int]) -> None:
    feeds = {"x": X, "s": np.array([1, 1, 1.7, 0.8], np.float32)}
    with pytest.raises(ModelError, match="mode is 'nonsense'"):
        from_proto(declared(node("Resize", "x _ s", "y", **{name: value}), feeds, shape))


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        (node("Pad", "x p", "y", mode="nonsense"), [2, 6, 7, 5]),
        (node("Resize", "x _ _ s", "y", keep_aspect_ratio_policy="nonsense"), [2, 3, 6, 2]),
        (node("RoiAlign", "x r b", "y", coordinate_transformation_mode="nonsense"), [1, 3, 1, 1]),
        (node("NegativeLogLikelihoodLoss", "m t", "y", reduction="nonsense"), [1]),
    ],
)
def test_a_word_that_nobody_knows_is_not_read_as_another(call: onnx.NodeProto, shape: list[int]) -> None:
    feeds = {"x": X, "p": ints(0, 2, 3, 0, 0, 1, 0, 2), "s": ints(2, 3, 6, 2), "r": np.ones((1, 4), np.float32), "b": ints(0)}
    feeds |= {"m": np.ones((1, 3), np.float32), "t": ints(0)}
    with pytest.raises(ModelError, match="is 'nonsense'"):
        from_proto(declared(call, {name: array for name, array in feeds.items() if name in call.input}, shape))


def test_half_a_pixel_on_is_not_rounded_in_a_way_that_has_no_other_name() -> None:
    feeds = {"x": X, "s": np.array([1, 1, 1.7, 0.8], np.float32)}
    call = node("Resize", "x _ s", "y", coordinate_transformation_mode="tf_half_pixel_for_nn", nearest_mode="ceil")
    with pytest.raises(ModelError, match="coordinate_transformation_mode is 'tf_half_pixel_for_nn'"):
        from_proto(declared(call, feeds, [2, 3, 6, 2]))


def test_a_range_of_absurd_length_is_paid_for() -> None:
    feeds = {name: np.float32(0) for name in "abc"}
    with pytest.raises(ModelError, match="--budget constants"):
        from_proto(declared(node("Range", "a b c", "y"), feeds, [1 << 62]))


def test_nothing_is_gathered_of_what_holds_nothing() -> None:
    with pytest.raises(ModelError, match="holds nothing to gather"):
        from_proto(model([node("Gather", "e i", "y")], {"e": [0, 3], "i": (onnx.TensorProto.INT64, [2])}, ["y"]))


def test_an_input_that_holds_nothing_is_known() -> None:
    proto = model([node("ReduceSum", "e", "s", keepdims=0), node("Add", "x s", "y")], {"x": [2], "e": [0, 3]}, ["y"])
    imported = from_proto(proto)
    assert imported.graph.inputs == ["x"] and "input e: float32[0,3] holds nothing" in imported.notes[0]


def test_what_follows_from_a_declared_shape() -> None:
    """The one value that a result is made of, by elements, is as large, whatever numbers there are beside it."""
    nodes = [
        node("Cast", "n", "f", to=1), node("Range", "zero f one", "r"), node("Mul", "r f", "m"), node("Sqrt", "m", "q"),
        node("Add", "q r", "y"),
    ]  # fmt: skip
    proto = model(nodes, {"n": (onnx.TensorProto.INT64, [])}, ["y"], {"zero": np.array(0, np.float32), "one": np.array(1, np.float32)})
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [5]))
    feeds = {"n": np.array(5)}
    assert np.allclose(run(to_onnx(from_proto(proto).graph), feeds)[0], run(proto, feeds)[0])
