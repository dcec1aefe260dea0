"""gcc 12 at -O3 moved the zero that a cell's state begins with behind what the cell stores: emitted C keeps it from looking for such."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import edgec


def model() -> onnx.ModelProto:
    """One cell for each of three sequences of one step, whose new memory is 0 where it should be log(2) / 2 and less."""
    weights = {"w": [0.17718093, 0.053055875, 0.03745418, -0.014792177], "r": [0.020646384, -0.13602157, -0.043518983, 0.10163972]}
    constants = [numpy_helper.from_array(np.array(values, np.float32).reshape(1, 4, 1), name) for name, values in weights.items()]
    constants.append(numpy_helper.from_array(np.ones(3, np.int32), "lengths"))
    how = {"activations": ["Sigmoid", "Softplus", "Tanh"], "clip": 2.0, "hidden_size": 1, "direction": "reverse"}
    cell = helper.make_node("LSTM", ["x", "w", "r", "", "lengths"], ["", "h", "y"], "cell", **how)
    x, h, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3, 1]) for name in "xhy")
    graph = helper.make_graph([cell], "cell", [x], [y, h], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def test_what_a_loop_stores_last_stays(tmp_path: Path, needs) -> None:
    """The exam of the build asks with numbers of its own; these are those that showed it."""
    needs("gcc")
    onnx.save(model(), tmp_path / "cell.onnx")
    package = edgec.build(tmp_path / "cell.onnx", precision="fp32", target="portable", cc="gcc", out=tmp_path / "package")
    found = package.load()(np.array([-0.0, -0.8, -0.9], np.float32).reshape(1, 3, 1))[0].reshape(-1)
    assert found.min() > 0.3 and abs(found[0] - np.log(2) / 2) < 1e-5
