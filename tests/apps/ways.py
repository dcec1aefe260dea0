"""Ways to bring pictures to a model's size: packages of every form that have them, pictures, and what the C in a package makes of those."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import edgec
from edgec.apps.app import App, Picture, Tensor
from edgec.ir.types import DType
from edgec.package import Package
from edgec.quant.given.preprocess import Preprocess
from tests.conftest import require

SIZES = ((30, 40), (24, 32), (7, 5), (61, 33), (1, 90), (1, 1), (211, 307))  # of pictures; the second one is the model's
HEIGHT, WIDTH = SIZES[1]
WAYS = (
    Preprocess(),
    Preprocess(shorter=28, interpolation="bicubic", std=(58.4, 57.1, 57.4), mean=(123.7, 116.3, 103.5)),
    Preprocess(resize="stretch", interpolation="area", color="bgr", layout="nhwc"),
    Preprocess(resize="stretch", interpolation="nearest", color="gray", scale=1 / 255),
    Preprocess(resize="letterbox", fill=114, scale=1 / 127, mean=(1.0,)),
    Preprocess(resize="letterbox", fill=3, anchor="top-left", color="bgr", interpolation="bicubic"),
)
# Of further packages their names, the way, and what is done with its numbers: they become 8-bit codes, or stay levels of a pixel
FURTHER = {"way6": (4, "coded"), "way7": (2, "raw")}
ALL = (*(f"way{number}" for number in range(len(WAYS))), *FURTHER)


def app(number: int, how: Preprocess) -> App:
    layout = "nhwc" if how.layout == "nhwc" else "nchw"
    a, b = how.affine()
    picture = Picture(
        "x", HEIGHT, WIDTH, how.channels, layout, False, how.color, how.resize, how.shorter, how.anchor, how.fill,
        tuple(map(float, a)), tuple(map(float, b)), how.interpolation,
    )  # fmt: skip
    inputs, outputs = (Tensor("x", "x", DType.FLOAT32, shape(how)),), (Tensor("y", "y", DType.FLOAT32, (1,)),)
    return App(f"way{number}", "fp32", inputs, outputs, 0, 0, 0, picture)


def shape(how: Preprocess) -> tuple[int, ...]:
    return (1, HEIGHT, WIDTH, how.channels) if how.layout == "nhwc" else (1, how.channels, HEIGHT, WIDTH)


def images() -> list[np.ndarray]:
    random = np.random.default_rng(5)
    return [random.integers(0, 256, (*size, 3), dtype=np.uint8) for size in SIZES]


def write(name: str, target: str, out: Path) -> Path:
    """The sources of a package called `name`, one of ALL, whose model gives one number for its input."""
    number, kind = FURTHER.get(name, (ALL.index(name), ""))
    how = replace(WAYS[number], layout="auto") if kind == "raw" else WAYS[number]
    path = out.parent / f"{name}.onnx"
    mean = helper.make_node("ReduceMean", ["x"], ["y"])
    product = helper.make_node("Conv", ["x", "w"], ["y"])  # which 8-bit codes have
    weights = numpy_helper.from_array(np.full((1, 3, HEIGHT, WIDTH), 0.01, np.float32), "w")
    ports = [helper.make_tensor_value_info(key, TensorProto.FLOAT, extents) for key, extents in (("x", shape(how)), ("y", [1] * 4))]
    parts = ([product], [weights]) if kind == "coded" else ([mean], [])
    graph = helper.make_graph(parts[0], name, ports[:1], ports[1:], parts[1])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    settings: dict[str, Any] = {"precision": "fp32", "preprocess": {key: value for key, value in asdict(how).items() if value != ()}}
    if kind == "coded":
        calib = out.parent / f"{name}.npz"
        np.savez(calib, x=np.concatenate([how.apply(image, shape(how)) for image in images()]))
        settings |= {"precision": "int8", "io": "int8", "calib": calib}
    if kind == "raw":
        settings["fuse_preprocess"] = True
    edgec.build(path, target=target, out=out, compile=False, **settings)
    return out


def expected(packages: Sequence[Path], folder: Path) -> dict[str, list[bytes]]:
    """Name -> what the C in the package of this name makes of each picture."""
    require("gcc")
    sources = [(path.name, f"{path}/src/{path.name}_picture.c", f"-I{path}/include") for path in packages]
    words = ["gcc", "-std=c99", "-O0", "-shared", "-fPIC", "-o", str(folder / "expected.so")]
    subprocess.run([*words, *(word for _, *both in sources for word in both)], check=True)
    library = ctypes.CDLL(str(folder / "expected.so"))
    return {path.name: [_fitted(library, path, image) for image in images()] for path in packages}


def _fitted(library: ctypes.CDLL, package: Path, image: np.ndarray) -> bytes:
    (height, width), begin = image.shape[:2], library[f"{package.name}_picture_begin"]
    (port,) = Package(package).manifest.inputs
    made = np.zeros(port.shape, port.dtype)
    block = np.zeros(1 << 20, np.uint8)
    memory = ctypes.c_void_p(block.ctypes.data + -block.ctypes.data % 64)
    assert begin(width, height, 2, memory, ctypes.c_size_t(len(block) - 64), ctypes.c_void_p(made.ctypes.data)) == 0
    assert [library[f"{package.name}_picture_row"](memory, row.tobytes()) for row in image] == [0] * height
    return made.tobytes()
