"""What may be moved in a model that is given integers alone."""

from __future__ import annotations

import numpy as np
from onnx import numpy_helper, parser

from edgec.exam.expected import FLOAT_TOLERANCE, NOISE_FACTOR, ask
from edgec.exam.first_floats import first_floats, takes_floats, with_moved_floats
from edgec.exam.reference import FloatModel
from edgec.frontend import from_proto
from edgec.ir.graph import Graph

TEXT = """<ir_version: 8, opset_import: ["": 17]>
words (int64[1,6] ids) => (float[1,6,4] y) <float s = {0.013}, uint8 z = {0}, float t = {0.02}>
{ codes = Gather(rows, ids)
  x = DequantizeLinear(codes, s, z)
  q, scale, zero = DynamicQuantizeLinear(x)
  sums = MatMulInteger(q, w, zero, z)
  whole = Cast<to = 1>(sums)
  both = Mul(scale, t)
  y = Mul(whole, both) }"""


def words() -> Graph:
    model, rng = parser.parse_model(TEXT), np.random.default_rng(3)
    for name, shape in (("rows", (5, 8)), ("w", (8, 4))):
        codes = rng.choice(np.array([20, 60, 200], np.uint8), shape)  # of 200 as 255, two are ties
        model.graph.initializer.append(numpy_helper.from_array(codes, name))
    return from_proto(model).graph


def test_codes_of_floats_are_not_first() -> None:
    graph = words()
    assert not takes_floats(graph)
    assert [node.op for node in first_floats(graph)] == ["DequantizeLinear"]


def test_what_is_first_moves_a_little_and_all_behind_it_moves_with_it() -> None:
    graph, ids = words(), {"ids": np.array([[0, 1, 2, 3, 4, 0]])}
    graph.outputs.append("x")
    moved = with_moved_floats(graph, np.random.default_rng(0), 1e-3)
    (_, exact), (_, other) = (FloatModel(one)(ids) for one in (graph, moved))
    assert 0 < np.abs(other / exact - 1).max() <= 1.01e-3
    assert "x_factors" not in graph.constants, "the model itself stays as it is"


def test_codes_that_a_rounding_may_flip_widen_the_limit() -> None:
    assert ask(words(), None, 0).noise * NOISE_FACTOR > 10 * FLOAT_TOLERANCE
