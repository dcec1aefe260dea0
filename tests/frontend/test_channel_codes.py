"""Codes with a scale for each channel, as NNCF gives them to depthwise convolutions: integer layers, and why where there are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import edgec
from edgec.export import to_onnx
from edgec.frontend import from_proto
from edgec.integer import match
from edgec.integer.operators import DotProduct, IntegerOperator
from edgec.ir.graph import Graph
from edgec.oracle import Evaluator
from edgec.passes import optimize
from tests.oracle.models import run_onnxruntime

from .models import model, node

SCALES = np.array([0.003, 0.02, 0.011, 0.0001], np.float32)
ZERO = np.zeros(4, np.uint8)
LIVE = np.array([-128, -128, -128, 0], np.int8)  # the last channel is 0 for all samples that calibrated


def network(
    zero: np.ndarray = ZERO, activation: str = "Relu", decoded: np.ndarray = SCALES, scales: np.ndarray = SCALES
) -> onnx.ModelProto:  # fmt: skip
    """Codes, a convolution, its activation, codes with parameters by channel, a depthwise convolution, codes."""
    g = np.random.default_rng(5)
    bound = {"Clip": "c low high"}.get(activation, "c")
    nodes = [
        node("QuantizeLinear", "x xs xz", "xq"), node("DequantizeLinear", "xq xs xz", "xd"),
        node("DequantizeLinear", "w ws wz", "wd", axis=0), node("Conv", "xd wd b", "c"),
        node(activation, bound, "a"), node("QuantizeLinear", "a s z", "q", axis=1), node("DequantizeLinear", "q d z", "r", axis=1),
        node("DequantizeLinear", "v vs", "vd"), node("Conv", "r vd", "p", group=4, pads=[1, 1, 1, 1]),
        node("QuantizeLinear", "p ys xz", "yq"), node("DequantizeLinear", "yq ys xz", "y"),
    ]  # fmt: skip
    constants = {
        "xs": np.float32(0.021), "xz": np.int8(-3), "ys": np.float32(0.04), "s": scales, "d": decoded, "z": zero,
        "w": g.integers(-127, 128, (4, 3, 1, 1)).astype(np.int8), "ws": g.uniform(0.001, 0.01, 4).astype(np.float32),
        "wz": np.zeros(4, np.int8), "b": g.standard_normal(4).astype(np.float32), "v": g.integers(-127, 128, (4, 1, 3, 3)).astype(np.int8),
        "vs": np.float32(0.0113), "low": np.float32(0), "high": np.float32(6),
    }  # fmt: skip
    return model(nodes, {"x": [1, 3, 7, 6]}, ["y"], {name: np.asarray(array) for name, array in constants.items()})


def optimized(proto: onnx.ModelProto) -> Graph:
    graph = from_proto(proto).graph
    optimize(graph)
    return graph


def products(graph: Graph) -> list[IntegerOperator]:
    return [found for found in match(graph).operators if isinstance(found, DotProduct) and found.tail is not None]


@pytest.mark.parametrize("activation", ["Relu", "Clip"])
@pytest.mark.parametrize("zero", [ZERO, LIVE], ids=["one_zero", "two_zeros"])
def test_both_convolutions_are_integer_layers(zero: np.ndarray, activation: str) -> None:
    graph = optimized(network(zero, activation))
    assert len(products(graph)) == 2 and not match(graph).refused
    assert {n.op for n in graph.nodes} <= {"Conv", "Relu", "QuantizeLinear", "DequantizeLinear"}


@pytest.mark.parametrize("activation", ["HardSwish", "LeakyRelu"])
def test_functions_of_sums_are_multiplied_by_channel(activation: str) -> None:
    """Where clause 4 has them, in the kernel of the first convolution."""
    graph = optimized(network(ZERO + 20, activation))
    first, second = products(graph)
    assert isinstance(first, DotProduct) and isinstance(second, DotProduct) and not match(graph).refused
    assert first.function is not None and first.function.name == activation and second.function is None
    assert first.behind is not None and np.array_equal(first.behind, np.float32(1) / SCALES)


@pytest.mark.parametrize(
    ("zero", "activation"),
    [(ZERO, "Relu"), (LIVE, "Relu"), (ZERO + 20, "HardSwish"), (ZERO + 20, "LeakyRelu")],
    ids=["one_zero", "two_zeros", "HardSwish", "LeakyRelu"],
)
def test_the_numbers_are_those_of_the_file(zero: np.ndarray, activation: str) -> None:
    """But for ties, and for a step of the channels that have finer ones than in the file."""
    proto = network(zero, activation)
    evaluator = Evaluator(to_onnx(optimized(proto)))
    x = np.random.default_rng(1).uniform(-2.7, 2.7, (1, 3, 7, 6)).astype(np.float32)
    (found,), (wanted,) = evaluator.run({"x": x}).values(), run_onnxruntime(proto, {"x": x})
    steps = np.abs(found - wanted) / 0.04
    assert steps.max() < 1.01 and (steps > 0.5).mean() < 0.02 and evaluator.exact_outputs == {"y"}


@pytest.mark.parametrize(
    ("proto", "why"),
    [
        (network(LIVE, "Identity"), "codes of several zero points"),
        (network(decoded=SCALES[::-1].copy()), "codes of several scales"),
    ],
    ids=["zero_points_of_negative_numbers", "other_scales_behind_the_codes"],
)
def test_why_a_depthwise_convolution_stays_in_float(proto: onnx.ModelProto, why: str) -> None:
    assert [reason for reason in match(optimized(proto)).refused.values() if why in reason]


def test_bounds_that_codes_reach_stay_before_them() -> None:
    """The scale of a channel reaches beyond 6: the first convolution ends in float, the depthwise one is an integer layer."""
    graph = optimized(network(activation="Clip", decoded=SCALES * 2, scales=SCALES * 2))
    assert len(products(graph)) == 1 and "Clip" in {n.op for n in graph.nodes}


def test_numbers_of_no_convolution_are_coded_by_channel() -> None:
    nodes = [
        node("QuantizeLinear", "x s z", "q", axis=1), node("DequantizeLinear", "q s z", "r", axis=1),
        node("DequantizeLinear", "v vs", "vd"), node("Conv", "r vd", "p", group=4),
        node("QuantizeLinear", "p vs z0", "yq"), node("DequantizeLinear", "yq vs z0", "y"),
    ]  # fmt: skip
    constants = {
        "s": SCALES, "z": ZERO + 7, "v": np.arange(4, dtype=np.int8).reshape(4, 1, 1, 1), "vs": np.asarray(np.float32(0.01)),
        "z0": np.asarray(np.uint8(9)),
    }  # fmt: skip
    graph = optimized(model(nodes, {"x": [1, 4, 5, 5]}, ["y"], constants))
    assert [n.op for n in graph.nodes if n.op == "Mul"] == ["Mul"] and len(products(graph)) == 1


def test_weights_that_are_coded_once_more_stay_weights() -> None:
    proto = network()
    proto.graph.node[2].output[0] = "once"
    proto.graph.node.insert(3, node("QuantizeLinear", "once ws wz", "again", axis=0))
    proto.graph.node.insert(4, node("DequantizeLinear", "again ws wz", "wd", axis=0))
    assert len(products(optimized(proto))) == 2


@pytest.mark.parametrize(("zero", "activation"), [(LIVE, "Clip"), (np.full(4, -100, np.int8), "LeakyRelu")], ids=["Clip", "LeakyRelu"])
def test_packages_give_the_same_bytes(zero: np.ndarray, activation: str, tmp_path: Path) -> None:
    """Of plain C and of vectors; each build examines its package with the answers of the evaluator."""
    onnx.save(network(zero, activation), tmp_path / "m.onnx")
    x = np.random.default_rng(2).uniform(-2.7, 2.7, (1, 3, 7, 6)).astype(np.float32)
    answers = []
    for target in ("portable", "x86-64"):
        with edgec.build(tmp_path / "m.onnx", target=target, precision="int8", out=tmp_path / target).load() as package:
            answers.append(package(x)[0].tobytes())
    assert answers[0] == answers[1]
