"""Floats of other types than float32, casts between them, and products of codes: what ONNX's cases leave out. Numpy says what is right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.operators.case import Case

KINDS: dict[str, Any] = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float64": np.float64}
EXTREMES = np.array(
    [0.0, -0.0, 1.0, 65504.0, 65519.0, 65520.0, -1e9, 3.3e38, 1e-45, 6e-8, 2.98e-8, 6.1e-5, 1.0009765, 1.00390625, np.inf, -np.inf, np.nan],
    np.float32,
)


def type_cases() -> Iterator[Case]:
    for name, kind in KINDS.items():
        code, x = helper.np_dtype_to_tensor_dtype(np.dtype(kind)), EXTREMES
        with np.errstate(all="ignore"):
            rounded, held = x.astype(kind).astype(np.float32), x.astype(kind)
        there = [helper.make_node("Cast", ["x"], ["h"], to=code), helper.make_node("Cast", ["h"], ["y"], to=TensorProto.FLOAT)]
        yield _case(f"cast_to_{name}_and_back", there, {"x": x}, [rounded])
        yield _case(f"held_as_{name}", [helper.make_node("Neg", ["x"], ["y"])], {"x": held}, [-held])
        weights = np.linspace(-1, 1, 12).reshape(3, 4).astype(kind)
        data = np.linspace(-2, 2, 6).reshape(2, 3).astype(kind)
        product = (data.astype(np.float64) @ weights.astype(np.float64)).astype(kind)
        yield _case(f"product_of_{name}", [helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": data}, [product], w=weights)
    rng = np.random.default_rng(3)
    codes, weights = rng.integers(0, 256, (3, 1500)).astype(np.uint8), rng.integers(-128, 128, (1500, 5)).astype(np.int8)
    exact = (codes.astype(np.int64) - 7) @ weights.astype(np.int64)  # in several parts, since sums are beyond 2^24
    nodes = [helper.make_node("MatMulInteger", ["x", "w", "z"], ["y"])]
    yield _case("long_whole_product", nodes, {"x": codes}, [exact.astype(np.int32)], w=weights, z=np.array(7, np.uint8))
    small = rng.integers(-3, 4, (256, 5)).astype(np.int32)
    small[100] = 100001  # times a code it is no float32
    few, row = np.maximum(codes[:, :256], 201), np.arange(5, dtype=np.int32)
    whole, cast = few.astype(np.int32) @ small, helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT32)
    yield _case("whole_product_of_a_large_number", [cast, helper.make_node("MatMul", ["i", "w"], ["y"])], {"x": few}, [whole], w=small)
    nodes = [cast, helper.make_node("MatMul", ["i", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["y"])]
    yield _case("whole_product_and_a_row", nodes, {"x": few}, [whole + row], w=small, b=row)
    known = {"w": weights[:90], "z": np.array(7, np.uint8), "s": np.array(0.1, np.float32)}
    short = ((codes[:, :90].astype(np.int64) - 7) @ weights[:90].astype(np.int64)).astype(np.float32) * known["s"]
    nodes = [
        helper.make_node("MatMulInteger", ["x", "w", "z"], ["i"]), helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["f", "s"], ["y"]),
    ]  # fmt: skip
    yield _case("scaled_whole_product", nodes, {"x": codes[:, :90]}, [short], **known)


def _case(name: str, nodes: list[onnx.NodeProto], inputs: dict[str, np.ndarray], expected: list[np.ndarray], **known: np.ndarray) -> Case:
    values = [
        helper.make_tensor_value_info(item, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for item, array in inputs.items()
    ]
    result = helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(expected[0].dtype), expected[0].shape)
    graph = helper.make_graph(nodes, name, values, [result], [numpy_helper.from_array(array, item) for item, array in known.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    bounds = None if name.startswith("product") else [np.zeros(expected[0].shape)]
    return Case(f"types_{name}", nodes[0].op_type, model, inputs, expected, bounds=bounds)
