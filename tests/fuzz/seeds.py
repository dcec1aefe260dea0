"""The whole models that mutants are made of: small ones of every kind, as text, and the cases of the project's other tests."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import onnx
from onnx import defs, helper, numpy_helper, parser

from edgec.frontend.dispatch import RULES
from edgec.ops import OPERATORS
from tests.operators.int8_cases import int8_case

ROOT = Path(__file__).parents[2]
LARGEST = 100_000  # bytes of a seed
INT8_CASES = 60

# Every form that a file has: opset 7 to 24, functions, branches, QDQ and QLinear, data movement, two inputs, integers.
TEXTS = {
    "image": """<ir_version: 8, opset_import: ["": 17]> image (float[1,3,8,8] x) => (float[1,4] y)
        <float[4,3,3,3] w = {WEIGHTS108}, float[4] b = {0.1, -0.2, 0.3, 0.4}, float low = {0}, float high = {6}> {
        a = Conv<kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]>(x, w, b)  c = Clip(a, low, high)
        d = MaxPool<kernel_shape=[2,2], strides=[2,2]>(c)  e = GlobalAveragePool(d)  f = Flatten<axis=1>(e)  y = Softmax<axis=-1>(f) }""",
    "old": """<ir_version: 4, opset_import: ["": 7]> old (float[2,3,4] x) => (float[2,12] y) <int64[2] s = {2, -1}, float[3,1] k = {1,
        2, 3}> {
        a = Clip<min=0.0, max=6.0>(x)  b = Mul(a, k)  d = Slice<starts=[0], ends=[1], axes=[0]>(b)  c = Squeeze<axes=[0]>(d)
        e = Unsqueeze<axes=[0]>(c)  f = Add(b, e)  g = Pad<pads=[0,0,0,0,0,0], mode="constant", value=1.5>(f)  y = Reshape(g, s) }""",
    "norms": """<ir_version: 8, opset_import: ["": 17]> norms (float[1,4,5,6] x) => (float[1,4,5,6] y, float[1,4,1,1] z)
        <float[4] g = {1, 2, 0.5, 1}, float[4] b = {0, 1, 2, 3}, float[4] m = {0, 0.1, 0.2, 0.3}, float[4] v = {1, 1, 2, 2},
         float[6] lg = {1, 1, 1, 1, 1, 1}> {
        a = BatchNormalization<epsilon=0.001>(x, g, b, m, v)  c = LeakyRelu<alpha=0.1>(a)  d = LRN<size=3, alpha=0.001, beta=0.5>(c)
        e = InstanceNormalization(d, g, b)  f = LayerNormalization<axis=-1>(e, lg)  h = HardSigmoid<alpha=0.2, beta=0.5>(f)
        y = Mul(h, f)  z = ReduceMean<axes=[2,3], keepdims=1>(y) }""",
    "matrices": """<ir_version: 8, opset_import: ["": 13]> matrices (float[2,6] x, float[6,4] w) => (float[2,3] y, float[2,4] p)
        <float[4,6] m = {WEIGHTS24}, float[3,4] n = {WEIGHTS12}, float[3] b = {1, 2, 3}, float[4] s = {1, 2, 3, 4}, float half = {0.5}> {
        a = Gemm<transB=1, alpha=0.5, beta=2.0>(x, m, s)  c = Elu<alpha=0.7>(a)  d = Mul(c, s)  y = Gemm<transB=1>(d, n, b)
        p = MatMul(x, w)  q = Pow(p, half)  }""",
    "movement": """<ir_version: 8, opset_import: ["": 18]> movement (float[1,4,6,6] x) => (float[1,16,3,3] y, float[2,6] g,
        int64[1,6,6] best)
        <int64[1] one = {1}, int64[1] two = {2}, int64[1] four = {4}, int64[4] reps = {1,1,2,1}, int64[8] pads = {0,0,1,1,0,0,1,1},
         float[4] scales = {1, 1, 0.5, 0.5}, float[0] none = {}, int64[2] pick = {0, -1}, int64[2] shape = {6, -1},
        int64[2] parts = {2, 2},
         int64[1] zero = {0}, int64[1] minus = {-1}> {
        a = Transpose<perm=[0,1,3,2]>(x)  b, c = Split<axis=1>(a, parts)  d = Concat<axis=1>(c, b)  e = Slice(d, one, four, two, one)
        f = Pad<mode="reflect">(d, pads)  h = Resize<mode="linear">(f, none, scales)  i = Tile(h, reps)  j = Gather<axis=2>(d, pick)
        k = SpaceToDepth<blocksize=2>(d)  y = Identity(k)  l = Reshape(j, shape)  m = Transpose<perm=[1,0]>(l)
        n = Slice(m, zero, two, zero)  g = Identity(n)  best = ArgMax<axis=1, keepdims=0>(x)  o = Trilu<upper=1>(x) q = Expand(e, one)
        r = DepthToSpace<blocksize=2, mode="CRD">(d) }""",
    "branch": """<ir_version: 8, opset_import: ["": 17]> branch (float[2,2] x) => (float[2,2] y) <bool yes = {1}> {
        a = If<then_branch = t () => (float[2,2] u) { u = Relu(x) }, else_branch = e () => (float[2,2] v) { v = Neg(x) }>(yes)
        y = Sigmoid(a) }""",
    "function": """<ir_version: 10, opset_import: ["": 18, "mine": 1]> f (float[1,4] x) => (float[1,4] y) {
        a = mine.Twice<alpha=0.5>(x)  y = mine.Twice(a) }
        <domain: "mine", opset_import: ["": 18, "mine": 1]> Twice<alpha: float = 0.25>(v) => (w) { t = mine.Inner(v)
        w = LeakyRelu<alpha: float = @alpha>(t) }
        <domain: "mine", opset_import: ["": 18]> Inner(v) => (w) { w = Add(v, v) }""",
    "names": """<ir_version: 10, opset_import: ["": 18, "mine": 1]> n (float[1,4] x) => (int32[1,4] y) {
        y = mine.Whole<to=6, then_branch=0.5>(x) }
        <domain: "mine", opset_import: ["": 18]> Whole<to, then_branch>(v) => (w) { t = LeakyRelu<alpha: float = @then_branch>(v)
        w = Cast<to: int = @to>(t) }""",
    "composite": """<ir_version: 10, opset_import: ["": 21]> composite (float[2,4] x) => (float[2,4] y, float[1,4] z) {
        a = Celu<alpha=2.0>(x)  b = Gelu<approximate="tanh">(a)  c = Shrink<lambd=0.2>(b)  d = ThresholdedRelu<alpha=0.1>(c)
        e = MeanVarianceNormalization<axes=[0]>(d)  f = LogSoftmax<axis=1>(e)  y = HardSwish(f)  z = ReduceL2<keepdims=1>(y, o) }
        """.replace("{\n        a = Celu", "<int64[1] o = {0}> {\n        a = Celu"),
    "qlinear": """<ir_version: 8, opset_import: ["": 17]> qlinear (uint8[1,2,4,4] x) => (uint8[1,3,4,4] y)
        <float s = {0.1}, uint8 z = {128}, int8[3,2,1,1] w = {1,-2,3,-4,5,-6}, float[3] ws = {0.01,0.02,0.03}, int8[3] wz = {0,0,0},
         int32[3] b = {1, 2, 3}> { y = QLinearConv<kernel_shape=[1,1]>(x, s, z, w, ws, wz, s, z, b) }""",
    "qdq": """<ir_version: 8, opset_import: ["": 17]> qdq (float[1,4] x) => (float[1,3] y)
        <float s = {0.05}, uint8 z = {10}, int8[4,3] w = {1,-2,3,-4,5,-6,7,8,9,10,11,12}, float[3] ws = {0.01,0.02,0.03},
        int8[3] wz = {0,0,0}> {
        a = QuantizeLinear(x, s, z)  b = DequantizeLinear(a, s, z)  v = DequantizeLinear<axis=1>(w, ws, wz)  c = MatMul(b, v)
        d = Relu(c)  e = QuantizeLinear(d, s, z)  y = DequantizeLinear(e, s, z) }""",
    "integers": """<ir_version: 8, opset_import: ["": 18]> integers (int32[2,3] a, int64[2,3] b) => (int64[2,3] y, int32[2] s,
        bool[2,3] t)
        <int64 three = {3}, int32[1] one = {1}, int64[1] last = {1}> {
        c = Cast<to=7>(a)  d = Add(c, b)  e = Div(d, three)  f = Mod<fmod=0>(e, three)  y = Abs(f)  s = ReduceSum<keepdims=0>(a, last)
        g = Less(c, b)  h = Not(g)  t = And(g, h)  k = Where(t, c, b) }""",
    "symbolic": """<ir_version: 10, opset_import: ["": 24]> symbolic (float[N,3,6] x) => (float[N,18] y, int64[3] s)
        <int64[2] shape = {0, -1}, float[2,3,3] w = {WEIGHTS18}> {
        a = Relu(x)  y = Reshape(a, shape)  s = Shape(x)  b = Conv<kernel_shape=[3]>(x, w)  c = Swish(b) }""",
    "shapes": """<ir_version: 8, opset_import: ["": 18]> shapes (float[2,3,4] x) => (float[2,12] y) <int64[1] minus = {-1},
        int64 zero = {0}, int64[1] axes = {0}, int64 one = {1}, int64 four = {4}> {
        a = Shape(x)  b = Gather<axis=0>(a, zero)  c = Unsqueeze(b, axes)  d = Concat<axis=0>(c, minus)  e = Reshape(x, d)
        f = ConstantOfShape<value=float[1]{2.5}>(c)  g = Range(zero, four, one)  h = Cast<to=1>(g)  i = ReduceMax(h)  j = Mul(e, i)
        k = Constant<value=float[1]{1.0}>()  y = Add(j, k) }""",
    "deconvolution": """<ir_version: 8, opset_import: ["": 17]> deconvolution (float[1,3,5,5] x) => (float[1,2,9,9] y, float[1,3,2,2] z)
        <float[3,2,3,3] w = {WEIGHTS54}, float[2] b = {1, 2}, float slope = {0.1}> {
        a = ConvTranspose<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(x, w, b)  c = Sigmoid(a)  d = Mul(a, c)  e = PRelu(d, slope)
        f = Erf(e)  y = Tanh(f)  z = AveragePool<kernel_shape=[3,3], strides=[2,2], ceil_mode=0, count_include_pad=1>(x) }""",
}  # fmt: skip


def _text(text: str) -> onnx.ModelProto:
    """The model that `text` writes; what nobody reads is an output."""
    for count in (108, 54, 24, 18, 12):
        text = text.replace(f"WEIGHTS{count}", ", ".join(str(round((i * 37 % 23 - 11) / 10, 1)) for i in range(count)))
    model = parser.parse_model(text)
    graph = model.graph
    read = {name for node in graph.node for name in node.input} | {value.name for value in graph.output}
    unread = [name for node in graph.node for name in node.output if name not in read]
    graph.output.extend(helper.make_empty_tensor_value_info(name) for name in unread)
    return model


def _frozen(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> onnx.ModelProto:
    """The model with all inputs but the first as initializers: shapes and the like come so from exporters."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    kept = next((value for value in copy.graph.input), None)
    names = {value.name for value in copy.graph.input if kept is not None and value.name != kept.name and value.name in inputs}
    copy.graph.initializer.extend(numpy_helper.from_array(np.asarray(inputs[name]), name) for name in sorted(names))
    values = [value for value in copy.graph.input if value.name not in names]
    del copy.graph.input[:]
    copy.graph.input.extend(values)
    return copy


