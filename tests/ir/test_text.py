"""The text form comes back as the graph that it was written from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from edgec.base.errors import UsageError
from edgec.ir.graph import Graph, Node
from edgec.ir.loop import loops_in
from edgec.ir.text import dumps, loads
from edgec.ir.types import DType, Symbol, TensorType
from tests.ir.loops import LOOPS

EXAMPLE = """\
graph example
input %x: float32[N<=4,3,8,8]
input %"a strange, = (name)": float32[]
const %w: float32[4,3,3,3] = normal(seed=3)
const %v: float32[40] = normal(seed=5, scale=0.125)
const %q: int8[8,9] = normal(seed=1)
const %one: float32[64] = fill(1.0)
const %steps: int64[50] = arange()
const %axes: int64[2] = [2, 3]
const %low: float32[] = -inf
const %mask: bool[3] = [true, false, true]
%a: float32[N<=4,4,6,6] = Conv(%x, %w) {dilations=[1, 1], group=1, kernel_shape=[3, 3], pads=[0, 0, 0, 0], strides=[1, 1]} "conv, (1) = {x}"
%b: float32[N<=4,4,6,6], _ = Dropout(%a, _, %mask) {mode="a, \\"b\\"", value=float32[2]=[0.5, nan]}
output %b
"""


@pytest.mark.parametrize("text", [EXAMPLE, LOOPS])
def test_text_is_stable(text: str) -> None:
    assert dumps(loads(text)) == text
    assert dumps(loads(text).copy()) == text


def test_a_copy_has_bodies_of_its_own() -> None:
    graph = loads(LOOPS)
    copy = graph.copy()
    (loop,) = loops_in(copy)
    loop.body.nodes[0].name = "other"
    assert dumps(graph) == LOOPS


def test_what_the_text_says() -> None:
    graph = loads(EXAMPLE)
    assert graph.types["x"] == TensorType(DType.FLOAT32, (Symbol("N", 4), 3, 8, 8))
    assert graph.inputs[1] == "a strange, = (name)"
    assert graph.constants["w"].std() == pytest.approx(1, abs=0.2)
    assert graph.nodes[0].name == "conv, (1) = {x}"
    assert graph.nodes[1].inputs == ["a", "", "mask"]
    assert graph.nodes[1].outputs == ["b", ""]
    assert graph.nodes[1].attributes["mode"] == 'a, "b"'
    np.testing.assert_array_equal(graph.nodes[1].attributes["value"], np.array([0.5, np.nan], np.float32))


@given(
    arrays.arrays(
        st.sampled_from([np.float32, np.float64, np.int8, np.uint8, np.int64, np.bool_]), arrays.array_shapes(max_dims=3, max_side=3)
    )
)
def test_small_constants_come_back_exactly(array: np.ndarray) -> None:
    graph = Graph("g")
    name = graph.add_constant("c", array)
    found = loads(dumps(graph)).constants[name]
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(found, array)


@given(st.text(min_size=1, max_size=12), st.text(max_size=12))
def test_names_come_back(value: str, name: str) -> None:
    graph = Graph("g", [value], [value + "'"], [Node("Relu", [value], [value + "'"], {}, name)])
    graph.types = {value: TensorType(DType.FLOAT32, (2,)), value + "'": TensorType(DType.FLOAT32, (2,))}
    found = loads(dumps(graph))
    assert (found.inputs, found.outputs, found.nodes[0].name) == (graph.inputs, graph.outputs, name)


def test_large_arrays_are_told_apart() -> None:
    graph = Graph("g")
    for seed in (100, 101, 100):
        graph.add_constant("c", np.random.default_rng(seed).standard_normal(99))
    first, second, third = (line.split("=")[1] for line in dumps(graph).splitlines()[1:])
    assert first == third != second
    assert loads(dumps(graph)).constants["c"].shape == (99,)


@pytest.mark.parametrize(
    "line",
    [
        "input x: float32[1]",
        "input %x: float31[1]",
        "%y = Relu(%x)",
        "nonsense",
        "const %c: float32[2] = [1.0]",
        "const %c: float32[2] = many()",
        "input %x: float32[a]",
        "%y: float32[1] = Relu(%x",
    ],
)
def test_errors_name_the_line(line: str) -> None:
    with pytest.raises(UsageError, match="line 2"):
        loads(f"graph g\n{line}\n")
