"""The part of a model between tensors in its middle, and inputs whose value is known."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import parser

from edgec.base.errors import ModelError, UsageError
from edgec.base.part import Part
from edgec.export import to_onnx
from edgec.frontend import from_proto
from edgec.frontend.load import Imported
from edgec.ir.types import TensorType

from .models import ops, run

CHAIN = """(float[N,4] x, float[N,4] skip, int64[2] axes) => (float[N,2] y, float[N,4] z) {
  a = Exp(x)  b = Neg(a)  p, q = Split<axis = 1, num_outputs = 2>(b)  y = Relu(q)  z = Add(b, skip)  bad = Multinomial(b)
  w = Cast<to = 1>(bad)
}"""


def chain() -> onnx.ModelProto:
    model: onnx.ModelProto = parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> graph {CHAIN}')
    return model


def part(**options: object) -> Imported:
    return from_proto(chain(), part=Part(**options))  # type: ignore[arg-type]


def test_an_output_in_the_middle_is_the_only_one() -> None:
    found = part(outputs=["a"])
    assert (ops(found.graph), found.graph.inputs, found.graph.outputs) == (["Exp"], ["x"], ["a"])


def test_an_input_in_the_middle_takes_the_place_of_what_computes_it() -> None:
    found = part(inputs={"b": (3, 4)}, outputs=["z", "y"])
    assert sorted(found.graph.inputs) == ["b", "skip"]
    assert str(found.graph.types["b"]) == "float32[3,4]"
    values = {name: np.arange(12, dtype=np.float32).reshape(3, 4) for name in ("b", "skip")}
    assert found.graph.types["skip"] == TensorType(found.graph.dtype("b"), (1, 4))
    found = from_proto(chain(), {"skip": [3, 4]}, part=Part({"b": (3, 4)}, ["z", "y"]))
    z, y = run(to_onnx(found.graph), values)
    np.testing.assert_array_equal(z, values["b"] * 2)
    np.testing.assert_array_equal(y, values["b"][:, 2:])


def test_the_file_says_the_shape() -> None:
    found = part(inputs={"q": None}, outputs=["y"])
    assert (str(found.graph.types["q"]), ops(found.graph)) == ("float32[1,2]", ["Relu"])


def test_one_output_of_a_node_is_cut() -> None:
    found = part(inputs={"p": (1, 2)}, outputs=["p", "q"])
    assert (found.graph.inputs, ops(found.graph)) == (["x", "p"], ["Exp", "Neg", "Split"])


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"outputs": ["aa"]}, r"--output aa: the model has no such tensor    hint: did you mean 'a'"),
        ({"outputs": ["a", "a"]}, "--output a: is given twice"),
        ({"inputs": {"x": (1, 4)}}, r"--input x: is an input already    hint: --shape"),
        ({"inputs": {"a": (1, 5)}}, r"--input a=1,5: the model has \[N,4\] there"),
        ({"inputs": {"a": (1, 4)}, "outputs": ["a", "x"]}, None),
        ({"inputs": {"q": (1, 2)}, "outputs": ["z"]}, "--input q: nothing that is left reads it"),
        ({"constants": {"axis": 1}}, r"--constant axis: the model has no such input    hint: did you mean 'axes'"),
        ({"constants": {"axes": (1, 2, 3)}}, r"--constant axes: has 3 numbers, the input is \[2\]"),
        ({"constants": {"axes": (1, 2.5)}}, "--constant axes: is no int64"),
    ],
)
def test_where_a_model_cannot_be_cut(options: dict[str, object], what: str | None) -> None:
    if what is None:
        assert part(**options).graph.outputs == options["outputs"]
        return
    with pytest.raises(UsageError, match=what):
        part(**options)


@pytest.mark.parametrize(("given", "array"), [(3, [3, 3]), ((1, -2), [1, -2]), (True, [1, 1]), (2.0, [2, 2])])
def test_a_constant_has_the_type_and_shape_of_its_input(given: object, array: list[int]) -> None:
    found = part(constants={"axes": given}).fixed["axes"]
    assert (found.dtype, found.tolist()) == (np.dtype(np.int64), array)


def test_the_hint_names_the_flag_and_the_tensor() -> None:
    model = chain()
    model.graph.output.append(onnx.ValueInfoProto(name="w"))
    with pytest.raises(ModelError, match=r"Multinomial.*cut the graph before it: --output b"):
        from_proto(model)
    model.graph.node[5].input[0] = "x"
    with pytest.raises(ModelError, match=r"Multinomial.*cut the graph behind it: --input bad=SHAPE"):
        from_proto(model)


def test_problems_come_in_the_order_of_the_flags() -> None:
    names = ["z", "y", "q", "p", "b", "a"]
    with pytest.raises(UsageError) as caught:
        part(outputs=[*names, *names])
    assert [problem.where for problem in caught.value.problems] == [f"--output {name}" for name in names]
    wrong = {name: np.zeros(7) for name in ("skip", "axes", "x")}
    with pytest.raises(UsageError) as caught:
        part(constants=wrong)
    assert [problem.where for problem in caught.value.problems] == [f"--constant {name}" for name in wrong]
