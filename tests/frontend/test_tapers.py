"""Windows are constants, ONNX Runtime's to the last bit: what their roundings leave at the ends may be all that a network answers."""

from __future__ import annotations

import onnxruntime
import pytest
from onnx import parser

from edgec.base.errors import ModelError
from edgec.frontend import from_proto

TEXT = '<ir_version: 9, opset_import: ["": 21]> g () => (float[N] y) <int64 n = {%d}> { [w] y = %sWindow<periodic = %d>(n) }'


@pytest.mark.parametrize(("size", "periodic"), [(1, 1), (2, 0), (2, 1), (5, 0), (6, 1), (400, 0), (400, 1)])
@pytest.mark.parametrize("kind", ["Hann", "Hamming", "Blackman"])
def test_windows(kind: str, periodic: int, size: int) -> None:
    model = parser.parse_model(TEXT % (size, kind, periodic))
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {})
    found = from_proto(model).graph.constants["y"]
    assert found.dtype == expected.dtype and (found == expected).all()


@pytest.mark.parametrize(("size", "periodic"), [(0, 1), (1, 0)])
def test_sizes_that_are_none(size: int, periodic: int) -> None:
    with pytest.raises(ModelError, match=rf"w \(HannWindow, opset 21\): the size is \[{size}\]"):
        from_proto(parser.parse_model(TEXT % (size, "Hann", periodic)))
