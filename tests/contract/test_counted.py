"""Outputs of which only a run knows how many elements they have: their shapes, the zeros behind them, and who sees what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import edgec
from edgec.base.errors import ModelError
from edgec.frontend import from_proto
from edgec.lower import lower
from edgec.targets import load_target
from tests.conftest import require


def model_of(*nodes: onnx.NodeProto, outputs: tuple[str, ...] = ("y",)) -> onnx.ModelProto:
    made = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph(list(nodes), "counted", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 4])], made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def test_a_package_tells_the_shape_and_python_shows_what_was_found(tmp_path: Path) -> None:
    require("gcc")
    nodes = [helper.make_node("NonZero", ["x"], ["y"]), helper.make_node("Abs", ["x"], ["z"])]
    onnx.save(model_of(*nodes, outputs=("y", "z")), tmp_path / "counted.onnx")
    package = edgec.build(tmp_path / "counted.onnx", target="portable", precision="fp32", out=tmp_path / "package")
    ports = {port.name: port for port in package.manifest.outputs}
    assert list(ports) == ["y", "y_shape", "z"] and ports["y_shape"].shape_of == "y" and ports["y"].shape == (2, 12)
    for x in (np.zeros((3, 4), np.float32), np.eye(3, 4, dtype=np.float32), np.ones((3, 4), np.float32)):
        expected = np.stack(np.nonzero(x))
        with package.load() as run, package.load(whole=True) as whole:
            found, (y, shape, z) = run(x), whole(x)
        assert len(found) == 2 and np.array_equal(found[0], expected) and found[0].shape == expected.shape
        assert shape.tolist() == list(expected.shape) and np.array_equal(z, x)
        assert np.array_equal(y.reshape(-1)[: expected.size], expected.reshape(-1)) and not y.reshape(-1)[expected.size :].any()
        assert np.array_equal(edgec.run(package, {"x": x})["y"], expected)
    several = np.concatenate([np.eye(3, 4, dtype=np.float32), np.zeros((3, 4), np.float32), np.ones((3, 4), np.float32)])
    outputs = edgec.run(package, {"x": several})
    assert list(outputs) == ["y", "y_shape", "z"] and outputs["y"].shape == (3, 2, 12) and outputs["z"].shape == (9, 4)
    for sample, y, shape in zip(np.split(several, 3), outputs["y"], outputs["y_shape"], strict=True):
        assert np.array_equal(y[:, : shape[1]], np.stack(np.nonzero(sample))) and not y[:, shape[1] :].any()


@pytest.mark.parametrize(
    ("op", "attributes", "reason"),
    [
        ("ArgMax", {"axis": 0}, "ArgMax over elements that a run counts: there may be none"),
        ("MaxPool", {"kernel_shape": [2]}, "MaxPool over elements that are counted while the model runs"),
    ],
)
def test_what_needs_an_element_is_refused_by_name(op: str, attributes: dict[str, Any], reason: str) -> None:
    """Of none there is no largest; and kernels know how many there are."""
    nodes = [
        helper.make_node("Constant", [], ["a"], value_ints=[1]), helper.make_node("NonZero", ["x"], ["p"]),
        helper.make_node("Cast", ["p"], ["f"], to=TensorProto.FLOAT), helper.make_node("Transpose", ["f"], ["t"], perm=[1, 0]),
        helper.make_node("Unsqueeze", ["t", "a"], ["u"]), helper.make_node(op, ["u"], ["y"], **attributes),
    ]  # fmt: skip
    with pytest.raises(ModelError, match=f"{op}: {reason} +hint: cut the graph before it: --output u"):
        lower(from_proto(model_of(*nodes)).graph, load_target("portable"), "counted")
