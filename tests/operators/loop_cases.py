"""Loops of so many turns that they stay loops, nested ones, and such that a run ends early. ONNX Runtime says what is right."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from tests.operators.case import Case
from tests.operators.control_cases import control_case

CELL = """(float[2,6] h, float[20,2,3] x) => (float[2,6] y, float[20,2,6] rows)
  <float[3,6] w = {W}, float[6,6] u = {U}, float[6] k = {1, -1, 0.5, 2, 0, -0.25}> {
  y, rows = Scan <num_scan_inputs = 1, body = step (float[2,6] s, float[2,3] p) => (float[2,6] t, float[2,6] r) {
    a = MatMul(p, w)  b = MatMul(s, u)  c = Add(a, b)  d = Add(c, k)  t = Tanh(d)  r = Identity(t) }>(h, x)
}"""
AXES = """(float[2] h, float[3,12,2] a, float[2,12] b) => (float[2] y, float[2,12] r, float[12,2] q) {
  y, r, q = Scan <num_scan_inputs = 2, scan_input_axes = [1, -1], scan_input_directions = [1, 0], scan_output_axes = [-1, 0],
    scan_output_directions = [0, 1], body = step (float[2] s, float[3,2] p, float[2] o) => (float[2] t, float[2] u, float[2] v) {
      third = Constant<value = float[3] {0.25, 0.5, 1}>()  m = MatMul(third, p)  k = Tanh(s)  w = Mul(k, o)  t = Add(w, m)
      u = Sub(t, o)  v = Neg(t) }>(h, a, b)
}"""
NESTED = """(float[4] h, float[12,10] x) => (float[4] y, float[12] sums) {
  y, sums = Scan <num_scan_inputs = 1, body = outer (float[4] s, float[10] row) => (float[4] t, float sum) {
    zero = Constant<value = float {0}>()
    sum, t = Scan <num_scan_inputs = 1, body = inner (float total, float[4] v, float e) => (float total2, float[4] v2) {
      total2 = Add(total, e)  w = Mul(s, e)  z = Add(v, w)  v2 = Sin(z) }>(zero, s, row) }>(h, x)
}"""
COUNTED = """(float[4] x, float[40,4] table) => (float[4] y, int64 n, float[11,4] rows, bool[11] odd) {
  most = Constant<value = int64 {9223372036854775807}>()  yes = Constant<value = bool {1}>()  zero = Constant<value = int64 {0}>()
  n, y, rows, odd = Loop(most, yes, zero, x) <body = b (int64 i, bool c, int64 k, float[4] s)
    => (bool go, int64 k2, float[4] t, float[4] row, bool isodd) {
      three = Constant<value = int64 {3}>()  last = Constant<value = int64 {31}>()  two = Constant<value = int64 {2}>()
      k2 = Add(k, three)  go = Less(k2, last)  row = Gather<axis = 0>(table, k)  next = Add(k, i)  other = Gather<axis = 0>(table, i)
      a = Mul(s, row)  t = Add(a, other)  m = Mod(next, two)  isodd = Cast<to = 9>(m) }>
}"""
WHILE = """(float[3] x, float limit) => (float[3] y, float[30] rows, float[3] z) {
  often = Constant<value = int64 {30}>()  zero = Constant<value_ints = [0]>()  first = ReduceMax<keepdims = 0>(x)  go = Less(first, limit)
  y, rows = Loop(often, go, x) <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] n, float row) {
    at = ReduceMax<keepdims = 0>(s)  place = Cast<to = 7>(at)  g = Gather<axis = 0>(s, place)  one = Constant<value = float {0.125}>()
    t = Add(s, one)  h = Mul(g, one)  n = Add(t, h)  row = ReduceMax<keepdims = 0>(n)  d = Less(row, limit) }>
  z = Mul(y, x)
}"""
BRANCH = """(float[5] x, int64 at, bool c) => (float[5] y) {
  y = If(c) <
    then_branch = t () => (float[5] a) {
      often = Constant<value = int64 {10}>()
      a = Loop(often, , x) <body = b (int64 i, bool g, float[5] s) => (bool d, float[5] n) {
        d = Identity(g)  p = Gather<axis = 0>(x, at)  q = Add(s, p)  n = Sin(q) }> },
    else_branch = f () => (float[5] e) { e = Neg(x) }>
}"""
TURNING = """(float[4] a, float[4] b, int32[3] k, bool flag)
  => (float[4] y, float[4] z, int32[3] m, bool last, float[9,4] rows, uint8[9] bits) {
  often = Constant<value = int64 {9}>()
  y, z, m, last, rows, bits = Loop(often, , a, b, k, flag) <body = step (int64 i, bool c, float[4] s, float[4] t, int32[3] j, bool f)
    => (bool c2, float[4] t2, float[4] s2, int32[3] j2, bool f2, float[4] row, uint8 bit) {
      c2 = Identity(c)  t2 = Identity(t)  half = Constant<value = float {0.5}>()  s2 = Mul(s, half)  f2 = Not(f)  row = Sub(s, t)
      n = Cast<to = 6>(i)  j1 = Add(j, n)  first = Constant<value_ints = [2, 0, 1]>()  j2 = Gather<axis = 0>(j1, first)
      bit = Cast<to = 2>(f) }>
}"""
PICTURE = """(float[1,2,5,5] x) => (float[1,2,5,5] y, float[1,3,5,5] z)
  <float[2,2,3,3] w = {W}, float[3,2,1,1] v = {1, -1, 0.5, 2, 0, -0.25}> {
  often = Constant<value = int64 {12}>()  p = Relu(x)
  y = Loop(often, , p) <body = b (int64 i, bool c, float[1,2,5,5] s) => (bool c2, float[1,2,5,5] n) {
    c2 = Identity(c)  k = Conv<pads = [1, 1, 1, 1]>(s, w)  r = Relu(k)  n = Add(r, s) }>
  z = Conv(y, v)
}"""
INNER_EXIT = """(float[3] x, float[12] limits) => (float[3] y, float[12,3] rows) {
  often = Constant<value = int64 {12}>()  yes = Constant<value = bool {1}>()
  y, rows = Loop(often, yes, x) <body = b (int64 i, bool c, float[3] s) => (bool c2, float[3] n, float[3] row) {
    c2 = Identity(c)  limit = Gather<axis = 0>(limits, i)  most = Constant<value = int64 {20}>()  top = ReduceMax<keepdims = 0>(s)
    go = Less(top, limit)
    n = Loop(most, go, s) <body = e (int64 j, bool g, float[3] u) => (bool g2, float[3] v) {
      some = Constant<value = float {0.3}>()  v = Add(u, some)  t = ReduceMax<keepdims = 0>(v)  g2 = Less(t, limit) }>
    row = Sub(n, s) }>
}"""
ENDED = """(float[3] x, bool go, float limit) => (float[3] y, int64 n, int64 m) {
  often = Constant<value = int64 {30}>()  zero = Constant<value = int64 {0}>()  yes = Constant<value = bool {1}>()
  n, z = Loop(often, go, zero, x) <body = b (int64 i, bool c, int64 k, float[3] s) => (bool d, int64 k2, float[3] t) {
    two = Constant<value = int64 {2}>()  last = Constant<value = int64 {23}>()  k2 = Add(k, two)  d = Less(k2, last)  t = Sin(s) }>
  m, y = Loop(often, yes, zero, z) <body = e (int64 i, bool c, int64 k, float[3] s) => (bool d, int64 k2, float[3] t) {
    two = Constant<value = int64 {2}>()  half = Constant<value = float {0.5}>()  k2 = Add(k, two)  t = Add(s, half)
    top = ReduceMax<keepdims = 0>(t)  d = Less(top, limit) }>
}"""
NEVER = """(float[3] x, int64 at, bool go) => (float[3] y) {
  often = Constant<value = int64 {10}>()
  y = Loop(often, go, x) <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] n) {
    d = Identity(c)  p = Gather<axis = 0>(x, at)  n = Add(s, p) }>
}"""
GUARDED = """(float[12,3] x, bool c) => (float[3] y) {
  y = If(c) <
    then_branch = t () => (float[3] a) {
      start = Constant<value = float[3] {0, 1, 2}>()  axes = Constant<value_ints = [0]>()
      last, rows = Scan <num_scan_inputs = 1, body = step (float[3] s, float[3] p) => (float[3] n, float[3] r) {
        n = Add(s, p)  r = Sin(n) }>(start, x)
      often = Constant<value = int64 {9}>()
      more, stacked = Loop(often, , last) <body = b (int64 i, bool g, float[3] s) => (bool d, float[3] n, float[3] r) {
        d = Identity(g)  n = Cos(s)  r = Neg(n) }>
      k = ReduceSum<keepdims = 0>(rows, axes)  l = ReduceSum<keepdims = 0>(stacked, axes)  a = Add(k, l) },
    else_branch = f () => (float[3] e) { one = Constant<value = int64 {1}>()  e = Gather<axis = 0>(x, one) }>
}"""
SLICED = """(float[30] x) => (float[2] y, float[14,2] rows) {
  often = Constant<value = int64 {14}>()  none = Constant<value = float[2] {0, 0}>()
  y, rows = Loop(often, , none) <body = b (int64 i, bool c, float[2] s) => (bool c2, float[2] n, float[2] row) {
    c2 = Identity(c)  two = Constant<value = int64[1] {2}>()  axes = Constant<value = int64[1] {0}>()  at = Unsqueeze(i, axes)
    start = Mul(at, two)  end = Add(start, two)  row = Slice(x, start, end)  n = Add(s, row) }>
}"""


@cache
def loop_cases() -> tuple[Case, ...]:
    return tuple(_cases())


def _cases() -> Iterator[Case]:
    rng = np.random.default_rng(5)

    def f(*shape: int) -> np.ndarray:
        return np.asarray(rng.standard_normal(shape), np.float32)

    def filled(text: str, **shapes: int) -> str:
        for name, count in shapes.items():
            text = text.replace(f"{{{name}}}", f"{{{', '.join(f'{value:.3f}' for value in f(count) / 3)}}}")
        return text

    yield control_case("long_scan_of_a_cell", "Scan", filled(CELL, W=18, U=36), {"h": f(2, 6), "x": f(20, 2, 3)})
    yield control_case("long_scan_along_axes", "Scan", AXES, {"h": f(2), "a": f(3, 12, 2), "b": f(2, 12)})
    yield control_case("long_scan_in_a_long_scan", "Scan", NESTED, {"h": f(4), "x": f(12, 10)})
    yield control_case("long_loop_whose_turns_are_counted", "Loop", COUNTED, {"x": f(4), "table": f(40, 4) / 2})
    for limit in (-9.0, 0.6, 1.5, 2.75, 99.0):
        inputs = {"x": np.array([0.25, -1, 0.5], np.float32), "limit": np.float32(limit)}
        if limit < 3:  # beyond, a place that a turn reads is none
            yield control_case(f"long_loop_while_below_{limit}", "Loop", WHILE, inputs)
    for at, taken in ((1, True), (99, False)):
        yield control_case(f"long_loop_in_a_branch_{taken}", "Loop", BRANCH, {"x": f(5), "at": np.array(at), "c": np.array(taken)})
    inputs = {"a": f(4), "b": f(4), "k": np.array([1, 2, 3], np.int32), "flag": np.array(True)}
    yield control_case("long_loop_whose_states_turn", "Loop", TURNING, inputs)
    yield control_case("long_loop_over_a_picture", "Loop", filled(PICTURE, W=36), {"x": f(1, 2, 5, 5)})
    limits = np.array([0.5, 1, -9, 1.2, 3, 3, 2, 1, 4, 4.2, 9, 9.1], np.float32)
    yield control_case(
        "long_loop_with_loops_that_end_early", "Loop", INNER_EXIT, {"x": np.array([0, -1, 0.25], np.float32), "limits": limits}
    )
    for go, limit in ((True, 3.25), (False, 1.5), (True, -9)):
        inputs = {"x": f(3), "go": np.array(go), "limit": np.float32(limit)}
        yield control_case(f"long_loop_with_a_counter_{go}_{limit}", "Loop", ENDED, inputs)
    for at, go in ((2, True), (99, False)):
        inputs = {"x": f(3), "at": np.array(at), "go": np.array(go)}
        yield control_case(f"long_loop_that_need_not_turn_{go}", "Loop", NEVER, inputs)
    for taken in (True, False):
        yield control_case(f"long_loops_in_a_branch_whose_rows_are_read_{taken}", "Loop", GUARDED, {"x": f(12, 3), "c": np.array(taken)})
    yield control_case("long_loop_with_slices", "Loop", SLICED, {"x": f(30)})
