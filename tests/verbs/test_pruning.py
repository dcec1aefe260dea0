"""--prune: packages of a smaller network, what is said of it, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import edgec
from edgec.export import to_onnx
from edgec.oracle import Evaluator
from edgec.package import Package
from edgec.settings.config import configure
from tests.calling import QUICK, Program, names_in
from tests.quant.small import Small, samples
from tests.reports.test_hostile import Page

pytestmark = pytest.mark.usefixtures("kept_builds")

DATA = ("--calib", "calibration.npz", "--samples", "32")


def test_a_pruned_package_in_int8(program: Program, work: Path) -> None:
    done = program("build", "digits.onnx", *DATA, *QUICK, "--prune", "30%", "-o", "out", "--json")
    assert done.code == 0 and done.json["exam"] == "passed", done.err
    package = Package(work / "out")
    facts, whole = package.manifest.pruning, package.manifest
    assert facts is not None and whole.options.prune == facts.asked == 0.3 <= facts.macs < 0.45 and facts.parameters > 0.2
    assert facts.apart and facts.samples == 8 and facts.agreement is not None and facts.samples_sha256 == whole.calibration_sha256
    assert done.json["pruning"]["sqnr"] == facts.sqnr and 5 < facts.plain <= facts.fitted
    assert whole.sqnr_db["logits"] > facts.sqnr, "int8 is compared with the pruned network"
    card = (work / "out/MODEL_CARD.md").read_text(encoding="utf-8")
    assert all(words in card for words in (f"{facts.macs:.1%} of its", f"{facts.sqnr:.2f} dB", "pruned network in float", "Warning"))
    images = np.load("evaluation.npz")["image"][:5]
    shapes = {name: array.shape for name, array in _weights("out/model.pruned.onnx").items()}
    assert {layer.after for layer in facts.layers} <= {shape[0] for shape in shapes.values()}
    original, pruned = (onnxruntime.InferenceSession(name) for name in ("digits.onnx", "out/model.pruned.onnx"))
    ran = edgec.run("out", {"image": images})["logits"]
    oracle = Evaluator(onnx.load("out/model.int8.onnx"))
    np.testing.assert_array_equal(ran, np.concatenate([oracle.run({"image": image[None]})["logits"] for image in images]))
    answers = [np.concatenate([one.run(None, {"image": image[None]})[0] for image in images]) for one in (original, pruned)]
    assert np.abs(answers[0] - answers[1]).max() > 0 and np.abs(ran - answers[1]).max() < np.abs(ran - answers[0]).max()
    told = program("compare", "digits.onnx", "out", "--data", "evaluation.npz", "--samples", "4", "--layers", "--json").json
    assert {layer["node"] for layer in told["diagnosis"]["layers"]} >= {layer.node for layer in facts.layers}


def _weights(path: str) -> dict[str, np.ndarray]:
    found = {one.name: onnx.numpy_helper.to_array(one) for one in onnx.load(path).graph.initializer}
    return {name: array for name, array in found.items() if array.ndim > 1}


def test_a_pruned_package_in_float(program: Program, work: Path) -> None:
    (work / "edgec.toml").write_text("[build]\nprune = 0.3\nprecision = 'fp32'\ncalib = 'calibration.npz'\nsamples = 32\n")
    done = program("build", "digits.onnx", *QUICK, "-o", "out")
    assert done.code == 0, done.err
    assert all(words in done.out for words in ("pruned: ", "both in float", "nothing was fitted to", "warning: pruning without training"))
    package = Package(work / "out")
    assert package.manifest.pruning is not None and package.manifest.precision == "fp32" and package.manifest.sqnr_db == {}
    plain = edgec.build("digits.onnx", precision="fp32", target="portable", cc="gcc -O0", out="plain")
    assert package.manifest.macs < 0.8 * plain.manifest.macs and package.manifest.weights_bytes < 0.8 * plain.manifest.weights_bytes
    images = np.load("evaluation.npz")["image"][:3]
    session = onnxruntime.InferenceSession("out/model.pruned.onnx")
    expected = np.concatenate([session.run(None, {"image": image[None]})[0] for image in images])
    np.testing.assert_allclose(edgec.run(package, {"image": images})["logits"], expected, rtol=1e-4, atol=1e-3)


def test_what_quantize_says_of_pruning(program: Program, work: Path) -> None:
    done = program("quantize", "digits.onnx", *DATA, "--prune", "0.3", "--report", "report.html", "-o", "small.int8.onnx")
    assert done.code == 0, done.err
    assert all(words in done.out for words in ("pruned: ", "of the parameters are gone", "warning: pruning without training"))
    text = (work / "report.html").read_text(encoding="utf-8")
    Page(re.sub(r"<!--.*?-->", "", text))
    assert all(words in text for words in ("Pruning", "Smaller layers", "kept whole", "an output of the model"))
    before, after = (sum(array.size for array in _weights(name).values()) for name in ("digits.onnx", "small.pruned.onnx"))
    assert after < 0.8 * before
    one, two = (edgec.quantize("digits.onnx", calib="calibration.npz", samples=32, prune=0.3, out=f"{name}.onnx") for name in "ab")
    assert (work / "a.onnx").read_bytes() == (work / "b.onnx").read_bytes() == (work / "small.int8.onnx").read_bytes()
    assert one.report.pruning == two.report.pruning and json.dumps(one.report.pruning)
    assert program("quantize", "small.pruned.onnx", *DATA, "-o", "again.onnx").code == 0


def test_prunings_that_cannot_be(program: Program, work: Path) -> None:
    before = names_in(work)
    for value in ("0", "1", "1.5", "-0.5", "100%", "half", "nan"):
        program("quantize", "digits.onnx", *DATA, f"--prune={value}").failed(2, "--prune", value, "between 0 and 1")
    for verb in ("build", "quantize"):
        program(verb, "digits.onnx", "--prune", "0.5").failed(2, "--prune", "needs calibration data", "--calib")
    program("build", "digits.onnx", "--precision", "fp32", "--prune", "0.5").failed(2, "--prune", "needs calibration data", "--calib")
    done = program("build", "digits.onnx", *DATA, *QUICK, "--prune", "0.99")
    done.failed(2, "--prune", "99% of the multiply-accumulates cannot go", "an output of the model", "or less")
    assert names_in(work) == before


def test_models_that_cannot_be_pruned(program: Program, work: Path) -> None:
    small = Small((1, 3, 6, 6))
    onnx.save(to_onnx(small.done(small.node("Relu", small.conv("x", 8)))), "single.onnx")
    np.save("data.npy", np.concatenate([sample["x"] for sample in samples(small.graph, 4)()]))
    done = program("quantize", "single.onnx", "--calib", "data.npy", "--prune", "0.2")
    done.failed(3, "single.onnx", "no channel of this model can be removed", "an output of the model", "without --prune")
    assert program("quantize", "digits.onnx", *DATA, "-o", "q.onnx").code == 0
    program("quantize", "q.onnx", *DATA, "--prune", "0.2").failed(2, "--prune", "came quantized", "give the float model")


@pytest.mark.parametrize("given", [0.5, "0.5", ".5", "50%", " 50 % "])
def test_shares_of_any_form(given: object) -> None:
    assert configure(prune=given).prune == 0.5
