"""From pictures to inputs, by hand-computed cases, and the same arithmetic inside the graph."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from edgec.base.errors import UsageError
from edgec.ir.graph import Graph
from edgec.ir.types import DType, TensorType
from edgec.ir.verify import verify
from edgec.quant import quantize
from edgec.quant.given.preprocess import Preprocess, fuse
from edgec.quant.runs.float_run import Probe
from tests.quant.small import Small


def test_arithmetic_layout_and_color() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (4, 5, 3), np.uint8)
    how = Preprocess.parse({"scale": 1 / 255, "mean": [0.1, 0.2, 0.3], "std": [1, 2, 4], "color": "bgr"})
    found = how.apply(picture, (1, 3, 4, 5))
    expected = (picture[:, :, ::-1] / 255 - [0.1, 0.2, 0.3]) / [1, 2, 4]
    np.testing.assert_allclose(found[0].transpose(1, 2, 0), expected, rtol=1e-5, atol=1e-6)
    assert found.dtype == np.float32
    assert how.apply(picture, (1, 4, 5, 3)).shape == (1, 4, 5, 3)


def test_resizing() -> None:
    picture = np.zeros((100, 200, 3), np.uint8)
    picture[:, 100:] = 200
    stretched = Preprocess(resize="stretch").apply(picture, (1, 3, 10, 10))[0, 0]
    assert stretched[:, 0].max() == 0 and stretched[:, -1].min() == 200
    boxed = Preprocess(resize="letterbox", anchor="top-left", fill=114).apply(picture, (1, 3, 20, 20))[0, 0]
    assert (boxed[10:] == 114).all() and boxed[0, 0] == 0 and boxed[9, 19] == 200
    centred = Preprocess(resize="letterbox", fill=114).apply(picture, (1, 3, 20, 20))[0, 0]
    assert (centred[:5] == 114).all() and (centred[15:] == 114).all() and centred[5, 19] == 200
    cropped = Preprocess(shorter=40).apply(picture, (1, 3, 20, 20))[0, 0]
    assert cropped[:, :9].max() == 0 and cropped[:, 11:].min() == 200
    with pytest.raises(UsageError, match="100x200, the model takes 10x10"):
        Preprocess(resize="none").apply(picture, (1, 3, 10, 10))


def test_gray_pictures() -> None:
    how = Preprocess(color="gray")
    assert how.apply(np.full((4, 4, 3), 7, np.uint8), (1, 1, 4, 4)).tolist() == np.full((1, 1, 4, 4), 7.0).tolist()
    assert how.apply(Image.new("L", (4, 4), 9), (1, 4, 4, 1)).max() == 9


def test_every_mistake_is_listed() -> None:
    table = {"meen": [1], "resize": "crp", "std": [0, 1, 1], "mean": [1, 2], "size": [1], "scale": "big", "fill": True}
    with pytest.raises(UsageError) as caught:
        Preprocess.parse(table)
    text = str(caught.value)
    assert len(caught.value.problems) == 7
    for piece in (
        "did you mean 'mean'?",
        "did you mean 'crop'?",
        "standard deviation of 0",
        "2 numbers for 3",
        "height and width",
        "'big'",
        "True",
    ):
        assert piece in text


def test_the_channels_must_fit_the_model() -> None:
    with pytest.raises(UsageError, match="pictures of 3 channels"):
        Preprocess().apply(np.zeros((4, 4, 3), np.uint8), (1, 1, 4, 4))
    with pytest.raises(UsageError, match="size is"):
        Preprocess(size=(8, 8)).apply(np.zeros((4, 4, 3), np.uint8), (1, 3, 4, 4))


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
@pytest.mark.parametrize("color", ["rgb", "bgr", "gray"])
def test_fused_preprocessing_is_the_same_arithmetic(layout: str, color: str) -> None:
    how = Preprocess(scale=1 / 255, mean=(0.4,), std=(0.2,), color=color)
    channels = how.channels
    shape = (1, channels, 6, 5) if layout == "nchw" else (1, 6, 5, channels)
    graph = Graph("g", ["x"], [], [], {}, {"x": TensorType(DType.FLOAT32, shape)})
    small = Small(shape)
    small.graph = graph
    small.done(small.node("Neg", "x"))
    fused = fuse(graph.copy(), how)
    verify(fused)
    assert str(fused.types["x"]) == f"uint8[1,6,5,{channels}]"
    picture = np.random.default_rng(0).integers(0, 256, (6, 5, channels), np.uint8)
    inside = Probe(fused, fused.outputs)({"x": picture[None]})[fused.outputs[0]]
    outside = Probe(graph, graph.outputs)({"x": how.apply(picture, shape)})[graph.outputs[0]]
    np.testing.assert_allclose(inside, outside, atol=1e-5)


def test_fused_pixels_lose_nothing() -> None:
    small = Small((1, 3, 16, 16))
    graph = small.done(small.conv("x", 4))
    fused = fuse(graph, Preprocess(scale=1 / 255, mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.4)))
    rng = np.random.default_rng(0)
    pictures = [{"x": rng.integers(0, 256, (1, 16, 16, 3), np.uint8)} for _ in range(4)]
    result = quantize(fused, lambda: iter(pictures))
    assert result.calibration["parameters"]["x_transpose"] == {"scale": 1.0, "zero_point": 0}
    assert result.report.outputs[graph.outputs[0]] > 38
