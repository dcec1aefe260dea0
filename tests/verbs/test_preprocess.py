"""[preprocess]: the same pictures give the same answers whether edgec, the package or nobody prepares them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import edgec
from tests.calling import QUICK, Program

pytestmark = pytest.mark.usefixtures("kept_builds")

TABLE = """
[build]
calib = "pixels.npz"
[preprocess]
color = "gray"
scale = 0.06274509803921569
mean = 1.5
std = 0.5
"""


@pytest.fixture
def pixels(work: Path) -> np.ndarray:
    """The digits as a camera gives them, uint8 [N, 8, 8, 1], for a model that takes (pixel * 16 / 255 - 1.5) / 0.5."""
    import onnx
    from onnx import helper, numpy_helper

    model = onnx.load("digits.onnx")
    graph = model.graph
    graph.node[0].input[0] = "restored"
    graph.node.insert(0, helper.make_node("Add", ["halved", "mean"], ["restored"]))
    graph.node.insert(0, helper.make_node("Mul", ["image", "std"], ["halved"]))
    graph.initializer.extend(numpy_helper.from_array(np.float32(value), name) for name, value in (("mean", 1.5), ("std", 0.5)))
    onnx.save(model, "digits.onnx")
    for source, name in (("calibration", "pixels"), ("evaluation", "held")):
        data = dict(np.load(f"{source}.npz"))
        data["image"] = np.rint(data["image"] * 255 / 16).astype(np.uint8).transpose(0, 2, 3, 1)
        np.savez(f"{name}.npz", **data)
    Path("edgec.toml").write_text(TABLE)
    return np.asarray(np.load("held.npz")["image"])


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_fused_preprocessing_answers_as_well(program: Program, pixels: np.ndarray, precision: str) -> None:
    right = {}
    for flags in ([], ["--fuse-preprocess"]):
        out = "fused" if flags else "plain"
        done = program("build", "-q", "digits.onnx", "--precision", precision, "-o", out, *flags, *QUICK)
        assert done.code == 0 and "passed" in done.out, done.err
        facts = program("compare", "digits.onnx", out, "--data", "held.npz", "--labels", "labels", "--json").json
        right[out] = facts["accuracy"]["package"][0]
        assert facts["accuracy"]["fp32"][0] > 0.97 and facts["outputs"][0]["sqnr_db"] > (30 if precision == "int8" else 90)
    assert right["fused"] == pytest.approx(right["plain"], abs=0.006) and right["fused"] > 0.97
    with edgec.Package(Path("fused")).load() as classify:
        (logits,) = classify(pixels[:1])
        assert pixels.dtype == np.uint8 and logits.argmax() == np.load("held.npz")["labels"][0]


@pytest.mark.parametrize("flags", [[], ["--fuse-preprocess"]])
def test_folders_of_pictures(program: Program, pixels: np.ndarray, flags: list[str]) -> None:
    """Any size and colour: [preprocess] brings them to what the model takes."""
    Path("photos").mkdir()
    for index, picture in enumerate(pixels[:12]):
        grown = Image.fromarray(picture[:, :, 0]).resize((24, 32)).convert("RGB" if index % 2 else "L")
        grown.save(f"photos/{index:02}.{'png' if index % 3 else 'bmp'}")
    done = program("quantize", "digits.onnx", "--calib", "photos", "-o", "small.onnx", *flags)
    assert done.code == 0, done.err
    Path("photos/99.png").write_text("no picture")
    program("quantize", "digits.onnx", "--calib", "photos", *flags).failed(2, "99.png", "not a picture")


def test_pictures_that_do_not_fit_the_model(program: Program, pixels: np.ndarray) -> None:
    Path("edgec.toml").write_text("[preprocess]\ncolor = 'rgb'\n")
    for flags in ([], ["--fuse-preprocess"], ["--io-layout", "nhwc"]):
        program("build", "digits.onnx", "--calib", "pixels.npz", "--no-compile", *flags).failed(2, "3 channels", "[1, 1, 8, 8]")
    np.savez("right.npz", image=np.zeros((2, 1, 8, 8), np.float32))
    failed = program("build", "digits.onnx", "--calib", "right.npz", "--no-compile")
    assert failed.code == 2 and "ranges" not in failed.err, "it is said before the calibration"
