"""The random nets are what their users rely on: valid, seeded, with sane activations."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest

from tests.nets import MODELS


@pytest.mark.parametrize("name", MODELS)
def test_activations_neither_vanish_nor_explode(name: str) -> None:
    model = MODELS[name](3)
    for value in model.graph.value_info:
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            model.graph.output.append(value)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    shape = session.get_inputs()[0].shape
    values = session.run(None, {"x": np.random.default_rng(0).standard_normal(shape, np.float32)})
    for output, value in zip(session.get_outputs(), values, strict=True):
        assert np.isfinite(value).all(), output.name
        assert 1e-3 < np.abs(value).max() < 100, (output.name, np.abs(value).max())


@pytest.mark.parametrize("name", MODELS)
def test_seeds_decide(name: str) -> None:
    assert MODELS[name](1).SerializeToString() == MODELS[name](1).SerializeToString()
    assert MODELS[name](1).SerializeToString() != MODELS[name](2).SerializeToString()
