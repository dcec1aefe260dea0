"""Weights that, less their zero point, leave what fast kernels take: sums of more weights, of inputs that the kernels read again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from edgec.export import to_onnx
from edgec.frontend import from_proto
from edgec.kernels import CONV_INT8_FUNCTION, DEPTHWISE_INT8_FUNCTION, ConvInt8, ConvInt8Float, DepthwiseInt8
from edgec.oracle import Evaluator
from edgec.program.program import Program, TemplateCall
from tests.lower.test_int8 import TARGETS, built, check, kernels
from tests.oracle.models import Builder, random_q


@dataclass(frozen=True)
class Form:
    """A product: the shapes of x and of the weights."""

    op: str
    x: tuple[int, ...]
    w: tuple[int, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    kernel: type = ConvInt8


FORMS = {
    "dense": Form("Conv", (1, 4, 5, 5), (6, 4, 3, 3), {"pads": [1, 1, 0, 1]}),
    "pointwise": Form("Conv", (2, 8, 3, 5), (3, 8, 1, 1)),
    "groups": Form("Conv", (1, 6, 5, 4), (9, 2, 1, 2), {"group": 3}),
    "line": Form("Conv", (1, 3, 9), (4, 3, 3), {"pads": [1, 1]}),
    "transposed": Form("ConvTranspose", (1, 4, 4, 3), (4, 3, 3, 3), {"group": 2, "strides": [2, 2]}),
    "Gemm": Form("Gemm", (5, 37), (37, 17)),
    "MatMul": Form("MatMul", (2, 3, 21), (21, 16)),
    "depthwise": Form("Conv", (2, 5, 7, 6), (5, 1, 3, 3), {"group": 5, "pads": [1, 0, 1, 1], "strides": [2, 1]}, DepthwiseInt8),
    "depthwise, two of each": Form("Conv", (1, 5, 6, 7), (10, 1, 3, 3), {"group": 5, "pads": [1] * 4}, DepthwiseInt8),
    "depthwise, dilated": Form("Conv", (1, 5, 9, 9), (5, 1, 3, 2), {"group": 5, "dilations": [3, 2], "pads": [2] * 4}, DepthwiseInt8),
    "depthwise, tall": Form("Conv", (1, 5, 9, 8), (5, 1, 2, 3), {"group": 5, "dilations": [2, 3], "pads": [1, 2, 1, 3]}, DepthwiseInt8),
    "depthwise line": Form("Conv", (2, 20, 11), (20, 1, 3), {"group": 20, "pads": [2, 1], "dilations": [2]}, DepthwiseInt8),
}
ZEROES = [np.uint8(0), np.uint8(3), np.uint8(113), np.uint8(255), np.int8(-128), np.int8(0), np.int8(1)]


def sums_of(form: Form, w: np.ndarray, zero: Any, x: np.ndarray, target: Any, function: str = "") -> Program:
    b, kind = Builder(), x.dtype.type
    product = b.op(form.op, b.dequantize("x", 0.02, kind(5)), b.dequantize(b.const(w), 0.01, zero), **form.attributes)
    out = b.quantize(b.op(function, product) if function else product, 0.5, kind(10))
    return check(built(b, out, {"x": x}, kind), {"x": x}, target)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
@pytest.mark.parametrize("x_dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_weights_less_any_zero_point(form: Form, x_dtype: Any, target: Any) -> None:
    """The least and the largest weights, against codes of which some are at their least; and those of all other numbers."""
    generator = np.random.default_rng(0)
    x = random_q(generator, form.x, x_dtype)
    x.reshape(-1)[:7] = np.iinfo(x_dtype).min
    for zero in ZEROES:
        w = random_q(generator, form.w, zero.dtype)
        w.reshape(-1)[:9] = np.iinfo(zero.dtype).min
        w.reshape(-1)[9:12] = np.iinfo(zero.dtype).max
        program = sums_of(form, w, zero, x, target)
        assert kernels(program) == [form.kernel]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
@pytest.mark.parametrize("op", ["Conv", "MatMul"])
def test_only_channels_that_need_it_are_there_twice(op: str, target: Any) -> None:
    """Two of eight: one for a weight of 140, one for 130 in another output channel. Of five all are."""
    x = random_q(np.random.default_rng(1), (1, 8, 4, 4) if op == "Conv" else (3, 8), np.uint8)
    for wide, wanted in (((2, 7), 10), ((0, 1, 3, 4, 6), 16)):
        w = np.full((5, 8), 100, np.uint8)
        w[1, wide[0]], w[4, wide[1:]] = 250, 240
        form = Form(op, x.shape, (5, 8, 1, 1) if op == "Conv" else (8, 5))
        program = sums_of(form, w.reshape(form.w) if op == "Conv" else w.T.copy(), np.uint8(110), x, target)
        (call,) = [call for call in program.calls if isinstance(call, TemplateCall)]
        assert isinstance(call.arguments, ConvInt8) and call.arguments.in_channels == wanted


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
@pytest.mark.parametrize("form", ["dense", "Gemm", "depthwise"])
def test_a_function_of_their_sums(form: str, target: Any) -> None:
    generator = np.random.default_rng(2)
    shapes = FORMS[form]
    x = random_q(generator, shapes.x, np.uint8)
    for function in ("HardSwish", "HardSigmoid"):
        program = sums_of(shapes, random_q(generator, shapes.w, np.uint8), np.uint8(100), x, target, function)
        wanted = DEPTHWISE_INT8_FUNCTION if shapes.kernel is DepthwiseInt8 else CONV_INT8_FUNCTION
        assert kernels(program) == [wanted[function]]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
@pytest.mark.parametrize("form", ["dense", "groups", "transposed", "Gemm", "MatMul"])
def test_they_end_in_float(form: str, target: Any) -> None:
    """Exactly, by both programs' choice; codes of 16 bits are rounded from the same floats where weights leave [-127, 127] alone."""
    generator, shapes = np.random.default_rng(3), FORMS[form]
    x = random_q(generator, shapes.x, np.uint8)
    for zero in (np.uint8(100), np.int8(0)):
        w = random_q(generator, shapes.w, zero.dtype)
        w.reshape(-1)[:7] = np.iinfo(zero.dtype).min
        b = Builder()
        product = b.op(shapes.op, b.dequantize("x", 0.02, np.uint8(90)), b.dequantize(b.const(w), 0.011, zero), **shapes.attributes)
        outputs: dict[str, Any] = {product: np.float32}
        if zero.dtype == np.int8:
            outputs |= {b.quantize(product, 0.001, np.int16(0)): np.int16}
        graph = from_proto(b.model({"x": x}, outputs)).graph
        assert Evaluator(to_onnx(graph)).exact_outputs == set(outputs)
        assert set(kernels(check(graph, {"x": x}, target))) == {ConvInt8Float}
