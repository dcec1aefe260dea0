"""Small models that keep something from run to run: a recurrent cell, a moving average and a sum, a cache that is
filled row by row, and squares, one behind the other, of no input."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import numpy_helper, parser

_RANDOM = np.random.default_rng(3)
_ONE, _ZERO, _END = np.array([1]), np.array([0]), np.array([99])
_WEIGHTS = {
    name: _RANDOM.normal(0, 0.4, shape).astype(np.float32) for name, shape in {"wx": (8, 16), "wh": (16, 16), "wy": (16, 4)}.items()
}

CELL = """cell (float[1,8] x, float[1,16] h) => (float[1,4] y, float[1,16] h_next) {
  a = MatMul(x, wx)  b = MatMul(h, wh)  c = Add(a, b)  h_next = Tanh(c)  y = MatMul(h_next, wy)
}"""
AVERAGE = """average (float[1,2] x, float[4,2] start, float[1,2] sum) =>
  (float[1,2] mean, float[1,2] with, float[4,2] kept, float[1,2] sum_next) {
  all = Concat<axis = 0>(start, x)  kept = Slice(all, one, end, zero)  mean = ReduceMean<keepdims = 1>(kept, zero)
  with = Mul(sum, x)  sum_next = Add(sum, x)
}"""
CACHE = """cache (float[1,4] q, float[1,4] k, int64[1] skip, float[6,4] keys, int64[1] place) =>
  (float[1,6] scores, float[6,4] keys_next, int64[1] next) {
  from = Add(place, skip)  row = Unsqueeze(from, one)  keys_next = ScatterND(keys, row, k)
  turned = Transpose<perm = [1, 0]>(keys_next)  scores = MatMul(q, turned)  next = Add(from, one)
}"""
COUNT = "count (int64[1] turn) => (int64[1] square, int64[1] next) { next = Add(turn, one)  square = Mul(next, next) }"
CONSTANTS = {"one": _ONE, "zero": _ZERO, "end": _END, "scale": np.float32(0.05), "code": np.int8(3), **_WEIGHTS}
STATES: Mapping[str, tuple[str, Mapping[str, tuple[str, float]]]] = {
    "cell": (CELL, {"h": ("h_next", 0.0)}),
    "average": (AVERAGE, {"start": ("kept", 0.5), "sum": ("sum_next", 0.0)}),
    "cache": (CACHE, {"keys": ("keys_next", -1.0), "place": ("next", 0.0)}),
    "count": (COUNT, {"turn": ("next", 0.0)}),
}


def model_of(text: str) -> onnx.ModelProto:
    model: onnx.ModelProto = parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> {text}')
    read = {name for node in model.graph.node for name in node.input}
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in CONSTANTS.items() if name in read)
    return model
