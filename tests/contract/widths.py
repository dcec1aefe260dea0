"""Nets in other widths than 8 bits: values with codes of 16, and float nets whose dense layers read weights of 8 or 4."""

from __future__ import annotations

from functools import cache

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from edgec.quant import QuantizeOptions, apply_calibration, quantize
from edgec.quant.codes.weight_only import code_weights
from tests.contract.subjects import SEED, Net, float_net, samples_of
from tests.nets import MODELS

# name -> a family of tests/nets.py, and every how many-th of its values has 16 bits, so that layers read one width and give the other
WIDE = {"wide_mobilenet": ("mobilenet", 1), "wide_unet": ("unet", 2), "wide_resnet": ("resnet", 1), "wide_yolox": ("yolox", 3)}
CODED = {"coded_4": 4, "coded_8": 8}
ROWS, INPUTS, MIDDLE, OUTPUTS = 3, 150, 139, 130  # no multiples of groups, panels or lanes; matrices that are large enough for codes
BLOCK = 32


@cache
def wide_net(name: str) -> Net:
    """A net whose calibration has been told which values 8 bits ruin."""
    family, step = WIDE[name]
    net = float_net(MODELS[family](SEED), name)
    options = QuantizeOptions(observer="minmax", round_weights=False, shape_sums=False)  # none behind which 16 bits are asked for
    calibration = quantize(net.graph, lambda: samples_of(net.original), options).calibration
    values = [*calibration["parameters"]][::step]
    return Net(name, net.original, apply_calibration(net.graph, {**calibration, "wide": values}))


@cache
def coded_net(name: str) -> Net:
    """A product that comes with codes and zero points, and two that `--weight-bits` codes, one with a residual sum behind it."""
    net = float_net(_dense(CODED[name]), name)
    coded = code_weights(net.graph, CODED[name]).graph
    return Net(name, coded, coded)


def _dense(bits: int) -> onnx.ModelProto:
    rng = np.random.default_rng(bits)
    groups = -(-INPUTS // BLOCK)
    known = {
        "q": rng.integers(0, 256, (MIDDLE, groups, BLOCK * bits // 8)).astype(np.uint8),
        "s": (rng.uniform(0.5, 1, MIDDLE * groups) * 2.0 ** -(bits + 1)).astype(np.float32),
        "z": rng.integers(0, 256, MIDDLE * -(-groups * bits // 8)).astype(np.uint8),
        "a": (rng.standard_normal((MIDDLE, MIDDLE)) * MIDDLE**-0.5).astype(np.float32),
        "b": rng.standard_normal(MIDDLE).astype(np.float32),
        "c": (rng.standard_normal((OUTPUTS, MIDDLE)) * MIDDLE**-0.5).astype(np.float32),
        "d": rng.standard_normal(OUTPUTS).astype(np.float32),
    }
    few = {"domain": "com.microsoft", "K": INPUTS, "N": MIDDLE, "bits": bits, "block_size": BLOCK}
    nodes = [
        helper.make_node("MatMulNBits", ["x", "q", "s", "z"], ["p"], "few", **few),
        helper.make_node("Relu", ["p"], ["r"], "relu"),
        helper.make_node("MatMul", ["r", "a"], ["m"], "square"),
        helper.make_node("Add", ["m", "b"], ["n"], "bias"),
        helper.make_node("Add", ["n", "r"], ["t"], "sum"),
        helper.make_node("Gemm", ["t", "c", "d"], ["g"], "last", transB=1),
        helper.make_node("Clip", ["g", "low", "high"], ["y"], "clip"),
    ]
    known |= {"low": np.array(-4, np.float32), "high": np.array(6, np.float32)}
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [ROWS, count]) for name, count in (("x", INPUTS), ("y", OUTPUTS)))
    graph = helper.make_graph(nodes, "dense", [x], [y], [numpy_helper.from_array(array, name) for name, array in known.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)], ir_version=10)
