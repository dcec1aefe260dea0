"""Functions that kernels compute of their sums: every output bit against the evaluator, and what is left to float islands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from edgec.export import to_onnx
from edgec.frontend import from_proto
from edgec.ir.types import DType
from edgec.kernels import CONV_INT8_FUNCTION, DEPTHWISE_INT8_FUNCTION
from edgec.oracle import Evaluator
from edgec.program.functions import FUNCTIONS
from edgec.program.program import Kind
from tests.lower.test_int8 import FORMS, TARGETS, built, check, kernels
from tests.oracle.models import Builder, random_q

SHAPED: dict[str, Callable[[Builder, str], str]] = {
    "HardSwish": lambda b, x: b.op("HardSwish", x),
    "HardSigmoid": lambda b, x: b.op("HardSigmoid", x, alpha=0.21),
    "LeakyRelu": lambda b, x: b.op("LeakyRelu", x, alpha=0.3),
    "Swish": lambda b, x: b.op("Mul", x, b.op("Sigmoid", x)),
    "Gelu none": lambda b, x: b.op("Gelu", x),
    "Gelu tanh": lambda b, x: b.op("Gelu", x, approximate="tanh"),
}


def multipliers(generator: np.random.Generator, form: str, weights: tuple[int, ...], attributes: dict[str, Any]) -> np.ndarray:
    """One for each output channel of a product, no powers of two."""
    channels = weights[0] if form.startswith("Conv,") or form in ("Conv", "Conv of groups") else weights[1] * attributes.get("group", 1)
    numbers = generator.uniform(0.1, 3, channels).astype(np.float32)
    return numbers.reshape(-1, 1, 1) if form.startswith("Conv") else numbers


@pytest.mark.parametrize("op", FUNCTIONS)
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_functions_are_computed_of_sums(op: str, target: Any) -> None:
    """One kernel for each product, its function and the QuantizeLinear, with a multiplier for each channel between or not; depthwise
    products, too."""
    generator, forms = np.random.default_rng(9), {**FORMS, "Conv, depthwise": ((1, 5, 6, 5), (5, 1, 3, 3), {"group": 5})}
    for number, (form, (shape, weights, attributes)) in enumerate([*forms.items()] * 2):
        x, w = random_q(generator, shape, np.uint8), random_q(generator, weights, np.int8).clip(-127)
        b = Builder()
        real, matrix = b.dequantize("x", 0.02, np.uint8(90)), b.dequantize(b.const(w), 0.011, np.int8(0))
        product = SHAPED[op](b, b.op(form.split(",")[0].split()[0], real, matrix, **attributes))
        if number >= len(forms):
            product = b.op("Mul", *[product, b.const(multipliers(generator, form, weights, attributes))][:: (-1) ** number])
        out = b.quantize(product, 0.02, np.uint8(30))
        graph = built(b, out, {"x": x})
        assert Evaluator(to_onnx(graph)).exact_outputs == {out}
        expected = (DEPTHWISE_INT8_FUNCTION if "depthwise" in form else CONV_INT8_FUNCTION)[op]
        program = check(graph, {"x": x}, target)
        assert kernels(program) == [expected]
        assert not any(kind.dtype is DType.FLOAT32 and kind.kind is Kind.ARENA for kind in program.buffers.values())


UNSHAPED: dict[str, Callable[[Builder, str, str], tuple[str, list[str]]]] = {
    "another slope": lambda b, x, _: (b.op("Mul", x, b.op("Sigmoid", b.op("Mul", x, b.const(1.7, np.float32)))), []),
    "a factor": lambda b, x, _: (b.op("Mul", x, b.const(1.7, np.float32)), []),
    "another product": lambda b, x, y: (b.op("Mul", b.op("Sigmoid", x), y), [x]),
    "a gate that others read": lambda b, x, _: (b.op("Mul", x, gate := b.op("Sigmoid", x)), [gate]),
    "sums that others read": lambda b, x, _: (b.op("Gelu", x), [x]),
    "its own square": lambda b, x, _: (b.op("Mul", x, x), []),
}


@pytest.mark.parametrize("why", UNSHAPED)
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_what_is_no_function_of_sums(why: str, target: Any) -> None:
    """The product ends in float, the rest is a float island, for the evaluator as well."""
    x, b = random_q(np.random.default_rng(8), (1, 4, 5, 5), np.uint8), Builder()
    one, other = (
        b.dequantize(b.const(random_q(np.random.default_rng(n), (4, 4, 1, 1), np.int8).clip(-127)), 0.011, np.int8(0)) for n in (1, 2)
    )
    real = b.dequantize("x", 0.02, np.uint8(90))
    result, more = UNSHAPED[why](b, b.op("Conv", real, one), b.op("Conv", real, other))
    outputs = {b.quantize(result, 0.02, np.uint8(30)): np.uint8, **dict.fromkeys(more, np.float32)}
    graph = from_proto(b.model({"x": x}, outputs)).graph
    assert not {*CONV_INT8_FUNCTION.values()} & {*kernels(check(graph, {"x": x}, target))}


FACTORS: dict[str, tuple[Any, ...]] = {
    "one number": (np.full((1, 1, 1, 1), 0.7, np.float32),),
    "of no channel": (np.full(5, 0.7, np.float32),),
    "more axes": (np.linspace(0.1, 1, 4, dtype=np.float32).reshape(1, 1, 4, 1, 1),),
    "of each pixel": (np.full((4, 5, 5), 0.7, np.float32),),
    "a zero": (np.array([[[1]], [[0]], [[2]], [[3]]], np.float32),),
    "a negative number": (np.array([[[1]], [[-1]], [[2]], [[3]]], np.float32),),
    "an infinity": (np.array([[[1]], [[np.inf]], [[2]], [[3]]], np.float32),),
    "too large": (np.array([[[1]], [[2.0**60]], [[2]], [[3]]], np.float32),),
    "read twice": (np.array([[[1]], [[4]], [[2]], [[3]]], np.float32), True),
}


@pytest.mark.parametrize("why", FACTORS)
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_what_is_no_multiplier_of_channels(why: str, target: Any) -> None:
    """The product ends in float, and what follows is a float island, for the evaluator as well."""
    x, b = random_q(np.random.default_rng(8), (1, 4, 5, 5), np.uint8), Builder()
    w = b.dequantize(b.const(random_q(np.random.default_rng(1), (4, 4, 1, 1), np.int8).clip(-127)), 0.011, np.int8(0))
    factor, *more = FACTORS[why]
    real = b.op("Mul", b.op("HardSwish", b.op("Conv", b.dequantize("x", 0.02, np.uint8(90)), w)), b.const(factor))
    outputs = {b.quantize(real, 0.02, np.uint8(30)): np.uint8, **({real: np.float32} if more else {})}
    graph = from_proto(b.model({"x": x}, outputs)).graph
    assert not {*CONV_INT8_FUNCTION.values()} & {*kernels(check(graph, {"x": x}, target))}


ISLANDS: dict[str, tuple[int, Callable[[Builder, str], str], float]] = {
    "of a single channel": (1, lambda b, x: b.op("Mul", b.op("Gelu", x), b.const(np.full((1, 1, 1), 0.7, np.float32))), 0.02),
    "of small steps": (4, lambda b, x: b.op("Gelu", x), 2.0**-70),
}


@pytest.mark.parametrize("why", ISLANDS)
def test_functions_that_stay_float_islands(why: str) -> None:
    """A single number is a factor as any is, and no multiplier is above 2^64."""
    channels, of, step = ISLANDS[why]
    x, b = random_q(np.random.default_rng(8), (1, 4, 5, 5), np.uint8), Builder()
    w = b.dequantize(b.const(random_q(np.random.default_rng(1), (channels, 4, 1, 1), np.int8).clip(-127)), 0.011, np.int8(0))
    out = b.quantize(of(b, b.op("Conv", b.dequantize("x", 0.02, np.uint8(90)), w)), step, np.uint8(30))
    assert not {*CONV_INT8_FUNCTION.values()} & {*kernels(check(built(b, out, {"x": x}), {"x": x}, TARGETS[0]))}
