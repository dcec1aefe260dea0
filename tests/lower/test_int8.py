"""Quantized graphs: every output bit against the evaluator, for both signs of activations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from edgec.base.errors import ModelError
from edgec.export import to_onnx
from edgec.frontend import from_proto
from edgec.ir.graph import Graph
from edgec.kernels import (
    ConvInt8,
    ConvInt8Any,
    ConvInt8Float,
    DepthwiseInt8,
    LayerNormInt8,
    PackInt8,
    PoolMaxInt8,
    ProductInt8,
    ProductInt8Float,
    SoftmaxInt8,
)
from edgec.kernels.matrix_int8 import input_multiple
from edgec.lower import LowerOptions, lower
from edgec.oracle import Evaluator
from edgec.passes import optimize
from edgec.program.program import LoopCall, Program, TemplateCall
from edgec.program.text import dumps as dump_program
from edgec.quant import QuantizeOptions, quantize
from edgec.schedule import schedule
from edgec.targets import load_target
from tests import nets
from tests.lower.interpreter import run
from tests.operators.attention_cases import attention_case
from tests.oracle.models import Builder, random_q
from tests.passes import compare
from tests.quant.small import Small

TARGETS = [load_target("x86-64"), load_target("linux-arm64")]
f32 = np.float32


def check(graph: Graph, inputs: dict[str, np.ndarray], target: Any) -> Program:
    """The Program's outputs are the evaluator's, bit by bit where the contract promises that."""
    evaluator = Evaluator(to_onnx(graph))
    wanted = evaluator.run(inputs)
    program = schedule(lower(graph, target, "net"), target)
    found = run(program, inputs, multiple=input_multiple(target.vocabularies))
    for name in graph.outputs:
        assert found[name].shape == wanted[name].shape and found[name].dtype == wanted[name].dtype
        if name in evaluator.exact_outputs:
            np.testing.assert_array_equal(found[name], wanted[name], err_msg=name)
        else:
            np.testing.assert_allclose(found[name], wanted[name], rtol=1e-4, atol=1e-4 * np.abs(wanted[name]).max(initial=0))
    return program


def quantized(graph: Graph, *, codes_out: bool = False) -> Graph:
    kind = graph.types["x"]
    samples = [{"x": compare.random_array(kind, np.random.default_rng(seed))} for seed in range(2)]
    return quantize(graph, lambda: samples, QuantizeOptions(codes_out=codes_out)).graph


def kernels(program: Program) -> list[type]:
    return [type(call.arguments) for call in program.calls if isinstance(call, TemplateCall)]


def built(b: Builder, out: str, inputs: dict[str, np.ndarray], dtype: Any = np.uint8) -> Graph:
    return from_proto(b.model(inputs, {out: dtype})).graph


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
@pytest.mark.parametrize("family", [pytest.param(name, marks=[pytest.mark.thorough] * (name == "yolox")) for name in sorted(nets.MODELS)])
def test_families_of_nets(family: str, target: Any) -> None:
    graph = from_proto(nets.MODELS[family](7)).graph
    optimize(graph)
    inputs = {"x": compare.random_array(graph.types["x"], np.random.default_rng(9))}
    inputs["x"].reshape(-1)[:4] = [np.nan, np.inf, -np.inf, -0.0]
    program = check(quantized(graph), inputs, target)
    assert ConvInt8 in kernels(program)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("x_dtype", [np.uint8, np.int8])
def test_a_channel_may_have_the_least_weight_once(target: Any, groups: int, x_dtype: Any) -> None:
    """As those have that PyTorch quantizes: 127.5 steps are the largest magnitude."""
    generator = np.random.default_rng(0)
    x = np.full((1, 4, 5, 5), np.iinfo(x_dtype).min, x_dtype)
    x[0, 1:] = random_q(generator, (3, 5, 5), x_dtype)
    for count in (1, 2):  # a second one makes -127 and -1 of them, for an input that is there twice
        b = Builder()
        w = np.maximum(random_q(generator, (4, 4 // groups, 3, 3), np.int8), -127)
        w.reshape(4, -1)[:, [5, 3][:count]] = -128
        product = b.op("Conv", b.dequantize("x", 0.02, x_dtype(5)), b.dequantize(b.const(w), 0.01, np.int8(0)), pads=[1] * 4, group=groups)
        program = check(built(b, b.quantize(product, 0.5, x_dtype(10)), {"x": x}, x_dtype), {"x": x}, target)
        assert kernels(program) == [DepthwiseInt8 if groups > 1 else ConvInt8]
        assert any("_copies" in buffer for buffer in program.buffers) == (count > 1)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_sums_whose_scale_could_take_them_beyond_32_bits(target: Any) -> None:
    """The fast kernels convert them without a bound: they take a scale that takes no sum, of 36 or 9 weights, beyond half of that."""
    x, w = random_q(np.random.default_rng(0), (1, 4, 5, 5), np.uint8), np.ones((16, 4, 3, 3), np.int8)
    dense, deep = ((0.5, 1.5, 2.0**16), 2.0**17), ((0.5, 1.5, 2.0**18), 2.0**19)
    rows = [(scale, groups, kind) for (fast, _), groups, kind in ((dense, 1, ConvInt8), (deep, 4, DepthwiseInt8)) for scale in fast]
    for scale, groups, expected in (*rows, (dense[1], 1, ConvInt8Any), (deep[1], 4, ConvInt8Any)):
        b = Builder()
        weights = b.dequantize(b.const(w[:4, :1] if groups > 1 else w), scale, np.int8(0))
        out = b.quantize(b.op("Conv", b.dequantize("x", 1.0, np.uint8(5)), weights, group=groups), 1.0, np.uint8(10))
        assert kernels(check(built(b, out, {"x": x}, np.uint8), {"x": x}, target)) == [expected]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_constant_whose_scale_takes_it_beyond_float32(target: Any) -> None:
    """It is infinite, as in ONNX."""
    b = Builder()
    b.op("Max", b.dequantize("x", 0.02, np.uint8(5)), b.dequantize(b.const(np.array([127, -127, 1, 0], np.int8)), 2.7e36, np.int8(0)))
    x = random_q(np.random.default_rng(0), (3, 4), np.uint8)
    check(built(b, "v2", {"x": x}, np.float32), {"x": x}, target)


@pytest.mark.parametrize("op", ["Add", "Sub"])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_residual_joins_the_convolution(op: str, swapped: bool, target: Any) -> None:
    generator = np.random.default_rng(1)
    x = random_q(generator, (1, 4, 5, 6), np.uint8)
    b = Builder()
    real = b.dequantize("x", 0.02, np.uint8(100))
    first = b.op("Conv", real, b.dequantize(b.const(random_q(generator, (6, 4, 1, 1), np.int8).clip(-127)), 0.01, np.int8(0)))
    a = b.dequantize(b.quantize(first, 0.03, np.uint8(90)), 0.03, np.uint8(90))
    second = b.op("Conv", a, b.dequantize(b.const(random_q(generator, (6, 6, 1, 1), np.int8).clip(-127)), 0.004, np.int8(0)))
    c = b.dequantize(b.quantize(b.op("Relu", second), 0.02, np.uint8(30)), 0.02, np.uint8(30))
    total = b.op("Relu", b.op(op, c, a) if swapped else b.op(op, a, c))
    out = b.quantize(total, 0.05, np.uint8(20))
    program = check(built(b, out, {"x": x}), {"x": x}, target)
    last = [call.arguments for call in program.calls if isinstance(call, TemplateCall)][-1]
    assert kernels(program) == [ConvInt8, ConvInt8] and isinstance(last, ConvInt8) and last.residual is not None


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_few_results_of_each_channel_are_a_depthwise_layer(target: Any) -> None:
    generator = np.random.default_rng(4)
    x = random_q(generator, (2, 5, 6, 7), np.uint8)
    b = Builder()
    weights = b.dequantize(b.const(random_q(generator, (15, 1, 3, 3), np.int8).clip(-127)), 0.01, np.int8(0))
    product = b.op("Conv", b.dequantize("x", 0.02, np.uint8(100)), weights, group=5, pads=[1, 1, 1, 1])
    program = check(built(b, b.quantize(product, 0.05, np.uint8(90)), {"x": x}), {"x": x}, target)
    assert kernels(program) == [DepthwiseInt8]


FORMS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {  # x, weights and attributes
    "Conv": ((2, 3, 7, 6), (19, 3, 3, 2), {"pads": [1, 0, 1, 1]}),
    "Conv of groups": ((1, 6, 5, 4), (9, 2, 1, 1), {"group": 3}),
    "ConvTranspose": ((1, 4, 4, 3), (4, 3, 3, 3), {"group": 2, "strides": [2, 2]}),
    "Gemm": ((5, 37), (37, 17), {}),
    "MatMul": ((2, 3, 21), (21, 16), {}),
}


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
@pytest.mark.parametrize("form", FORMS)
def test_products_end_in_float(form: str, target: Any) -> None:
    """The sums become floats in the kernel; a Relu, an Add and a QuantizeLinear read them, and the caller does."""
    generator, op = np.random.default_rng(7), form.split()[0]
    shape, weights, attributes = FORMS[form]
    x, w = random_q(generator, shape, np.uint8), random_q(generator, weights, np.int8).clip(-127)
    b = Builder()
    product = b.op(op, b.dequantize("x", 0.02, np.uint8(90)), b.dequantize(b.const(w), 0.011, np.int8(0)), **attributes)
    relu = b.op("Relu", product)
    outputs = {product: np.float32, b.op("Add", product, relu): np.float32, b.quantize(relu, 0.5, np.uint8(3)): np.uint8}
    graph = from_proto(b.model({"x": x}, outputs)).graph
    assert Evaluator(to_onnx(graph)).exact_outputs == set(outputs)
    assert kernels(check(graph, {"x": x}, target)) == [ConvInt8Float]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_products_that_do_not_end_in_float(target: Any) -> None:
    """Depthwise ones are float islands there, by both programs' choice."""
    generator = np.random.default_rng(8)
    x = random_q(generator, (1, 4, 5, 5), np.uint8)
    w, b = random_q(generator, (4, 1, 3, 3), np.int8), Builder()
    product = b.op("Conv", b.dequantize("x", 0.02, np.uint8(90)), b.dequantize(b.const(w), 0.011, np.int8(0)), group=4)
    graph = built(b, product, {"x": x}, np.float32)
    assert Evaluator(to_onnx(graph)).exact_outputs == frozenset()
    assert not {ConvInt8, ConvInt8Any, ConvInt8Float, DepthwiseInt8} & set(kernels(check(graph, {"x": x}, target)))


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_codes_stay_codes_when_a_float_kernel_reads_them_first(target: Any) -> None:
    """A convolution with float weights and then an Add read one value. The sums are ties: floats would round some to the other side."""
    generator = np.random.default_rng(4)
    x = {name: random_q(generator, (1, 4, 6, 6), np.uint8) for name in ("x", "y")}
    b = Builder()
    first, second = (b.dequantize(name, 0.1, np.uint8(7)) for name in x)
    floats = b.op("Conv", first, b.const(generator.standard_normal((4, 4, 1, 1)), np.float32))
    out = b.quantize(b.op("Add", first, second), 0.2, np.uint8(9))
    graph = from_proto(b.model(x, {floats: np.float32, out: np.uint8})).graph
    check(graph, x, target)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_codes_that_are_gathered_by_computed_indices(target: Any) -> None:
    """They are moved as by constant ones. The steps are ties, which floats would round to the other side now and then."""
    x, b = {"x": np.arange(256, dtype=np.uint8), "i": np.arange(256, dtype=np.int64)[::-1].copy()}, Builder()
    out = b.quantize(b.op("Gather", b.dequantize("x", 0.3, np.uint8(7)), "i"), 0.6, np.uint8(9))
    check(built(b, out, x), x, target)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_movement_between_parameters(target: Any) -> None:
    """MaxPool, Pad, Concat, Transpose and DepthToSpace move codes; only different parameters cost arithmetic."""
    x = random_q(np.random.default_rng(2), (1, 4, 6, 6), np.uint8)
    b = Builder()
    real = b.dequantize("x", 0.02, np.uint8(100))
    pooled = b.op("MaxPool", real, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    padded = b.op("Pad", b.op("Slice", real, b.const([1, 1]), b.const([5, 5]), b.const([2, 3])), b.const([0, 0, 1, 1, 0, 0, 1, 1]))
    other = b.dequantize(b.quantize(padded, 0.05, np.uint8(7)), 0.05, np.uint8(7))
    joined = b.quantize(b.op("Concat", pooled, other, axis=1), 0.03, np.uint8(50))
    space = b.op("DepthToSpace", b.dequantize(joined, 0.03, np.uint8(50)), blocksize=2)
    out = b.op("Transpose", space, perm=[0, 2, 3, 1])
    program = check(built(b, out, {"x": x}, np.float32), {"x": x}, target)
    assert PoolMaxInt8 in kernels(program)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_parts_that_were_moved_join_as_codes(target: Any) -> None:
    """Behind Slice, MaxPool and another Concat too, some with other readers, beside a convolution that writes its part in place."""
    x, g = random_q(np.random.default_rng(2), (1, 4, 6, 6), np.uint8), np.random.default_rng(3)
    b, same = Builder(), (0.05, np.uint8(7))
    real = b.dequantize("x", *same)
    weights = b.dequantize(b.const(random_q(g, (5, 4, 3, 3), np.int8)), 0.01, np.int8(0))
    made = b.dequantize(b.quantize(b.op("Conv", real, weights, pads=[1] * 4), *same), *same)
    pooled = b.op("MaxPool", made, kernel_shape=[3, 3], pads=[1] * 4)
    part = b.op("Slice", real, b.const([1]), b.const([3]), b.const([1]))
    inner = b.op("Concat", part, pooled, axis=1)
    outer = b.dequantize(b.quantize(b.op("Concat", made, inner, part, axis=1), *same), *same)
    weights = b.dequantize(b.const(random_q(g, (3, 14, 1, 1), np.int8)), 0.01, np.int8(0))
    last = b.dequantize(b.quantize(b.op("Conv", outer, weights), 0.3, np.uint8(99)), 0.3, np.uint8(99))
    check(built(b, b.op("Concat", last, inner, axis=1), {"x": x}, np.float32), {"x": x}, target)


@pytest.mark.parametrize("io", ["int8", "uint8"])
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_raw_interface(io: str, target: Any) -> None:
    """--io: the caller gives and takes codes, and they are the codes that the model itself would use."""
    graph = from_proto(nets.MODELS["resnet"](2)).graph
    optimize(graph)
    graph = quantized(graph, codes_out=True)
    x = compare.random_array(graph.types["x"], np.random.default_rng(4))
    program = schedule(lower(graph, target, "net", LowerOptions(io=io)), target)
    port = program.inputs[0]
    assert port.dtype.value == io and port.scale is not None
    limits = np.iinfo(io)
    steps = np.rint(x * (f32(1) / f32(port.scale)))
    codes = (np.clip(steps, limits.min - port.zero_point, limits.max - port.zero_point) + port.zero_point).astype(io)
    raw = run(program, {"x": codes}, multiple=input_multiple(target.vocabularies))
    whole = run(schedule(lower(graph, target, "net"), target), {"x": x}, multiple=input_multiple(target.vocabularies))
    for result in program.outputs:
        found = raw[result.name]
        if result.scale is not None:
            found = (found.astype(np.float32) - f32(result.zero_point)) * f32(result.scale)
        np.testing.assert_array_equal(found, whole[result.name])


@pytest.mark.parametrize("coded", [False, True])
def test_raw_outputs_are_the_codes_of_the_last_layer(coded: bool) -> None:
    small = Small((1, 3, 8, 8))
    graph = quantized(small.done(small.conv("x", 4)), codes_out=coded)
    port = lower(graph, TARGETS[0], "net", LowerOptions(io="int8")).outputs[0]
    assert (port.dtype.value, port.scale is not None) == (("int8", True) if coded else ("float32", False))


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_chains_of_functions_are_one_look_up(target: Any) -> None:
    x, b = np.arange(256).astype(np.uint8).reshape(4, 64), Builder()
    scaled = b.op("Mul", b.const([0.37], np.float32), b.op("HardSwish", b.dequantize("x", 0.05, np.uint8(128))))
    out = b.quantize(b.op("Add", scaled, b.const(-0.21, np.float32)), 0.011, np.uint8(90))
    graph = built(b, out, {"x": x})
    assert Evaluator(to_onnx(graph)).exact_outputs == {out}
    program = check(graph, {"x": x}, target)
    assert len(program.calls) == 1 and [node.op for node in graph.nodes][1:4] == ["HardSwish", "Mul", "Add"]
    assert "rint" not in dump_program(program)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_chain_may_begin_with_a_product(target: Any) -> None:
    x, b = np.arange(256).astype(np.uint8), Builder()
    real = b.dequantize("x", 0.05, np.uint8(128))
    swish = b.op("Mul", real, b.op("Sigmoid", real))
    out = b.quantize(b.op("Div", swish, b.const(3.0, np.float32)), 0.011, np.uint8(90))
    assert "rint" not in dump_program(check(built(b, out, {"x": x}), {"x": x}, target))


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
@pytest.mark.parametrize("inner", ["Reciprocal", "Log"])
def test_what_may_be_infinite_is_in_no_chain(inner: str, target: Any) -> None:
    x, b = np.arange(256).astype(np.uint8), Builder()
    out = b.quantize(b.op("Neg", b.op(inner, b.dequantize("x", 1.0, np.uint8(2)))), 0.1, np.uint8(33))
    assert "rint" in dump_program(check(built(b, out, {"x": x}), {"x": x}, target))


def test_what_cannot_be_integer_stays_in_float() -> None:
    """Per-channel scales along the wrong axis: a float island, not a wrong answer."""
    x, b = random_q(np.random.default_rng(5), (3, 8), np.uint8), Builder()
    w = b.dequantize(b.const(random_q(np.random.default_rng(6), (8, 4), np.int8)), np.full(8, 0.01), np.zeros(8, np.int8), axis=0)
    out = b.quantize(b.op("MatMul", b.dequantize("x", 0.02, np.uint8(3)), w), 0.01, np.uint8(100))
    graph = built(b, out, {"x": x})
    program = schedule(lower(graph, TARGETS[0], "net"), TARGETS[0])
    assert not {ConvInt8, ConvInt8Any, DepthwiseInt8} & set(kernels(program))
    found = run(program, {"x": x})[out].astype(int)
    assert np.abs(found - Evaluator(to_onnx(graph)).run({"x": x})[out].astype(int)).max() <= 1
    assert any(isinstance(call, LoopCall) for call in program.calls)


def test_numbers_of_an_axis_quantized_with_scales_of_their_own() -> None:
    b = Builder()
    x = np.linspace(-3, 30, 8, dtype=np.float32).reshape(2, 4)
    out = b.op(
        "QuantizeLinear", "x", b.const(np.array([0.1, 0.2, 0.5, 1], np.float32)), b.const(np.array([0, 3, 9, 255], np.uint8)), axis=1
    )
    check(built(b, out, {"x": x}), {"x": x}, TARGETS[0])


def test_what_stands_behind_a_refused_operator_is_checked_too() -> None:
    """The refused Gemm ends in codes, which a Transpose and another refused Gemm read."""
    b = Builder()
    x, large = np.zeros((5, 5), np.float32), b.const(np.full((5, 5), 3e38, np.float32))
    q = b.quantize("x", 0.1, np.uint8(9))
    for _ in range(2):
        product = b.op("Gemm", b.dequantize(q, 0.1, np.uint8(9)), large, alpha=1000.0)
        q = b.op("Transpose", b.quantize(product, 0.1, np.uint8(9)), perm=[1, 0])
    with pytest.raises(ModelError) as caught:
        lower(built(b, q, {"x": x}), TARGETS[0], "net")
    assert [problem.what for problem in caught.value.problems] == ["Gemm: alpha 1000 times a constant beyond float32"] * 2


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_pad_whose_value_a_run_finds(target: Any) -> None:
    """Of codes, of what stands for them, and of floats."""
    b = Builder()
    q, fill = np.arange(20, dtype=np.uint8).reshape(4, 5), np.array(200, np.uint8)
    number = np.array(-0.25, np.float32)
    pads = b.const(np.array([1, 0, 0, 2], np.int64))
    codes = b.op("Cast", b.op("Pad", "q", pads, "fill"), to=6)
    floats = b.op("Cast", b.op("Pad", b.dequantize("q", 0.1, np.uint8(9)), pads, "number"), to=1)
    y = b.op("Add", b.op("Cast", codes, to=1), floats)
    inputs = {"q": q, "fill": fill, "number": number}
    check(built(b, y, inputs), inputs, target)


def test_codes_known_at_build_time_with_a_scale_that_is_not() -> None:
    b = Builder()
    scale = np.array(0.3, np.float32)
    out = b.op("DequantizeLinear", b.const(np.arange(4, dtype=np.uint8)), "s", b.const(np.array(2, np.uint8)))
    check(built(b, b.op("Neg", out), {"s": scale}), {"s": scale}, TARGETS[0])


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 5, 7, 11])
def test_attention(seed: int, target: Any) -> None:
    case = attention_case(seed)
    graph = from_proto(case.model).graph
    optimize(graph)
    program = check(graph, case.inputs, target)
    kinds = [type(call.arguments) for call in program.calls if isinstance(call, TemplateCall)]
    assert kinds in ([PackInt8, ProductInt8], [PackInt8, ProductInt8Float], [SoftmaxInt8], [LayerNormInt8])
