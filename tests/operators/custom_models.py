"""Models with nodes of a domain of their own, and what comes of reading them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from edgec.base.errors import EdgecError
from edgec.exam.reference import FloatModel
from edgec.pipeline.models import read_model, reference_of
from edgec.settings.config import configure
from tests.frontend.models import model, node, weights

SNAKE = """
from edgec.operators import custom, op

@custom("com.acme", "Snake")
def snake(x, alpha, *, frequency=1.0):
    return x + op.Sin(frequency * alpha * x) ** 2 / alpha
"""
X = weights(2, 8, seed=1)


def written(name: str, text: str) -> Path:
    Path(name).write_text(text)
    return Path(name)


def saved(*nodes: onnx.NodeProto, output: str = "y", opset: int = 18, more: dict[str, np.ndarray] | None = None, **kinds: Any) -> Path:
    """A model of these nodes between x and y, float32[2,8]; a is a constant of eight numbers, `more` are others."""
    known = {"a": weights(8) ** 2 + 1, **(more or {})}
    domains = dict.fromkeys({item.domain for item in nodes if item.domain}, 1)
    onnx.save(model(list(nodes), {"x": [2, 8]}, [output], known, opset=opset, domains=domains, **kinds), "model.onnx")
    return Path("model.onnx")


def own(op: str, inputs: str = "x", outputs: str = "y", **attributes: Any) -> onnx.NodeProto:
    return node(op, inputs, outputs, op.lower(), domain="com.acme", **attributes)


def answer(path: Path, *operators: Any, from_file: bool = True) -> np.ndarray:
    """Of the graph that the import makes; ONNX Runtime's of the file, with the bodies behind it, must be the same."""
    config = configure(precision="fp32", operators=list(operators))
    loaded = read_model(path, config)
    reference, graph = reference_of(loaded, config), FloatModel(loaded.original)
    assert reference.from_file is from_file
    (ours,), (theirs,) = graph({"x": X}), reference({"x": X})
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)
    return ours


def refused(family: type[EdgecError], path: Path, *operators: Any) -> str:
    with pytest.raises(family) as error:
        read_model(path, configure(precision="fp32", operators=list(operators)))
    return str(error.value)
