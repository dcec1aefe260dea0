"""Exams ask about integers of the whole range, also what ONNX Runtime would die of; packages answer under sanitizers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import edgec
from edgec.base.errors import ModelError
from edgec.exam.questions import exam_inputs
from edgec.exam.reference import FloatModel
from edgec.frontend import from_proto
from edgec.ir.text import loads
from tests.operators.extreme_cases import BINARY, extremes, graph_of, quotient, wrapped


@pytest.mark.parametrize("dtype", [np.dtype(np.int32), np.dtype(np.int64)], ids=str)
def test_the_reference_survives_every_division(dtype: np.dtype) -> None:
    a, b = (np.ascontiguousarray(grid.ravel()) for grid in np.meshgrid(*[extremes(dtype)] * 2))
    nodes = [("Div", ["a", "b"], "d", {}), ("Mod", ["a", "b"], "m", {}), ("Mod", ["a", "b"], "f", {"fmod": 1})]
    nodes.append(("Div", ["a", np.array(-1, dtype)], "n", {}))
    graph = from_proto(graph_of("divisions", {"a": a, "b": b}, nodes, ["d", "m", "f", "n"])).graph
    meanings = (quotient, BINARY["Mod"], lambda x, y: x - quotient(x, y) * y if y else 0, lambda x, _: -x)
    for found, meaning in zip(FloatModel(graph)({"a": a, "b": b}), meanings, strict=True):
        wanted = [meaning(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        np.testing.assert_array_equal(found, wrapped(wanted, dtype))


def test_exams_draw_integers_from_their_whole_range_and_indices_from_their_axis() -> None:
    inputs = {"ids": np.zeros((1, 8), np.int64), "offset": np.zeros((1, 8), np.int64), "mask": np.zeros((1, 8), np.int32)}
    table = np.zeros((10, 4), np.float32)
    nodes = [
        ("Gather", [table, "ids"], "rows", {}), ("Add", ["ids", "offset"], "moved", {}), ("Gather", [table, "moved"], "others", {}),
        ("Mul", ["mask", np.array(3, np.int32)], "scaled", {}),
    ]  # fmt: skip
    graph = from_proto(graph_of("exam", inputs, nodes, ["rows", "others", "scaled"])).graph
    *_, last = exam_inputs(graph, None, 0)
    assert last["mask"].min() == np.iinfo(np.int32).min and last["mask"].max() == np.iinfo(np.int32).max
    assert last["ids"].min() >= -10 and last["ids"].max() < 10
    assert set(np.unique(last["offset"])) <= {0, 1}


def test_reductions_of_integers_are_not_asked_to_wrap(tmp_path: Path) -> None:
    """ONNX Runtime computes them through floats."""
    sums = ("ReduceSum", "ReduceProd", "ReduceSumSquare", "ReduceL1")
    nodes = [(name, ["x", np.array([1])], name.lower(), {}) for name in sums]
    (tmp_path / "sums.onnx").write_bytes(
        graph_of("sums", {"x": np.zeros((3, 8), np.int32)}, nodes, [name.lower() for name in sums]).SerializeToString()
    )
    assert edgec.build(tmp_path / "sums.onnx", target="portable", precision="fp32", cc="gcc -O0", out=tmp_path / "package").examined


@pytest.mark.parametrize(("side", "vectors"), [(64, 2), (2048, 2), (4096, 1)])
def test_a_package_does_not_carry_hundreds_of_megabytes_of_questions(side: int, vectors: int) -> None:
    model = graph_of("large", {"x": np.zeros((1, 1, side, side), np.float32)}, [("Relu", ["x"], "y", {})], ["y"])
    assert len(exam_inputs(from_proto(model).graph, None, 0)) == vectors


def test_a_package_is_examined_about_them(tmp_path: Path) -> None:
    """What would end ONNX Runtime's process, and wraps, in a build from a file."""
    shape = [1, 16]
    weights = numpy_helper.from_array(np.array(2**30, np.int32), "c")
    nodes = [helper.make_node("Div", ["a", "b"], ["d"]), helper.make_node("Mul", ["d", "c"], ["y"])]
    ports = [helper.make_tensor_value_info(name, TensorProto.INT32, shape) for name in "aby"]
    model = helper.make_model(helper.make_graph(nodes, "g", ports[:2], ports[2:], [weights]), opset_imports=[helper.make_opsetid("", 21)],
                              ir_version=10)  # fmt: skip
    path = tmp_path / "division.onnx"
    path.write_bytes(model.SerializeToString())
    package = edgec.build(path, target="portable", precision="fp32", out=tmp_path / "package")
    assert package.examined


def test_tensors_that_no_exam_can_carry() -> None:
    graph = loads("graph g\ninput %x: float32[1,3,8000,4000]\n%y: float32[1,3,8000,4000] = Relu(%x)\noutput %y\n")
    with pytest.raises(ModelError, match=r"interface: the inputs and outputs have 732 MB; an exam can carry 256"):
        exam_inputs(graph, None, 0)


def test_integers_as_large_as_their_type_in_the_samples() -> None:
    """A calibration sample says what an input's range is, to its very ends."""
    nodes = "%y: uint64[4] = BitwiseNot(%x)\n%j: int64[4] = BitwiseNot(%i)"
    text = f"graph g\ninput %x: uint64[4]\ninput %i: int64[4]\n{nodes}\noutput %y\noutput %j\n"
    sample = {"x": np.array([2**64 - 1, 0, 1, 2], np.uint64), "i": np.array([2**63 - 1, -(2**63), 0, 1], np.int64)}
    vectors = exam_inputs(loads(text), lambda: iter([sample]), 0)
    assert len(vectors) == 3
    assert vectors[1]["x"].max() > 2**62 and np.abs(vectors[1]["i"].astype(np.float64)).max() > 2.0**61


def test_scales_whose_codes_leave_the_type() -> None:
    """The exam of an input whose QuantizeLinear can tell apart more than float32 can hold."""
    node = ("QuantizeLinear", ["x", np.array(3.4e38, np.float32), np.array(199, np.uint8)], "y", {})
    model = graph_of("far", {"x": np.zeros((1, 8), np.float32)}, [node], ["y"])
    for vector in exam_inputs(from_proto(model).graph, None, 0):
        assert np.isfinite(vector["x"]).all()
