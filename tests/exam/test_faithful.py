"""A build says what its package still has of the model: in its last lines, as JSON, in the manifest and in the model's card."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from edgec.exam.comparison import LOW_AGREEMENT
from edgec.exam.fidelity import LEAST, MOST
from edgec.package import Package
from edgec.records.diagnosis import LOW_SQNR
from tests.calling import QUICK, ROOT, Program

pytestmark = pytest.mark.usefixtures("kept_builds")

GIVEN = 100  # samples of calibration.npz
QUANTIZED = ("build", "digits.onnx", "--calib", "calibration.npz", *QUICK)


def test_a_build_says_how_near_its_answers_are(program: Program, work: Path) -> None:
    done = program(*QUANTIZED, "-o", "near")
    assert done.code == 0, done.err
    (line,) = [line for line in done.out.splitlines() if line.startswith("answers")]
    assert "logits: SQNR " in line and f"the same best class in 100%, of {GIVEN} samples" in line
    facts = program(*QUANTIZED, "-o", "near", "--force", "--json").json
    assert facts["sqnr_db"]["logits"] > 30 and facts["agreement"] == {"logits": 1.0} and facts["compared_samples"] == GIVEN
    assert facts["warnings"] == []
    manifest = Package(work / "near").manifest
    assert manifest.sqnr_db == facts["sqnr_db"] and manifest.agreement == facts["agreement"] and manifest.compared == GIVEN
    assert "| logits | " in (card := (work / "near" / "MODEL_CARD.md").read_text()) and "| 100.0% |" in card and "Warning" not in card


def test_a_build_that_lost_its_model_says_so(program: Program, work: Path) -> None:
    """A feature of 10,000, which the classifier takes away again, leaves the others no levels."""
    model = onnx.load("digits.onnx")
    place, last = next((place, node) for place, node in enumerate(model.graph.node) if node.op_type == "Gemm")
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    weights, bias = (numpy_helper.to_array(constants[name]) for name in last.input[1:])
    far = np.zeros(weights.shape[1], np.float32)
    far[0] = 1e4
    constants[last.input[2]].CopyFrom(numpy_helper.from_array(bias - weights @ far, last.input[2]))
    model.graph.initializer.append(numpy_helper.from_array(far, "far"))
    model.graph.node.insert(place, onnx.helper.make_node("Add", [last.input[0], "far"], ["shifted"], "shift"))
    last.input[0] = "shifted"
    onnx.save(model, "hard.onnx")
    done = program("build", "hard.onnx", *QUANTIZED[2:], "-o", "far", "--effort", "fast")
    assert done.code == 0, done.err
    shown = [line for line in done.out.splitlines() if line.startswith("warning: ")]
    assert "warning: output logits is far from the model's: " in shown[0] and shown[1].startswith("warning: the worst layers are ")
    warnings = json.loads((work / "far" / "manifest.json").read_text())["warnings"]
    assert [f"warning: {warning}" for warning in warnings] == shown
    assert (work / "far" / "MODEL_CARD.md").read_text().count("**Warning:**") == 2


def test_a_model_that_comes_quantized_is_compared_with_its_file(program: Program, work: Path) -> None:
    """On random inputs, without samples."""
    assert program("quantize", "digits.onnx", "--calib", "calibration.npz", "-o", "given.onnx").code == 0
    facts = program("build", "given.onnx", *QUICK, "--precision", "int8", "-o", "given", "--json").json
    assert facts["sqnr_db"]["logits"] > 30 and facts["compared_samples"] == 10 and facts["warnings"] == []
    card = (work / "given" / "MODEL_CARD.md").read_text()
    assert "over 10 random inputs" in card


def test_the_guide_names_the_bounds() -> None:
    section = (ROOT / "docs" / "usage.md").read_text().split("## What is left of the model")[1].split("\n## ")[0]
    assert (LEAST, MOST, LOW_SQNR, LOW_AGREEMENT) == (10, 100, 15, 0.9)
    assert "Ten to a hundred samples" in section and "below 15 dB or 90%" in section
