"""Indices that a model computes and that lie outside of what it reads: an error of the model, with its node."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

from edgec.base.errors import ModelError
from edgec.oracle.evaluator import Evaluator

MODEL = """<ir_version: 8, opset_import: ["" : 21]> m (uint8[2,2] x) => (y)
<float s = {0.5}, uint8 z = {0}, float[1] c = {3}> { f = DequantizeLinear(x, s, z) i = NonZero(f) [far] y = Gather(c, i) }"""


def test_a_place_that_is_not_there_is_told() -> None:
    evaluator = Evaluator(parser.parse_model(MODEL))
    assert evaluator.run({"x": np.array([[1, 0], [0, 0]], np.uint8)})["y"].tolist() == [[3], [3]]
    with pytest.raises(ModelError, match=r"far.*Gather reads a place that is not there"):
        evaluator.run({"x": np.array([[0, 0], [0, 1]], np.uint8)})
