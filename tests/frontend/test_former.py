"""Operators of the first sets, and what old exporters put beside them: what they computed, by numpy."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from edgec.base.errors import ModelError
from edgec.export import to_onnx
from edgec.frontend import from_proto

from .models import model, node, run

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 3, 4, 4)).astype(np.float32)
B = RNG.standard_normal(3).astype(np.float32)
C = RNG.standard_normal((3, 4)).astype(np.float32)
TWO = {"n": np.array([2], np.float32), "a": np.array([1], np.float32)}


def answer(call: onnx.NodeProto, opset: int, constants: dict[str, np.ndarray] | None = None, x: np.ndarray = X) -> np.ndarray:
    proto = model([call], {"x": list(x.shape)}, ["y"], constants, opset=opset)
    return run(to_onnx(from_proto(proto).graph), {"x": x})[0]


@pytest.mark.parametrize(
    ("b", "axis", "shape"), [(B, 1, (3, 1, 1)), (C, 1, (3, 4, 1)), (C[0], None, (4,)), (C[0], 3, (4,)), (C[0], -1, (4,)), (B[:1], 0, (1,))]
)
def test_axes_that_an_operand_broadcasts_along(b: np.ndarray, axis: int | None, shape: tuple[int, ...]) -> None:
    named = {} if axis is None else {"axis": axis}
    found = answer(node("Mul", "x b", "y", broadcast=1, **named), 6, {"b": b})
    assert np.array_equal(found, X * b.reshape(shape))


def test_an_axis_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ModelError, match=r"axes of \[3, 4\] from 3 on are not those of"):
        answer(node("Add", "x b", "y", broadcast=1, axis=3), 6, {"b": C})


CASES: dict[str, tuple[onnx.NodeProto, int, dict[str, np.ndarray], np.ndarray]] = {
    "slopes": (node("PRelu", "x b", "y"), 6, {"b": B}, np.where(X < 0, X * B.reshape(3, 1, 1), X)),
    "one slope": (node("PRelu", "x b", "y"), 1, {"b": B[:1]}, np.where(X < 0, X * B[0], X)),
    "shape": (node("Reshape", "x", "y", shape=[2, -1]), 1, {}, X.reshape(2, -1)),
    "scales": (node("Upsample", "x", "y", height_scale=2.0, width_scale=1.0), 1, {}, X.repeat(2, 2)),
    "tiles": (node("Tile", "x n a", "y"), 1, TWO, np.tile(X, (1, 2, 1, 1))),
    "type": (node("Cast", "x", "y", to="INT32"), 1, {}, X.astype(np.int32)),
    "pads": (
        node("Pad", "x", "y", paddings=[0, 0, 1, 0, 0, 0, 0, 2], value=5.0), 1, {},
        np.pad(X, ((0, 0), (0, 0), (1, 0), (0, 2)), constant_values=5),
    ),
    "axis": (node("Concat", "x x", "y"), 1, {}, np.concatenate([X, X], 1)),
    "drop": (node("Dropout", "x", "y", is_test=1), 6, {}, X),
    "relu": (node("Relu", "x", "y", consumed_inputs=[0]), 1, {}, np.maximum(X, 0)),
    "norm": (node("LpPool", "x", "y", kernel_shape=[4, 4], p=1.0), 1, {}, np.abs(X).sum((2, 3), keepdims=True)),
    "scaler": (
        node("ImageScaler", "x", "y", scale=0.5, bias=[1.0, 2.0, 3.0]), 7, {}, X * 0.5 + np.arange(1, 4, dtype=np.float32).reshape(3, 1, 1),
    ),
    "crop": (node("Crop", "x", "y", border=[1, 0, 0, 2]), 1, {}, X[:, :, :2, 1:]),
    "crop to": (node("Crop", "x", "y", border=[1, 2, 0, 0], scale=[2, 1]), 1, {}, X[:, :, 2:, 1:2]),
    "affine": (node("Affine", "x", "y", alpha=2.0, beta=1.0), 1, {}, X * 2 + 1),
    "scale": (node("Scale", "x", "y", scale=3.0), 1, {}, X * 3),
    "softplus": (node("ParametricSoftplus", "x", "y", alpha=2.0, beta=0.5), 1, {}, 2 * np.log1p(np.exp(X * 0.5))),
    "tanh": (node("ScaledTanh", "x", "y", alpha=2.0, beta=0.5), 1, {}, 2 * np.tanh(X * 0.5)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_it_was(name: str) -> None:
    call, opset, constants, expected = CASES[name]
    found = answer(call, opset, constants)
    assert found.dtype == expected.dtype and np.allclose(found, expected, 1e-5, 1e-6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (node("Crop", "x", "y", border=[1, 2, 3, 4]), "leaves nothing"),
        (node("Crop", "x", "y"), "malformed"),
        (node("Cast", "x", "y", to="BOX"), "element type BOX does not exist"),
        (node("Unheard", "x", "y"), "no operator that ONNX knows"),
    ],
)
def test_nonsense_is_refused(call: onnx.NodeProto, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        answer(call, 1)
