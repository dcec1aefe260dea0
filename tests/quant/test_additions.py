"""Scales around additions: what they promise, and that ONNX Runtime's own order of operations gives clause 5's bytes with them."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from edgec.ir.graph import Node
from edgec.ops.registry import Role
from edgec.quant.ranges.additions import LONGEST_CHAIN, MANTISSA_BITS, OPERAND_BITS, exact_additions, rounded_up
from edgec.quant.scope.coverage import Layer, Selection


def chain(length: int) -> Selection:
    """y0 = x0 + c0, y1 = y0 + c1, ..."""
    layers, source = [], "x"
    for index in range(length):
        node = Node("Add", [source, f"c{index}"], [f"y{index}"], {}, f"add{index}")
        layers.append(Layer(node, Role.ADD, None, (source, f"c{index}")))
        source = f"y{index}"
    values = ["x", *(f"{kind}{index}" for index in range(length) for kind in "cy")]
    return Selection(tuple(layers), tuple(values), {})


def drawn(selection: Selection, seed: int) -> dict[str, float]:
    generator = np.random.default_rng(seed)
    return {value: float(np.float32(generator.uniform(0.01, 0.3))) for value in selection.values}


def short(ratio: float, bits: int) -> bool:
    numerator, denominator = ratio.as_integer_ratio()
    odd = numerator // (numerator & -numerator)
    return denominator & (denominator - 1) == 0 and odd < 2**bits


@pytest.mark.parametrize("length", range(1, LONGEST_CHAIN + 1))
@pytest.mark.parametrize("seed", range(20))
def test_multipliers_are_short_and_scales_hardly_grow(length: int, seed: int) -> None:
    selection = chain(length)
    before = drawn(selection, seed)
    after, even = exact_additions(selection, {value: value for value in selection.values}, before)
    assert even == {f"y{index}" for index in range(length)}
    growth = 1 + 2.0 ** (1 - min(OPERAND_BITS, MANTISSA_BITS // length)) + 1e-9
    for value, scale in after.items():
        assert float(np.float32(scale)) == scale and before[value] <= scale <= before[value] * growth
    for layer in selection.layers:
        for operand in layer.operands:
            exact = after[operand] / after[layer.outputs[0]]
            assert short(exact, 15) and float(np.float32(exact)) == exact


def test_a_longer_chain_is_left_alone() -> None:
    selection = chain(LONGEST_CHAIN + 1)
    before = drawn(selection, 0)
    assert exact_additions(selection, {value: value for value in selection.values}, before) == (before, frozenset())


@pytest.mark.parametrize("seed", range(8))
def test_onnxruntime_adds_every_pair_of_codes_alike(seed: int) -> None:
    generator = np.random.default_rng(seed)
    unit, total = rounded_up(float(generator.uniform(0.05, 0.3)), 1, 15)
    scales = [np.float32(rounded_up(float(generator.uniform(0.02, 0.3)), unit, OPERAND_BITS)[1]) for _ in range(2)] + [np.float32(total)]
    zeros = [int(zero) for zero in generator.integers(0, 256, 2)] + [2 * int(generator.integers(0, 128))]
    a, b = (codes.ravel().astype(np.uint8) for codes in np.meshgrid(np.arange(256), np.arange(256)))
    left, right = (
        (codes.astype(np.float32) - zero) * (scale / scales[2]) for codes, zero, scale in zip((a, b), zeros, scales, strict=False)
    )
    expected = np.clip(np.rint(left + right), -zeros[2], 255 - zeros[2]) + zeros[2]
    names = ["sa", "za", "sb", "zb", "sy", "zy"]
    constants = [
        helper.make_tensor(name, TensorProto.FLOAT if name[0] == "s" else TensorProto.UINT8, [], [value])
        for name, value in zip(names, [v for pair in zip(map(float, scales), zeros, strict=True) for v in pair], strict=True)
    ]
    ports = [helper.make_tensor_value_info(name, TensorProto.UINT8, [a.size]) for name in "aby"]
    node = helper.make_node("QLinearAdd", ["a", "sa", "za", "b", "sb", "zb", "sy", "zy"], ["y"], domain="com.microsoft")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(helper.make_graph([node], "sum", ports[:2], ports[2:], constants), opset_imports=opsets)
    model.ir_version = 8
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(session.run(None, {"a": a, "b": b})[0], expected)
