"""What the mutator found, as small models in text, and what edgec must say of each: the place and the reason."""

from __future__ import annotations

from dataclasses import dataclass

import onnx
from onnx import TensorProto, helper, parser

IMAGE = '<ir_version: 10, opset_import: ["": 21]> g (float[1,4,6,6] x) => (float[] y)'
MATRIX = '<ir_version: 10, opset_import: ["": 21]> g (float[2,4] x) => (float[] y)'


@dataclass(frozen=True)
class Case:
    """text: the model. words: parts of the error, the node's name among them. change: what the text form cannot say."""

    name: str
    text: str
    words: tuple[str, ...]

    def model(self) -> onnx.ModelProto:
        model = parser.parse_model(self.text)
        model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, None))
        return model


def _weights(*shape: int) -> str:
    count = 1
    for extent in shape:
        count *= extent
    return f"float[{','.join(map(str, shape))}] w = {{{', '.join(['0.5'] * count)}}}"


W = _weights(4, 2, 1, 1)

CASES = (
    # attributes of another type, of an impossible value
    Case(
        "text for a number", f'{MATRIX} {{ [n] y = LeakyRelu<alpha = "steep">(x) }}', ("n (LeakyRelu", "alpha is STRING instead of FLOAT")
    ),
    Case("number for a list", f"{IMAGE} <{W}> {{ [n] y = Conv<group = 2, strides = 3>(x, w) }}", ("n (Conv", "strides is INT")),
    Case(
        "number for a branch",
        f"{MATRIX} <bool c = {{1}}> {{ [n] y = If<then_branch = 1, else_branch = 2>(c) }}",
        ("n (If", "then_branch is INT"),
    ),
    Case("list for a tensor", f"{MATRIX} {{ [n] y = Constant<value = [1.0]>() }}", ("n (Constant", "value is a list of FLOAT")),
    Case("infinite slope", f"{MATRIX} {{ [n] y = LeakyRelu<alpha = inf>(x) }}", ("n (LeakyRelu", "alpha is inf")),
    Case("infinite Elu", f"{MATRIX} {{ [n] y = Elu<alpha = inf>(x) }}", ("n (Elu", "alpha is inf")),
    Case(
        "negative epsilon",
        f"{MATRIX} <float[4] s = {{1,1,1,1}}> {{ [n] y = LayerNormalization<epsilon = -1.0>(x, s) }}",
        ("n (Layer", "epsilon is -1.0"),
    ),
    Case("group 0", f"{IMAGE} <{W}> {{ [n] y = Conv<group = 0>(x, w) }}", ("n (Conv", "group is 0")),
    Case("group 0 transposed", f"{IMAGE} <{W}> {{ [n] y = ConvTranspose<group = 0>(x, w) }}", ("n (ConvTranspose", "group is 0")),
    Case(
        "too many groups", f"{IMAGE} <{W}> {{ [n] y = ConvTranspose<group = 1000>(x, w) }}", ("n (ConvTranspose", "multiple of group 1000")
    ),
    Case("group of 63 bits", f"{IMAGE} <{W}> {{ [n] y = Conv<group = 4611686018427387904>(x, w) }}", ("n (Conv", "32 bits")),
    Case(
        "a window of 31 bits",
        f'{IMAGE} {{ [n] y = AveragePool<auto_pad = "SAME_LOWER", kernel_shape = [2147483647, 2147483647], strides = [2, 2]>(x) }}',
        ("n (AveragePool", "2147483647", "taps"),
    ),
    Case(
        "more axes than numpy broadcasts",
        f"{IMAGE} <float[{','.join('1' * 43)}] c = {{2}}> {{ [n] z = CastLike(c, x) y = Add(x, z) }}",
        ("32 dimensions",),
    ),
    Case("size 0", f"{IMAGE} {{ [n] y = LRN<size = 0>(x) }}", ("n (LRN", "size is 0")),
    Case("size of 63 bits", f"{IMAGE} {{ [n] y = LRN<size = 9223372036854775807>(x) }}", ("n (LRN", "32 bits")),
    Case(
        "unknown mode",
        f'{IMAGE} <int64[8] p = {{0,0,1,1,0,0,1,1}}> {{ [n] y = Pad<mode = "around">(x, p) }}',
        ("n (Pad", "mode is 'around'", "reflect"),
    ),
    Case("unknown approximation", f'{MATRIX} {{ [n] y = Gelu<approximate = "rough">(x) }}', ("n (Gelu", "approximate is 'rough'")),
    Case(
        "unknown rounding",
        f'{IMAGE} <float[4] s = {{1,1,2,2}}> {{ [n] y = Resize<nearest_mode = "up">(x, , s) }}',
        ("n (Resize", "nearest_mode is 'up'"),
    ),
    # operands of another type, absent, unknown
    Case("Relu of booleans", f"{MATRIX} {{ b = IsNaN(x) [n] c = Relu(b) y = Cast<to = 1>(c) }}", ("n (Relu", "cannot take bool")),
    Case("two types", f"{MATRIX} <int32[1] k = {{2}}> {{ [n] y = Max(x, k) }}", ("n (Max", "different types", "float32", "int32")),
    Case("a shape of floats", f"{MATRIX} <float[1] s = {{8}}> {{ [n] y = Reshape(x, s) }}", ("n (Reshape", "cannot take float32", "shape")),
    Case("no operand", f"{MATRIX} {{ [n] y = Add( , x) }}", ("n (Add", "lacks its input A")),
    Case("no first of many", f"{MATRIX} {{ [n] y = Concat<axis = 0>( , x) }}", ("n (Concat", "lacks its input")),
    # operands of impossible values
    Case("infinite scale", f"{IMAGE} <float[4] s = {{1, 1, inf, 2}}> {{ [n] y = Resize(x, , s) }}", ("n (Resize", "not all positive")),
    Case("scale 0", f"{IMAGE} <float[4] s = {{1, 1, 0, 2}}> {{ [n] y = Resize(x, , s) }}", ("n (Resize", "not all positive")),
    Case("extent below 0", f"{IMAGE} <int64[4] s = {{1, 4, -3, 2}}> {{ [n] y = Resize(x, , , s) }}", ("n (Resize", "float32[1,4,-3,2]")),
    Case("repeats below 0", f"{MATRIX} <int64[2] k = {{1, -1}}> {{ [n] y = Tile(x, k) }}", ("n (Tile", "float32[2,-4]")),
    Case("parts below 0", f"{MATRIX} <int64[2] k = {{-1, 3}}> {{ [n] y, z = Split<axis = 0>(x, k) }}", ("n (Split", "float32[-1,4]")),
    Case(
        "quantized by 0",
        f"{MATRIX} <float s = {{0}}, uint8 z = {{3}}> {{ [n] q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }}",
        ("n (QuantizeLinear", "scale of 0.0 is not positive"),
    ),
    Case(
        "dequantized by -1",
        f"{MATRIX} <float s = {{-1}}, uint8[2,4] q = {{1,2,3,4,5,6,7,8}}> {{ [n] d = DequantizeLinear(q, s) y = Add(x, d) }}",
        ("n (DequantizeLinear", "scale of -1.0 is not positive"),
    ),
    Case(
        "quantized by almost nothing",
        f"{MATRIX} <float s = {{1e-39}}, uint8 z = {{3}}> {{ [n] q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }}",
        ("n (QuantizeLinear", "is too small, its inverse is infinite"),
    ),
    Case(
        "a factor that takes weights beyond float32",
        f"{MATRIX} <float[4,2] w = {{9,9,9,9,9,9,9,9}}> {{ [n] y = Gemm<alpha = 3e38>(x, w) }}",
        ("n: Gemm", "alpha 3e+38 times a constant beyond float32"),
    ),
    Case(
        "weights that the constants around them take beyond float32",
        f"{MATRIX} <float[4,2] w = {{9,9,9,9,9,9,9,9}}, float c = {{3e38}}> {{ [n] m = MatMul(x, w) y = Mul(m, c) }}",
        ("tensor w", "merged with the constants around it, it leaves float32", "read by n"),
    ),
    Case(
        "codes that all stand for nothing",
        f"{MATRIX} <float s = {{0}}, float t = {{0.1}}, int8 z = {{3}}> {{"
        " q = QuantizeLinear(x, t, z) [n] d = DequantizeLinear(q, s, z) y = Relu(d) }",
        ("n (DequantizeLinear", "a scale of 0.0 is not positive"),
    ),
    *(
        Case(
            f"numbers between {kind}",
            f"{IMAGE} <float[4] s = {{1,1,2,2}}> {{ c = Cast<to = {code}>(x)"
            f' [n] r = Resize<mode = "{mode}">(c, , s) y = Cast<to = 1>(r) }}',
            ("n (Resize", f"mode {mode} of {kind}"),
        )
        for kind, code, mode in (("uint8", 2, "cubic"), ("int32", 6, "linear"), ("bool", 9, "linear"))
    ),
    # what engines read differently
    Case("no value", f"{MATRIX} {{ [n] c = Constant() y = Add(x, c) }}", ("n (Constant", "has 0 values")),
    Case(
        "an operator of a later set",
        MATRIX.replace("21", "14") + " { [n] y = Mish(x) }",
        ("n (Mish", "other operator sets, not in 14"),
    ),
    Case("a reference outside of functions", f"{MATRIX} {{ [n] y = LeakyRelu<alpha: float = @slope>(x) }}", ("n (LeakyRelu", "is in none")),
    Case(
        "a function that hides an operator",
        MATRIX
        + """ { [n] y = Relu(x) }
         <opset_import: ["": 21], domain: ""> Relu(a) => (b) { b = Neg(a) }""",
        ("function Relu", "name of an operator"),
    ),
    Case(
        "an output that a function does not make",
        MATRIX.replace("21]> g", '21, "mine": 1]> g').replace("float[] y", "float[] y, float[] more")
        + """ { [n] y, more = mine.Twice(x) }
         <opset_import: ["": 21], domain: "mine"> Twice(a) => (b) { b = Add(a, a) }""",
        ("output more", "no node makes it"),
    ),
    Case(
        "a threshold of two numbers",
        MATRIX.replace("2,4", "1,4,4")
        + """ <int64 k = {2}, float t = {0.5}, float[2] m = {0, 1}> { [n] p = NonMaxSuppression(x, x, k, t, m) y = Cast<to = 1>(p) }""",
        ("n (NonMaxSuppression", "the threshold of scores is not one number"),
    ),
    Case("a flag of 2", f"{MATRIX} {{ [n] y = ReduceSum<keepdims = 0, noop_with_empty_axes = 2>(x) }}", ("n (ReduceSum", "is 2", "0 or 1")),
)
