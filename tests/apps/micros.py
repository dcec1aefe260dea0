"""Packages for microcontrollers for tests: a small net built once in a session, compiled quickly."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import edgec
from edgec.package import Package
from tests.conftest import require

CLANG = "clang --target=thumbv7em-none-eabihf"
CARD = {"title": "Digits = 10", "author": "A. N. Author", "version": "2.1.0", "license": "MIT", "url": "https://example.org/x?a=b"}
SHAPE = (1, 2, 6, 6)


def model(folder: Path) -> Path:
    """A small net: a convolution, a mean, a matrix."""
    random = np.random.default_rng(3)
    weights = {"w": random.standard_normal((5, 2, 3, 3)), "m": random.standard_normal((5, 10)), "b": random.standard_normal(10)}
    nodes = [
        helper.make_node("Conv", ["image", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "m", "b"], ["scores"]),
    ]
    ports = {"image": SHAPE, "scores": (1, 10)}
    given, found = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in ports.items())
    constants = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "digits", [given], [found], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "digits.onnx")
    return folder / "digits.onnx"


@cache
def digits() -> Package:
    """That net for the target micro."""
    require("clang", "ld.lld", "qemu-system-arm")
    folder = Path(mkdtemp(prefix="edgec-micro-"))
    np.savez(folder / "samples.npz", image=np.random.default_rng(1).standard_normal((4, *SHAPE[1:])).astype(np.float32))
    settings = {"calib": folder / "samples.npz", "effort": "fast", "card": CARD}
    return edgec.build(model(folder), target="micro", out=folder / "digits", cc=f"{CLANG} -O1", **settings)
