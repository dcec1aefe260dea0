"""Graphs that were once compiled wrongly or ended in a traceback, as ONNX's own text."""

from __future__ import annotations

from dataclasses import dataclass

import onnx
from onnx import parser


@dataclass(frozen=True)
class Find:
    """One graph. It is compiled in float, and in int8 where it can be, and both are right; or edgec refuses it with these words."""

    name: str
    text: str
    refused: str = ""
    opset: int = 21

    def model(self) -> onnx.ModelProto:
        return parser.parse_model(f'<ir_version: 9, opset_import: ["": {self.opset}, "com.microsoft": 1]> find {self.text}')


FINDS = (
    Find(
        "a factor behind a product with a vector, lengths differ",
        "(float[3,4] x) => (y) <float[4] w = {1,2,3,4}, float[3] c = {1,2,3}> { m = MatMul(x, w) y = Mul(m, c) }",
    ),
    Find(
        "a factor behind a product with a vector, lengths agree",
        "(float[4,4] x) => (y) <float[4] w = {1,2,3,4}, float[4] c = {1,2,3,5}> { m = MatMul(x, w) y = Mul(m, c) }",
    ),
    Find("a product with a vector", "(float[1,4,3] x) => (y) <float[3] w = {1,-2,3}> { y = MatMul(x, w) }"),
    Find(
        "a product with a vector behind one with a matrix",
        "(float[1,2] x) => (y) <float[2,3] a = {1,2,3,4,5,6}, float[3] w = {1,-2,3}> { m = MatMul(x, a) r = Sigmoid(m) y = MatMul(r, w) }",
    ),
    Find(
        "a bool output beside a quantized one",
        "(float[1,2] x) => (y, z) <float[2,3] a = {1,2,3,4,5,6}, float c = {1}> { y = MatMul(x, a) z = Greater(x, c) }",
    ),
    Find("Celu of a scalar", "(float x) => (y) { y = Celu<alpha = 2.0>(x) }"),
    Find(
        "a backward slice that starts before the first element",
        "(float[5] x) => (y) <int64[1] s = {-7}, int64[1] e = {-9}, int64[1] a = {0}, int64[1] t = {-1}> { y = Slice(x, s, e, a, t) }",
    ),
    Find(
        "a quantized convolution whose weights have one scale, with a bias",
        """(uint8[1,2,3,3] x) => (y) <float s = {0.1}, uint8 z = {3}, int8[2,2,1,1] w = {1,-2,3,4}, float t = {0.02}, int8 u = {0},
        float r = {0.05}, uint8 q = {100}, int32[2] b = {300,-200}> { y = QLinearConv(x, s, z, w, t, u, r, q, b) }""",
    ),
    Find(
        "a convolution of codes whose multiplier overflows",
        """(uint8[1,1,2,2] x) => (y) <float s = {1e20}, uint8 z = {3}, int8[1,1,1,1] w = {1}, float t = {1e10}, int8 u = {0},
        float r = {1e-20}, uint8 q = {100}> { y = QLinearConv(x, s, z, w, t, u, r, q) }""",
    ),
    Find(
        "padding of pairs, of which gcc 12 would read too few with AVX2",
        "(float[24,2] x, int64[40,2] z) => (y, u) <int64[4] p = {2,0,2,0}> { y = Pad(x, p) u = Pad(z, p) }",
    ),
    Find(
        "a dilated window, rounded up, before a convolution",
        "(float[1,2,17] x) => (y) <float[2,2,1] w = {1,-2,3,4}> { p = MaxPool<ceil_mode = 1, "
        "dilations = [2], kernel_shape = [2], pads = [0, 1], strides = [2]>(x) y = Conv(p, w) }",
    ),
    Find("a local response of constants", "(float[2,5,1,1] x) => (y) { c = Constant<value = float[2,5,1,1] {1,2,3,4,5,6,7,8,9,10}>()"
         "l = LRN<size = 5, alpha = 0.1>(c) y = Add(x, l) }"),
    Find(
        "a small variance around a large mean",
        "(float[1,1,1,3] x) => (y) <float c = {1000}, float d = {0.01}> { a = Mul(x, d) b = Add(a, c) y = MeanVarianceNormalization(b) }",
    ),
    Find("a small deviation", "(float[1,1,1,3] x) => (y) <float d = {0.0001}> { a = Mul(x, d) y = MeanVarianceNormalization(a) }"),
    Find("the logarithm of a sum with infinities", "(float[2,2] x) => (y) <float z = {0}, float o = {1}> { i = Div(o, z) n = Neg(i)"
         "m = Mul(x, z) a = Add(m, n) y = ReduceLogSumExp(a) }"),
    Find(
        "codes of 16 channels that go from the input into a product",
        """(uint8[2,16] x) => (y) <float s = {0.1}, uint8 z = {3}, int8[16,1] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16},
        float t = {0.02}, int8 u = {0}, float r = {0.5}, uint8 q = {9}> { y = QLinearMatMul(x, s, z, w, t, u, r, q) }""",
    ),
    Find(
        "an output that is infinite beside a quantized one",
        "(float[1,2] x) => (y, z) <float[2,3] a = {1,2,3,4,5,6}, float c = {0}> { y = MatMul(x, a) d = Abs(y) e = Mul(d, c) z = Log(e) }",
    ),
    Find("a quotient by a softplus that is almost nothing",
         "(float[4] x) => (y) <float c = {-9}, float d = {-18}> { r = Relu(x) a = Mul(r, c) b = Add(a, d) s = Softplus(b) y = Div(d, s) }"),
    Find("windows that nothing is padded for, the last of them partial",
         "(float[1,3,8] x) => (y, z) { y = MaxPool<auto_pad = \"VALID\", ceil_mode = 1, kernel_shape = [3], strides = [3]>(x)"
         "z = AveragePool<auto_pad = \"VALID\", ceil_mode = 1, kernel_shape = [3], strides = [3]>(x) }"),
    Find("padded rows in another shape", """(float[2,5] x) => (y) <int64[5] s = {5,2,2,1,-1}, int64[4] p = {1,0,1,0}>
         { a = Pad(x, p) y = Reshape(a, s) }"""),
    Find("one number joined to itself", """(float[1,1,1] x) => (y) <float[1] a = {0.5}, float[1,4] w = {1,2,3,4}>
         { m = MatMul(x, a) c = Concat<axis = -1>(m, m, m, m) y = Gemm<transB = 1>(c, w) }"""),
    Find("nothing times a factor", "(float[8] x) => (y) { h = HardSigmoid<alpha = 0.0, beta = 0.25>(x) y = Relu(h) }"),
    Find("numbers less themselves, and by themselves", "(float[8] x) => (y, z) { y = Sub(x, x) z = Div(x, x) }"),
    Find("a power of scalars", "(float x, float z, uint8[2,3] c) => (y, q) <float s = {0.03}, uint8 t = {128}> {"
         " y = Pow(x, z) d = DequantizeLinear(c, s, t) r = Relu(d) q = QuantizeLinear(r, s, t) }"),
    Find(
        "places of the largest of a constant",
        "(int64[1,1,1,3] x) => (y) <float[1,1,2,3] c = {2, 0, -6, -1, 11, 0}> { v, p = MaxPool<kernel_shape = [2, 1]>(c) y = Add(p, x) }",
    ),
    Find("a negation compared", "(float[2] x, bool[2] z) => (y) { n = IsNaN(x) y = Xor(n, z) }"),
    Find(
        "cubic resizing by a factor that leaves part of a pixel",
        """(float[2,3,2,7] x, float[4,2] z) => (y, m) <float[4] s = {1,1,1,0.7}, float[2,3] a = {1,2,3,4,5,6}>
        { y = Resize<mode = "cubic", coordinate_transformation_mode = "align_corners", cubic_coeff_a = -0.5>(x, , s) m = MatMul(z, a) }""",
    ),
    Find("a quantized softmax of a single constant, which overflows in ONNX Runtime",
         """(float[1,1] x) => (y) <int8[1,1] c = {115}, float s = {0.03}, int8 z = {0}, float t = {0.0066}, int8 u = {-128}>
         { q = com.microsoft.QLinearSoftmax<axis = -1, opset = 13>(c, s, z, t, u) f = Cast<to = 1>(q) y = Add(x, f) }"""),
    Find("an input without elements", "(float[0,3] x) => (y) { y = Relu(x) }", "holds nothing"),
    Find("Trilu of a matrix without elements", "(float[2,0] x) => (y) { y = Trilu(x) }", "holds nothing"),
    Find(
        "parts without elements",
        "(float[2,3] x) => (y, z) <int64[3] p = {0,3,0}, int64[1] s = {1}, int64[1] e = {1}>"
        "{ a, b, c = Split<axis = 1>(x, p) r = Relu(c) y = Concat<axis = 1>(r, b, a, c) d = Slice(x, s, e) z = Concat<axis = 0>(d, x) }",
    ),
    Find(
        "constants whose corners are aligned while they shrink by a scale",
        "(float[1,1,2,2] x) => (y) <float[1,1,4,2] c = {1,2,3,4,5,6,7,8}, float[4] s = {1,1,0.7,1}>"
        "{ r = Resize<coordinate_transformation_mode = \"align_corners\", mode = \"cubic\">(c, , s) y = Add(r, x) }",
    ),
    Find(
        "a norm of one number repeated",
        "(float[1,1] x) => (y) <int64[2] n = {1,20}, float[20] s = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20}>"
        "{ t = Tile(x, n) y = LayerNormalization<axis = 1>(t, s) }",
    ),
    Find(
        "a comparison that a type answers",
        "(bool[3] x) => (y) <int32 big = {409948453}> { a = Cast<to = 6>(x) y = Equal(a, big) }",
    ),
    Find(
        "a logarithm of negative constants",
        "(float[2] x) => (y) <float[2] c = {-1,2}> { l = Log(c) y = Add(x, l) }",
        "tensor .*: holds NaN",
    ),
    Find(
        "a convolution without output channels",
        "(float[1,3,4,4] x) => (y) <float[1] e = {1}, int64[4] n = {0,3,1,1}> { w = Expand(e, n) y = Conv(x, w) }",
        r"output y: float32\[1,0,4,4\] holds nothing",
    ),
    Find(
        "a padded product with what a transposed convolution has written in blocks",
        "(float[1,1,2,2] x, float[1,1,1,1] k) => (y) <float[1,1,3,2] w = {1,2,3,4,5,6}>"
        "{ t = ConvTranspose<strides = [2, 2]>(x, w) y = Conv<pads = [1, 1, 1, 0]>(t, k) }",
    ),
    Find(
        "Gelu where nothing comes to be integers",
        "(float[64] x, float[2,2] a, float[2,2] b) => (p, y, z) { p = Abs(x) y = Gelu(p) z = MatMul(a, b) }",
    ),
)  # fmt: skip
