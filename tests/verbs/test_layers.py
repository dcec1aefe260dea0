"""edgec compare --layers: a table for people, JSON for programs, a page with plots; and what it cannot look into."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import edgec
from edgec.package import Package
from tests.calling import QUICK, Program
from tests.reports.test_hostile import Page

pytestmark = pytest.mark.usefixtures("kept_builds")

LAYERS = ("--data", "evaluation.npz", "--samples", "8", "--layers")
FIELDS = {
    "node", "operator", "value", "scale", "zero_point", "low", "high", "seen_low", "seen_high", "saturated", "channels", "dead", "constant",
    "weights", "rounding", "local", "accumulated", "cost", "readers",
}  # fmt: skip


@pytest.fixture
def copied(work: Path, package: Path) -> Path:
    return Path(shutil.copytree(package, work / "copied"))


def relisted(package: Path, content: bytes) -> None:
    """Another calibration, with a manifest that agrees."""
    (package / "calibration.json").write_bytes(content)
    facts = json.loads((package / "manifest.json").read_text(encoding="utf-8"))
    facts["files"]["calibration.json"] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (package / "manifest.json").write_text(json.dumps(facts), encoding="utf-8")


def test_the_layers_are_told_beside_the_comparison(program: Program, package: Path) -> None:
    done = program("compare", "digits.onnx", package, *LAYERS)
    assert done.code == 0, done.err
    for words in ("that cost the outputs most", "/conv3", "GlobalAveragePool", "what to try next", "    -> ", "agreement"):
        assert words in done.out


def test_the_layers_in_json(program: Program, package: Path) -> None:
    facts = program("compare", "digits.onnx", package, *LAYERS, "--json").json
    found = facts["diagnosis"]
    assert (
        facts["passed"] is True
        and found["samples"] == 8
        and found["outputs"]["logits"] == pytest.approx(facts["outputs"][0]["sqnr_db"], abs=1)
    )
    assert all(set(layer) == FIELDS for layer in found["layers"]) and found["layers"][0]["operator"] == "input"
    assert sorted(found["worst"]) == list(range(len(found["layers"]))) and sum(layer["cost"] for layer in found["layers"]) == pytest.approx(
        1
    )
    assert found["advice"] and all(set(advice) == {"what", "attempt", "node"} for advice in found["advice"])
    assert {layer["value"] for layer in found["layers"] if layer["scale"]} == {row.value for row in Package(package).manifest.quantization}
    again = program("compare", "digits.onnx", package, *LAYERS, "--json").json
    assert again["diagnosis"] == found


def test_the_page_is_whole_and_the_same_each_time(program: Program, work: Path, package: Path) -> None:
    for name in ("one.html", "two.html", "layers.json"):
        done = program("compare", "digits.onnx", package, *LAYERS, "--report", name)
        assert done.code == 0 and f"wrote {name}" in done.out, done.err
    text = (work / "one.html").read_text(encoding="utf-8")
    assert text == (work / "two.html").read_text(encoding="utf-8")
    Page(re.sub(r"<!--.*?-->", "", text))
    assert not re.findall(r"<script|<link|<img|https?://", text)
    for words in ("What to try next", "SQNR along the depth", "Where the numbers lie", "/conv3", "digits: layers"):
        assert words in text
    report = json.loads((work / "layers.json").read_text(encoding="utf-8"))
    assert len(report["histograms"]) == 3 and report["what"] == "digits: layers" and len(report["layers"][0]) == len(FIELDS)


def test_the_report_of_quantize_as_a_page(program: Program, work: Path) -> None:
    done = program("quantize", "digits.onnx", "--calib", "calibration.npz", "--samples", "8", "--report", "report.html")
    text = (work / "report.html").read_text(encoding="utf-8")
    assert done.code == 0 and all(words in text for words in ("/conv3", "bias correction", "logits", "digits.onnx"))
    Page(re.sub(r"<!--.*?-->", "", text))
    assert program("quantize", "digits.onnx", "--calib", "calibration.npz", "--samples", "8", "--report", "report.html").code == 0


def test_pixels_of_a_package_that_prepares_them_itself(program: Program, work: Path) -> None:
    """The same numbers as arrays, and as pictures that [preprocess] turns into them."""
    pixels = np.load("calibration.npz")["image"].astype(np.uint8).transpose(0, 2, 3, 1)
    np.savez("pixels.npz", image=pixels)
    (work / "edgec.toml").write_text("[preprocess]\ncolor = 'gray'\nscale = 0.5\nstd = 0.5\n")
    assert program("build", "digits.onnx", "--calib", "pixels.npz", "--fuse-preprocess", "-o", "fused", "--no-compile", *QUICK).code == 0
    done = program("compare", "digits.onnx", "fused", "--data", "pixels.npz", "--samples", "4", "--layers", "--json")
    assert done.code == 0 and "cannot run here" in done.err, done.err
    layers = done.json["diagnosis"]["layers"]
    assert "outputs" not in done.json and layers[0]["high"] == 255 and min(layer["local"] for layer in layers) > 20
    done = program("compare", "digits.onnx", "fused", "--data", "pixels.npz", "--layers", "--min-sqnr", "20")
    assert done.code == 5, "the user asks for the package's own answers"


def test_what_has_no_layers_to_look_into(program: Program, work: Path, copied: Path) -> None:
    arguments = ("compare", "digits.onnx", "copied", *LAYERS)
    program(*arguments, "--report", "page.pdf").failed(2, "page.pdf", ".html")
    program(*arguments, "--report", "digits.onnx").failed(2, "digits.onnx", ".html")
    (work / "mine.html").write_text("mine")
    program(*arguments, "--report", "mine.html").failed(2, "mine.html", "--force")
    program("compare", "digits.onnx", "copied", "--data", "evaluation.npz", "--report", "p.html").failed(2, "--layers")
    model = onnx.load("digits.onnx")
    weights = next(tensor for tensor in model.graph.initializer if len(tensor.dims) == 2)
    weights.CopyFrom(numpy_helper.from_array(-numpy_helper.to_array(weights), weights.name))
    onnx.save(model, "other.onnx")
    program("compare", "other.onnx", "copied", *LAYERS).failed(2, "copied", "belongs to another model")
    edgec.build("digits.onnx", precision="fp32", out="floats", target="portable", compile=False)
    program("compare", "digits.onnx", "floats", *LAYERS).failed(2, "floats", "fp32", "--precision int8")
    assert program("quantize", "digits.onnx", "--calib", "calibration.npz", "-o", "q.onnx").code == 0
    edgec.build("q.onnx", out="came", target="portable", compile=False)
    program("compare", "q.onnx", "came", *LAYERS).failed(2, "came", "came quantized", "--calib")


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b"[" * 200_000, b'{"version": 1}', b'{"version": NaN}', b"\xff\xfe", b'{"a": 1, "a": 2}']
)
def test_a_calibration_of_a_stranger(program: Program, copied: Path, content: bytes) -> None:
    """Changed since the build, and listed as if it were the build's."""
    arguments = ("compare", "digits.onnx", "copied", *LAYERS)
    (copied / "calibration.json").write_bytes(content)
    program(*arguments).failed(2, "calibration.json", "was changed since the build")
    relisted(copied, content)
    program(*arguments).failed(2, "copied", "calibration")
    (copied / "calibration.json").unlink()
    program(*arguments).failed(2, "copied", "calibration.json")
