"""Unary functions: with a product where they can be, else by one table a chain, of which only the end is stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from edgec.export import to_onnx
from edgec.integer import match
from edgec.integer.operators import DotProduct, Table
from edgec.ir.graph import Graph
from edgec.ir.types import DType
from edgec.lower.coding import local
from edgec.lower.tables import table
from edgec.oracle import Evaluator
from edgec.program.functions import FUNCTIONS
from edgec.quant import QuantizeOptions, apply_calibration, quantize
from edgec.quant.decisions.apply import apply
from edgec.quant.decisions.calibration_file import read_calibration
from edgec.quant.fits.shaped import shapeable, with_functions
from edgec.quant.scope.coverage import select
from edgec.quant.trials.steps import MORE, SHAPE
from tests.quant.small import Small, samples, sqnr

PLAIN = QuantizeOptions(observer="minmax", equalize=False, round_weights=False, correct_bias=False, shape_sums=False)


def affine(small: Small, x: str, factor: float, addend: float) -> str:
    scaled = small.node("Mul", x, small.constant(np.array([factor], np.float32)))
    return small.node("Add", small.constant(np.array([addend], np.float32)), scaled)


def scaled_activation() -> tuple[Graph, list[str]]:
    """As in mobile text recognizers: activations that are scaled and moved; and the values before and at the end of the chain."""
    return followed("HardSwish", 0.37)


def followed(op: str, factor: float) -> tuple[Graph, list[str]]:
    small = Small((1, 4, 8, 8))
    first = small.conv("x", 6)
    values = [first, small.node(op, first)]
    raised = small.node("Add", values[-1], small.constant(np.array([9], np.float32)))
    end = affine(small, raised, factor, -3.5)
    return small.done(small.conv(end, 4)), [*values, end]


def test_only_the_end_of_a_chain_is_stored() -> None:
    graph, (first, _, end) = followed("HardSwish", -0.37)
    assert select(graph).values == ("x", first, end)
    assert [layer.node.op for layer in select(graph).layers] == ["Conv", "HardSwish", "Conv"]
    quantized = quantize(graph, samples(graph), PLAIN)
    assert sqnr(graph, quantized.graph) > 34  # 31 with all values of it stored
    assert to_onnx(apply_calibration(graph, quantized.calibration)) == to_onnx(quantized.graph)
    assert Evaluator(to_onnx(quantized.graph)).exact_outputs == frozenset(graph.outputs)


@pytest.mark.parametrize("offset", [-3.5, -3.33, 0.2, 40.0])
def test_a_rising_line_shares_the_codes_of_a_function_with_its_product(offset: float) -> None:
    """One rounding, and no table that anybody runs."""
    graph, (_, function, end) = followed("HardSwish", 0.37)
    graph.constants[next(node for node in graph.nodes if node.outputs == [end]).inputs[0]][...] = offset
    assert select(graph).values == ("x", function, end)
    quantized = quantize(graph, samples(graph), PLAIN)
    assert sqnr(graph, quantized.graph) > 36  # 34 with the convolution's sums stored
    assert to_onnx(apply_calibration(graph, quantized.calibration)) == to_onnx(quantized.graph)
    assert Evaluator(to_onnx(quantized.graph)).exact_outputs == frozenset(graph.outputs)
    (looked_up,) = [operator for operator in match(quantized.graph).operators if isinstance(operator, Table)]
    source, result = (local(grid, DType.UINT8) for grid in (looked_up.operands[0].grid, looked_up.end.grid))
    assert table(looked_up.functions, source, result, DType.UINT8).tolist() == list(range(256))


@pytest.mark.parametrize("observer", ["mse", "minmax"])
def test_errors_are_seen_through_the_whole_chain(observer: str) -> None:
    graph, _ = followed("HardSwish", -0.37)
    assert sqnr(graph, quantize(graph, samples(graph), replace(PLAIN, observer=observer)).graph) > 34


def test_a_fused_activation_begins_none() -> None:
    """What the convolution gives is stored behind its Relu, so the functions behind that are a chain of their own."""
    small = Small((1, 4, 8, 8))
    relu = small.node("Relu", small.conv("x", 6))
    end = affine(small, relu, 0.5, 1.0)
    assert select(small.done(small.conv(end, 4))).values == ("x", relu, end)


def test_what_others_read_or_may_be_infinite_is_stored() -> None:
    small = Small((1, 4, 8, 8))
    sigmoid = small.node("Sigmoid", small.conv("x", 6))
    power, shared = small.node("Reciprocal", sigmoid), small.node("Neg", sigmoid)
    end, other = small.node("Neg", power), small.node("Add", shared, small.constant(np.array([2], np.float32)))
    graph = small.done(small.conv(end, 4), small.conv(other, 4))
    assert set(select(graph).values) == {"x", small.graph.nodes[0].outputs[0], sigmoid, power, end, other}


def test_a_chain_stays_in_float_with_its_first_function() -> None:
    graph, (*_, end) = scaled_activation()
    names = [node.name for node in graph.nodes]
    assert select(graph, names[1:2]).refused == dict.fromkeys(names[1:5], "excluded by the options")
    assert select(graph, names[:1]).refused == dict.fromkeys(names[:5], "excluded by the options")
    assert select(graph, names[2:3]).values == ("x", end)  # and what the first convolution gives is no layer's


ATTRIBUTES: dict[str, dict[str, Any]] = {
    "Swish": {"alpha": 1.0},
    "Gelu none": {"approximate": "none"},
    "Gelu tanh": {"approximate": "tanh"},
}


def shaped_thrice(op: str, most: int = 6, spread: float = 1.0) -> tuple[Graph, list[str], tuple[str, ...]]:
    """A function behind dense and depthwise convolutions, and where a mean reads it: these products, and what else is stored.

    most: channels; spread: by how much the first ones differ in what they read, which the depthwise convolution makes up for.
    """
    small, attributes = Small((1, 4, 8, 8)), ATTRIBUTES.get(op) or dict.fromkeys(FUNCTIONS[op].numbers, 0.25)
    products, values = [], ["x"]
    for channels, group in ((most, 1), (most, most), (most - 1, 1)):
        products.append(small.conv(values[-1], channels, group=group))
        values.append(small.node(op.split()[0], products[-1], **attributes))
    scale = np.geomspace(1, spread, most).astype(np.float32).reshape(-1, 1, 1, 1)
    first, depthwise = (node.inputs[1] for node in small.graph.nodes if node.outputs[0] in products[:2])
    small.graph.constants[first] *= scale
    small.graph.constants[depthwise] /= scale
    values.append(small.node("GlobalAveragePool", values[-1]))
    return small.done(small.conv(values[-1], 7, 1)), products, tuple(values)


@pytest.mark.parametrize("op", FUNCTIONS)
def test_a_function_of_a_product_is_stored_once(op: str) -> None:
    """Those that a kernel only comes near to where they are asked for."""
    graph, products, values = shaped_thrice(op)
    shaped = products if FUNCTIONS[op].within else ()
    assert select(graph, shaped=shaped).values == values
    assert set(select(graph).values) == {*values, *shaped}
    assert shapeable(graph, select(graph)) == [*shaped]
    plain = quantize(graph, samples(graph), PLAIN).calibration
    quantized = apply(graph, with_functions(graph, read_calibration(plain, graph), shaped))
    found = [operator for operator in match(quantized).operators if isinstance(operator, DotProduct)]
    assert [operator.function.name for operator in found if operator.function] == [op] * 3
    assert Evaluator(to_onnx(quantized)).exact_outputs == frozenset(graph.outputs)
    assert not [operator for operator in match(quantized).operators if isinstance(operator, Table)]


@pytest.mark.parametrize("op", [op for op, row in FUNCTIONS.items() if row.within])
def test_the_quantizer_takes_a_function_of_sums_where_it_pays(op: str) -> None:
    """And says so; what was decided is repeated."""
    graph, products, _ = shaped_thrice(op, 64, 20.0)
    result, before = quantize(graph, samples(graph, 16)), quantize(graph, samples(graph, 16), QuantizeOptions(shape_sums=False))
    whole = {value.split("_part")[0] for value in result.calibration["shaped"]}
    assert whole and whole <= {*products} and "shaped" not in before.calibration
    taken = sum(step["taken"] for step in result.report.steps if step["step"] in (SHAPE, MORE))
    assert taken == len(result.calibration["shaped"])
    assert sqnr(graph, result.graph, 64) > sqnr(graph, before.graph, 64)
    assert to_onnx(apply_calibration(graph, result.calibration)) == to_onnx(result.graph)


def test_what_a_second_reader_reads_is_stored_before_the_function() -> None:
    small = Small((1, 4, 8, 8))
    first = small.conv("x", 6)
    gate = small.node("HardSigmoid", first, alpha=0.2, beta=0.5)
    graph = small.done(small.conv(small.node("Mul", first, gate), 4))
    assert {first, gate} <= set(select(graph).values)
