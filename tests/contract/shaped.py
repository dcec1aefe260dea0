"""Models of open shapes, the sets of shapes that packages of them take, and arrays of those."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import parser

import edgec
from edgec.package import Package

# Products, a reduction and a reshape over open axes; images of any size; the model of the documentation, whose lengths tell its sets; and
# scores of images of any size; and a stream of chunks of any size
ROWS = """<ir_version: 9, opset_import: ["": 21]> rows (float[batch,steps,8] x, int64[batch,steps] mask) => (y, z, w)
<float[8,5] m = {WEIGHTS}, int64[1] two = {2}, int64[1] one = {1}, int64[1] flat = {-1}>
{ f = Cast<to = 1>(mask) g = Unsqueeze(f, two) h = Mul(x, g) y = MatMul(h, m)
  z = ReduceSum<keepdims = 0>(y, one) w = Reshape(mask, flat) }"""
IMAGES = """<ir_version: 9, opset_import: ["": 21]> images (float[n,3,height,width] x) => (y)
<float[20,3,3,3] k = {KERNEL}, float[20,20,1,1] m = {PRODUCT}>
{ a = Conv<pads = [1,1,1,1], strides = [2,2]>(x, k) b = Relu(a) c = Conv(b, m) d = Add(b, c) y = GlobalAveragePool(d) }"""
ENCODER = """<ir_version: 9, opset_import: ["": 21]> encoder (int64[batch,steps] ids, int64[batch,steps] mask) => (embedding)
<float[16,8] table = {WEIGHTS}, int64[1] two = {2}, int64[1] one = {1}>
{ a = Gather(table, ids) f = Cast<to = 1>(mask) g = Unsqueeze(f, two) h = Mul(a, g) embedding = ReduceMean<keepdims = 0>(h, one) }"""
SCENES = """<ir_version: 9, opset_import: ["": 21]> scenes (float[n,3,height,width] x) => (scores)
<float[6,3,3,3] k = {KERNEL}, float[6,5] m = {PRODUCT}>
{ a = Conv<pads = [1,1,1,1], strides = [2,2]>(x, k) b = Relu(a) c = GlobalAveragePool(b) d = Flatten(c) scores = MatMul(d, m) }"""
STREAM = """<ir_version: 9, opset_import: ["": 21]> stream (float[batch,steps,4] x, float[1,4] h) => (y, h_next)
<float[4,4] m = {WEIGHTS}, int64[2] both = {0,1}, float half = {0.5}>
{ old = Mul(h, half) mean = ReduceMean<keepdims = 0>(x, both) new = Add(old, mean) h_next = Tanh(new)
  z = MatMul(x, m) y = Add(z, h_next) }"""
SETS = [{"x": (1, 4, 8), "mask": (1, 4)}, {"x": (2, 16, 8), "mask": (2, 16)}, {"x": (4, 1, 8), "mask": (4, 1)}]
LENGTHS = [{"ids": (1, 32), "mask": (1, 32)}, {"ids": (1, 128), "mask": (1, 128)}, {"ids": (8, 32), "mask": (8, 32)}]
SCENE_SIZES = [{"x": (1, 3, 12, 12)}, {"x": (1, 3, 8, 18)}, {"x": (1, 3, 7, 9)}]
CHUNKS = [{"x": (1, 4, 4)}, {"x": (1, 16, 4)}, {"x": (2, 4, 4)}]
SIZES = [(1, 3, 12, 12), (2, 3, 7, 9), (1, 3, 1, 30)]


def numbers(count: int) -> str:
    return ",".join(f"{number:.3f}" for number in np.random.default_rng(count).standard_normal(count))


def rows(folder: Path) -> Path:
    onnx.save(parser.parse_model(ROWS.replace("WEIGHTS", numbers(40))), folder / "rows.onnx")
    return folder / "rows.onnx"


def images(folder: Path) -> Path:
    text = IMAGES.replace("KERNEL", numbers(540)).replace("PRODUCT", numbers(400))
    onnx.save(parser.parse_model(text), folder / "images.onnx")
    return folder / "images.onnx"


def encoder(folder: Path) -> Path:
    onnx.save(parser.parse_model(ENCODER.replace("WEIGHTS", numbers(128))), folder / "encoder.onnx")
    return folder / "encoder.onnx"


def scenes(folder: Path) -> Path:
    onnx.save(parser.parse_model(SCENES.replace("KERNEL", numbers(162)).replace("PRODUCT", numbers(30))), folder / "scenes.onnx")
    return folder / "scenes.onnx"


def scene_settings(folder: Path) -> dict[str, Any]:
    """Of a build that says what the scores mean, in every set, and takes pictures, in the first."""
    (folder / "labels.txt").write_text("sea\nsky\nsand\nsnow\nstone\n", encoding="utf-8")
    first, *others = SCENE_SIZES
    how = {"resize": "stretch", "scale": 1 / 255}
    return {
        "shape": first, "also_shape": others, "precision": "fp32", "task": "classify", "labels": folder / "labels.txt", "preprocess": how,
    }  # fmt: skip


def stream(folder: Path) -> Path:
    onnx.save(parser.parse_model(STREAM.replace("WEIGHTS", numbers(16))), folder / "stream.onnx")
    return folder / "stream.onnx"


def stream_settings() -> dict[str, Any]:
    """Of a build that keeps its state."""
    return {"state": {"h": ("h_next", 0.25)}, "precision": "fp32", "shape": CHUNKS[0], "also_shape": CHUNKS[1:]}


def given(shapes: dict[str, tuple[int, ...]], seed: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    found = {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items() if name == "x"}
    return found | {name: generator.integers(0, 2, shape) for name, shape in shapes.items() if name == "mask"}


def built(model: Path, out: Path, sets: list[Any], **settings: Any) -> Package:
    first, *others = sets
    return edgec.build(model, shape=first, also_shape=others, out=out, **{"precision": "fp32", "target": "portable", **settings})
