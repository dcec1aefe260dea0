"""Products of codes whose zero point a run finds, and codes by parameters that it finds. Numpy's whole numbers say what is right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.operators.case import Case

U8, S8 = np.uint8, np.int8


def code_cases() -> Iterator[Case]:
    yield from _products()
    yield from _windows()
    yield from _quantized()


def _products() -> Iterator[Case]:
    rng = np.random.default_rng(19)

    def codes(kind: Any, *shape: int) -> np.ndarray:
        return rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, kind, endpoint=True)

    known = (
        ("least", codes(U8, 5, 37), U8(0), codes(S8, 37, 19), None),
        ("most", codes(U8, 5, 37), U8(255), codes(S8, 37, 19), S8(-7)),
        ("signed", codes(S8, 3, 40), S8(-128), codes(S8, 40, 8), None),
        ("unsigned_weights", codes(U8, 6, 64), U8(131), codes(U8, 64, 33), U8(90)),  # whose differences leave int8
        ("weights_by_column", codes(U8, 4, 50), U8(77), codes(U8, 50, 21), codes(U8, 21)),
        ("signed_by_column", codes(S8, 4, 50), S8(5), codes(S8, 50, 21), codes(S8, 21)),
        ("of_each_row", codes(U8, 7, 24), codes(U8, 7), codes(S8, 24, 17), None),
        ("one_row", codes(U8, 1, 300), U8(200), codes(S8, 300, 40), None),
        ("one_column", codes(U8, 9, 48), U8(3), codes(S8, 48, 1), None),
        ("batches", codes(U8, 2, 3, 4, 20), U8(11), codes(S8, 20, 18), None),
        ("vector", codes(U8, 30), U8(11), codes(S8, 30, 5), None),
        ("long", codes(U8, 2, 1500), U8(250), np.where(codes(U8, 1500, 5) < 250, 127, -127).astype(S8), None),  # in parts
        ("long_and_wide", codes(U8, 2, 900), U8(9), np.where(codes(U8, 900, 3) < 240, 255, 0).astype(U8), U8(1)),
        ("no_zeros", codes(U8, 3, 16), None, codes(S8, 16, 16), None),
    )  # fmt: skip
    for name, x, zero, w, less in known:
        rows = np.asarray(0 if zero is None else zero, np.int64)
        wide = x.astype(np.int64) - (rows[:, None] if rows.ndim else rows)
        exact = (wide @ (w.astype(np.int64) - np.asarray(0 if less is None else less, np.int64))).astype(np.int32)
        given = {"x": x} if zero is None else {"x": x, "z": np.asarray(zero)}
        fixed = {"w": w} if less is None else {"w": w, "o": np.asarray(less)}
        node = helper.make_node("MatMulInteger", ["x", "w", "" if zero is None else "z", *(["o"] if less is not None else [])], ["y"])
        yield _case(f"product_{name}", [node], given, [exact], **fixed)
    x, w = rng.normal(0, 2, (6, 70)).astype(np.float32), codes(S8, 70, 20)
    q, scale, zero = _dynamic(x)
    sums = (q.astype(np.int64) - int(zero)) @ w.astype(np.int64)
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), helper.make_node("MatMulInteger", ["q", "w", "z"], ["i"]),
        helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT), helper.make_node("Mul", ["f", "s"], ["y"]),
    ]  # fmt: skip
    yield _case("dynamic", nodes, {"x": x}, [sums.astype(np.float32) * scale], w=w)


def _windows() -> Iterator[Case]:
    """x, weights, the zero point of x and that of the weights, and how the window lies."""
    rng = np.random.default_rng(20)
    for name, shape, window, less, named in (
        ("padded", (2, 5, 7, 9), (6, 5, 3, 3), U8(0), {"pads": [1, 1, 1, 1]}),
        ("ragged", (1, 3, 8, 8), (17, 3, 2, 3), U8(140), {"pads": [0, 2, 1, 0], "strides": [2, 1], "dilations": [1, 2]}),
        ("by_channel", (1, 4, 6, 6), (5, 4, 1, 1), rng.integers(0, 256, 5).astype(U8), {}),
        ("line", (1, 8, 20), (9, 8, 5), U8(128), {"pads": [2, 2]}),
        ("groups", (1, 6, 6, 6), (8, 3, 3, 3), U8(100), {"pads": [1, 1, 1, 1], "group": 2}),
    ):  # fmt: skip
        x, w = rng.integers(0, 256, shape).astype(U8), rng.integers(0, 256, window).astype(U8)
        for zero in (U8(0), U8(201)):
            own = np.asarray(less, np.int64).reshape(-1, *[1] * (len(window) - 1))
            exact = _convolved(x.astype(np.int64) - int(zero), w.astype(np.int64) - own, named).astype(np.int32)
            node = helper.make_node("ConvInteger", ["x", "w", "z", "o"], ["y"], **named)
            yield _case(f"window_{name}_{zero}", [node], {"x": x, "z": np.array(zero)}, [exact], w=w, o=np.asarray(less))


def _quantized() -> Iterator[Case]:
    ties = [0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.5, 254.5, 255.5, -127.5, -128.5, 32767.5, -32768.5, 65535.5]
    x = np.array([*ties, 3e4, 1e9, -1e9, 3e38, -3e38, 1e-45, np.inf, -np.inf, np.nan], np.float32)
    for kind in (U8, S8, np.uint16, np.int16):
        info = np.iinfo(kind)
        for zero in (info.min, info.max, 3):
            for scale in (np.float32(1), np.float32(0.37)):
                with np.errstate(all="ignore"):
                    steps = np.rint(x / scale) + np.float32(zero)
                wanted = np.where(np.isnan(steps), 0, np.clip(steps, info.min, info.max)).astype(np.int64).astype(kind)
                given = {"x": x, "s": np.array(scale), "z": np.array(zero, kind)}
                name = f"quantized_to_{np.dtype(kind).name}_at_{zero}_by_{scale}"
                yield _case(name, [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])], given, [wanted])


def _dynamic(x: np.ndarray) -> tuple[np.ndarray, np.float32, np.uint8]:
    low, high = np.minimum(x.min(), np.float32(0)), np.maximum(x.max(), np.float32(0))
    scale = np.float32(high - low) / np.float32(255)
    zero = np.rint(np.clip(-low / scale, 0, 255)).astype(U8)
    return np.clip(np.rint(x / scale) + np.float32(zero), 0, 255).astype(U8), scale, zero


def _convolved(x: np.ndarray, w: np.ndarray, named: dict[str, Any]) -> np.ndarray:
    rank, groups = x.ndim - 2, named.get("group", 1)
    pads, strides, dilations = named.get("pads", [0] * 2 * rank), named.get("strides", [1] * rank), named.get("dilations", [1] * rank)
    x = np.pad(x, [(0, 0), (0, 0), *((pads[d], pads[d + rank]) for d in range(rank))])
    sizes = [(n - (k - 1) * d - 1) // s + 1 for n, k, d, s in zip(x.shape[2:], w.shape[2:], dilations, strides, strict=True)]
    y = np.zeros((x.shape[0], w.shape[0], *sizes), np.int64)
    inner, outer = w.shape[1], w.shape[0] // groups
    for tap in np.ndindex(*w.shape[2:]):
        under = x[(..., *(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilations, sizes, strides, strict=True)))]
        for group in range(groups):
            part = np.einsum("oi,ni...->no...", w[(slice(group * outer, (group + 1) * outer), slice(None), *tap)],
                             under[:, group * inner : (group + 1) * inner])  # fmt: skip
            y[:, group * outer : (group + 1) * outer] += part
    return y


def _case(name: str, nodes: list[onnx.NodeProto], inputs: dict[str, np.ndarray], expected: list[np.ndarray], **known: np.ndarray) -> Case:
    code = helper.np_dtype_to_tensor_dtype
    values = [helper.make_tensor_value_info(item, code(array.dtype), array.shape) for item, array in inputs.items()]
    result = helper.make_tensor_value_info("y", code(expected[0].dtype), expected[0].shape)
    graph = helper.make_graph(nodes, name, values, [result], [numpy_helper.from_array(array, item) for item, array in known.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return Case(f"codes_{name}", nodes[0].op_type, model, inputs, expected, bounds=[np.zeros(expected[0].shape)])