def _many() -> Iterator[onnx.ModelProto]:
    """The cases of the onnx package and of this project, as they are and with their operands as constants."""
    from tests.operators.onnx_cases import onnx_cases  # slow: it computes thousands of answers
    from tests.operators.own_cases import own_cases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = [*onnx_cases(), *own_cases()]
    for case in cases:
        yield case.model
        if len(case.inputs) > 1:
            yield _frozen(case.model, case.inputs)


@cache
def few_seeds() -> tuple[onnx.ModelProto, ...]:
    """Those that come at once."""
    cases = [int8_case(seed).model for seed in range(INT8_CASES)]
    return tuple([_text(text) for text in TEXTS.values()] + [onnx.load(ROOT / "examples" / "digits" / "digits.onnx")] + cases)


@cache
def all_seeds() -> tuple[onnx.ModelProto, ...]:
    """Also the cases of single operators; of those that edgec lacks some."""
    found = [model for model in _many() if model.ByteSize() <= LARGEST]
    return (*few_seeds(), *(model for place, model in enumerate(found) if _reaches(model) or place % 10 == 0))


@cache
def _known() -> frozenset[str]:
    bodies = {schema.name for schema in defs.get_all_schemas() if schema.has_function or schema.has_context_dependent_function}
    return frozenset(OPERATORS.keys() | {op for _, op in RULES} | bodies | {"If"})


def _reaches(model: onnx.ModelProto) -> bool:
    """Whether every operator is one that the import knows, or has a function body."""
    return all(node.op_type in _known() for node in model.graph.node)
