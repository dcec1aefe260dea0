"""Branches, loops, scans and sequences, nested and with names from around them. ONNX Runtime says what is right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import parser

from tests.operators.case import Case
from tests.operators.own_cases import run_onnxruntime

BRANCH = """(float[3,4] x, int64[2] at, bool c) => (float[3,4] y, float[2,4] z) {
  most = Constant<value = int64 {3}>()
  e = Exp(x)
  y, z = If(c) <
    then_branch = t () => (float[3,4] a, float[2,4] g) { a = Add(e, x) g = Gather<axis = 0>(a, at) },
    else_branch = f () => (float[3,4] b, float[2,4] h)
      <float[2,4] h = {1, 2, 3, 4, 5, 6, 7, 8}> { n = Neg(e) b = Mul(n, x) }>
}"""
NESTED = """(float[5] x, bool c, bool d) => (float[5] y) {
  r = Relu(x)
  y = If(c) <
    then_branch = t () => (float[5] a) {
      s = Sigmoid(r)
      a = If(d) <then_branch = u () => (float[5] m) { m = Sub(s, x) }, else_branch = v () => (float[5] o) { o = Mul(s, r) }> },
    else_branch = f () => (float[5] r2) { r2 = Identity(r) }>
}"""
HEAVY = """(float[1,3,6,5] x, float[1,2] code, bool c, bool d) => (float[1,3,6,5] y, float[1,3,6,5] z)
  <float[3,3,3,3] w = {WEIGHTS}, float[3,3,1,1] u = {1, -1, 2, 0.5, 0.25, -2, 1, 0, 3}> {
  a = Conv<pads = [1, 1, 1, 1]>(x, w)
  y = If(c) <
    then_branch = t () => (float[1,3,6,5] k) {
      e = Conv<pads = [1, 1, 1, 1]>(a, w)  f = Relu(e)  g = Conv(f, u)
      h = If(d) <
        then_branch = v () => (float[1,3,6,5] m) { l = Softmax<axis = 1>(g)  m = Conv(l, u) },
        else_branch = o () => (float[1,3,6,5] n) { place = ArgMax<axis = 1, keepdims = 0>(code)  row = Gather<axis = 1>(g, place)
          n = Add(row, f) }>
      k = Add(h, g) },
    else_branch = q () => (float[1,3,6,5] r) { s = Conv(a, u)  r = Tanh(s) }>
  b = Softmax<axis = 3>(a)  z = Mul(b, y)
}"""
TURNS = """(float[4] x, float[4] w) => (float[4] y, float[6,4] rows, int64[6] turns) {
  often = Constant<value = int64 {6}>()  yes = Constant<value = bool {1}>()
  y, rows, turns = Loop(often, yes, x) <body = b (int64 i, bool c, float[4] s) => (bool d, float[4] n, float[4] row, int64 j) {
    d = Identity(c)  k = Mul(w, w)  p = Mul(s, k)  f = Cast<to = 1>(i)  n = Add(p, f)  row = Tanh(n)  j = Add(i, i) }>
}"""
GROWING = """(float[2,3] x) => (float[16,3] y) {
  often = Constant<value = int64 {3}>()
  y = Loop(often, , x) <body = b (int64 i, bool c, float[N,3] s) => (bool c2, float[M,3] n) {
    c2 = Identity(c)  r = Relu(s)  n = Concat<axis = 0>(r, s) }>
}"""
WHILE = """(float[3] x, float limit) => (float[3] y, float[7] rows) {
  often = Constant<value = int64 {7}>()  zero = Constant<value_ints = [0]>()  first = ReduceMax<keepdims = 0>(x)  go = Less(first, limit)
  y, rows = Loop(often, go, x) <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] n, float row) {
    at = ReduceMax<keepdims = 0>(s)  place = Cast<to = 7>(at)  g = Gather<axis = 0>(s, place)  one = Constant<value = float {1}>()
    t = Add(s, one)  n = Add(t, g)  row = ReduceMax<keepdims = 0>(n)  d = Less(row, limit) }>
}"""
INNER = """(float[3,2] x, float[2] k) => (float[2] y, float[3,2] rows) {
  often = Constant<value = int64 {3}>()  yes = Constant<value = bool {1}>()
  axes = Constant<value_ints = [0]>()  start = ReduceSum<keepdims = 0>(x, axes)
  y, rows = Loop(often, yes, start) <body = b (int64 i, bool c, float[2] s) => (bool c2, float[2] n, float[2] row) {
    c2 = Identity(c)  two = Constant<value = int64 {2}>()  one = Constant<value = int64 {1}>()  odd = Mod(i, two)  is = Equal(odd, one)
    part = Gather<axis = 0>(x, i)  total = ReduceSum<keepdims = 0>(s)  zero = Constant<value = float {0}>()  up = Less(zero, total)
    m = If(up) <then_branch = t () => (float[2] a) { a = Sub(s, part) }, else_branch = f () => (float[2] b) { b = Add(s, part) }>
    q = If(is) <then_branch = t2 () => (float[2] a2) { a2 = Mul(m, k) }, else_branch = f2 () => (float[2] b2) { b2 = Identity(m) }>
    n = Loop(two, c, q) <body = inner (int64 j, bool e, float[2] u) => (bool e2, float[2] v) {
      e2 = Identity(e)  fi = Cast<to = 1>(i)  fj = Cast<to = 1>(j)  w = Add(u, fi)  v = Div(w, part) }>
    row = Neg(n) }>
}"""
SCAN = """(float[2] h, float[3,4,2] a, float[2,4] b) => (float[2] y, float[2,4] r, float[4,2] q) {
  y, r, q = Scan <num_scan_inputs = 2, scan_input_axes = [1, -1], scan_input_directions = [1, 0], scan_output_axes = [-1, 0],
    scan_output_directions = [0, 1], body = step (float[2] s, float[3,2] p, float[2] o) => (float[2] t, float[2] u, float[2] v) {
      third = Constant<value = float[3] {0.25, 0.5, 1}>()  m = MatMul(third, p)  k = Tanh(s)  w = Mul(k, o)  t = Add(w, m)
      u = Sub(t, o)  v = Neg(t) }>(h, a, b)
}"""
BATCHED = """(float[2,3] h, float[2,4,3] a) => (float[2,3] y, float[2,4,3] r) <int64[2] lengths = {LENGTHS}> {
  y, r = Scan <num_scan_inputs = 1, directions = [1], body = step (float[3] s, float[3] p) => (float[3] t, float[3] u) {
    k = Tanh(s)  t = Add(k, p)  u = Sub(t, s) }>(lengths, h, a)
}"""
PARTS = """(float[7,2] x, int64 at) => (float[3,2] y, float[7,2] z, float[2] w, int64 n) {
  three = Constant<value = int64 {3}>()  one = Constant<value = int64 {1}>()  often = Constant<value = int64 {7}>()
  parts = SplitToSequence<axis = 0>(x, three)  y = SequenceAt(parts, one)  n = SequenceLength(parts)
  rows = SplitToSequence<axis = 0, keepdims = 0>(x)  none = SequenceEmpty()
  some = Loop(often, , none) <body = b (int64 i, bool c, seq(float[2]) s) => (bool c2, seq(float[2]) t) {
    c2 = Identity(c)  row = SequenceAt(rows, i)  neg = Neg(row)  t = SequenceInsert(s, neg) }>
  z = ConcatFromSequence<axis = 0, new_axis = 1>(some)  w = SequenceAt(rows, at)
}"""

SHARED = """(uint8[3,4] x, bool c) => (float[3,2] y) <int32[4,2] w = {1, 2, 3, 0, 5, 1, 2, 2}> {
  i = Cast<to = 6>(x)  p = MatMul(i, w)  axes = Constant<value_ints = [1]>()  one = Constant<value = int32 {1}>()
  f = Cast<to = 1>(p)  a = Sqrt(f)  k = Add(p, one)  g = Cast<to = 1>(k)  b = ReduceProd(g, axes)  y = Where(c, b, a)
}"""


@cache
def control_cases() -> tuple[Case, ...]:
    return tuple(_cases())


def _cases() -> Iterator[Case]:
    rng = np.random.default_rng(3)

    def f(*shape: int) -> np.ndarray:
        return np.asarray(rng.standard_normal(shape), np.float32)

    x, bad, good = f(3, 4), np.array([7, -9]), np.array([-1, 2])
    yield control_case("if_taken", "If", BRANCH, {"x": x, "at": good, "c": np.array(True)})
    yield control_case("if_not_taken_whose_indices_are_bad", "If", BRANCH, {"x": x, "at": bad, "c": np.array(False)})
    for c in (False, True):
        for d in (False, True):
            yield control_case(f"if_in_if_{c}_{d}", "If", NESTED, {"x": f(5), "c": np.array(c), "d": np.array(d)})
            heavy = HEAVY.replace("WEIGHTS", ", ".join(f"{value:.3f}" for value in f(81)))
            inputs = {"x": f(1, 3, 6, 5), "code": f(1, 2), "c": np.array(c), "d": np.array(d)}
            yield control_case(f"if_of_convolutions_{c}_{d}", "If", heavy, inputs)
    for opset in (8, 11, 18):
        yield control_case(f"loop_{opset}", "Loop", TURNS, {"x": f(4), "w": f(4)}, opset)
    yield control_case("loop_whose_state_grows", "Loop", GROWING, {"x": f(2, 3)})
    for limit in (-9.0, 0.5, 2.5, 99.0):
        yield control_case(
            f"loop_while_below_{limit}", "Loop", WHILE, {"x": np.array([0.25, -1, 1.5], np.float32), "limit": np.float32(limit)}
        )
    yield control_case("loop_in_loop_with_branches", "Loop", INNER, {"x": f(3, 2), "k": f(2)})
    for opset in (9, 11, 20):
        text = SCAN if opset >= 11 else SCAN.replace("-1", "1")  # before, axes count from the front alone
        yield control_case(f"scan_{opset}", "Scan", text, {"h": f(2), "a": f(3, 4, 2), "b": f(2, 4)}, opset)
    for lengths in ("4, 4", "3, 1"):
        yield control_case(f"scan_8_{lengths}", "Scan", BATCHED.replace("LENGTHS", lengths), {"h": f(2, 3), "a": f(2, 4, 3)}, 8)
    for c in (False, True):  # of the product's parts one is read as numbers of each type
        yield control_case(f"where_of_a_product_{c}", "Where", SHARED, {"x": np.arange(12, dtype=np.uint8).reshape(3, 4), "c": np.array(c)})
    yield control_case("sequences", "SequenceAt", PARTS, {"x": f(7, 2), "at": np.array(-3)})


def control_case(name: str, operator: str, text: str, inputs: Mapping[str, Any], opset: int = 18) -> Case:
    """Where ONNX Runtime gives fewer rows than the model declares, the others are 0."""
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> graph {text}')
    arrays = {key: np.asarray(array) for key, array in inputs.items()}
    expected = []
    for array, value in zip(run_onnxruntime(model, arrays), model.graph.output, strict=True):
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        whole = np.zeros(shape or array.shape, array.dtype)
        whole[tuple(map(slice, array.shape))] = array
        expected.append(whole)
    return Case(name, operator, onnx.ModelProto.FromString(model.SerializeToString()), arrays, expected, 1e-3, 1e-4)
