"""Networks in the memory of other libraries: their own exporters make the files that are built."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from skl2onnx import to_onnx
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import edgec
from edgec.base.errors import ModelError, UsageError
from tests.calling import DIGITS

GENERATOR = np.random.default_rng(0)
FEATURES = GENERATOR.normal(size=(60, 5)).astype(np.float32)


def test_a_pipeline_of_scikit_learn_is_built_as_it_is(tmp_path: Path) -> None:
    network = make_pipeline(StandardScaler(), LogisticRegression()).fit(FEATURES, FEATURES[:, 0] > 0)
    package = edgec.build(network, example_inputs=FEATURES, precision="fp32", out=tmp_path / "package")
    assert package.manifest.name == "pipeline"
    session = onnxruntime.InferenceSession(to_onnx(network, FEATURES[:1]).SerializeToString())
    names = [tensor.name for tensor in package.outputs]
    with package.load() as runner:
        for row in FEATURES[:10]:
            labels, chances = session.run(None, {"X": row[None]})
            found = dict(zip(names, runner({"X": row[None]}), strict=True))
            assert found["output_label"] == labels
            np.testing.assert_allclose(found["output_probability"][0], list(chances[0].values()), atol=1e-6)


def test_a_model_of_onnx_in_memory_is_the_file(tmp_path: Path) -> None:
    model = onnx.load(str(DIGITS / "digits.onnx"))
    found, wanted = edgec.inspect(model, precision="fp32"), edgec.inspect(DIGITS / "digits.onnx", precision="fp32")
    assert (found.layers, found.outputs, found.parameters) == (wanted.layers, wanted.outputs, wanted.parameters)
    edgec.quantize(model, calib=DIGITS / "calibration.npz", out=tmp_path / "int8.onnx", samples=4)
    assert edgec.plan(model, precision="fp32").name == "model" and edgec.plan(model, precision="fp32", name="mine").name == "mine"


def _class(module: str, name: str, **methods: object) -> type:
    return type(name, (), {"__module__": module, **methods})


def test_what_misses_is_said() -> None:
    torch, keras, sklearn = (
        _class(*pair) for pair in (("torch.nn.modules.module", "Module"), ("keras.src.models", "Model"), ("sklearn.base", "BaseEstimator"))
    )
    for base, inputs, words in (
        (torch, None, "not installed: No module named 'torch'    hint: pip install 'edgec[torch]'"),
        (keras, None, "cannot be exported: 'Net' object has no attribute 'inputs'    hint: call the exporter yourself"),
        (sklearn, None, "what are its inputs?    hint: example_inputs="),
        (sklearn, FEATURES, "cannot be exported: "),
    ):
        network = type("Net", (base,), {"__module__": "__main__"})()
        for verb in (edgec.build, edgec.plan, edgec.quantize, edgec.inspect):
            with pytest.raises((UsageError, ModelError)) as caught:
                verb(network, example_inputs=inputs)
            assert str(caught.value).startswith("__main__.Net: ") and words in str(caught.value)
    with pytest.raises(UsageError, match=r"not as builtins\.bytes    hint: give the path"):
        edgec.build(b"model.onnx")
    with pytest.raises(UsageError, match="example_inputs: only networks in memory"):
        edgec.build(DIGITS / "digits.onnx", example_inputs=FEATURES)
