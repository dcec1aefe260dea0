"""The four networks of MLPerf Tiny as ONNX models of their shapes, with random weights, which cost what trained ones do.

Their inputs are channels-last, as in the benchmark's own files. Convolutions hold their folded BatchNormalization.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class Network:
    """A graph under construction: methods add a layer behind a value, and return the name of the new one."""

    def __init__(self, name: str, *shape: int) -> None:
        self.name, self.shape, self.random = name, shape, np.random.default_rng(1)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, values: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(values, f"constant_{len(self.constants)}"))
        return self.constants[-1].name

    def normal(self, *shape: int, inputs: int) -> str:
        return self.constant((self.random.standard_normal(shape) * (2 / inputs) ** 0.5).astype(np.float32))

    def node(self, operator: str, *inputs: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [f"value_{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def planes(self, x: str) -> str:
        return self.node("Transpose", x, perm=[0, 3, 1, 2])

    def conv(
        self, x: str, inputs: int, outputs: int, kernel: tuple[int, int], stride: int = 1, relu: bool = True, each: bool = False
    ) -> str:
        """With as much padding as keeps the size; each: a filter for each channel."""
        inside = 1 if each else inputs
        weights, bias = self.normal(outputs, inside, *kernel, inputs=inside * kernel[0] * kernel[1]), self.normal(outputs, inputs=100)
        groups = inputs if each else 1
        y = self.node("Conv", x, weights, bias, auto_pad="SAME_UPPER", kernel_shape=kernel, strides=[stride] * 2, group=groups)
        return self.node("Relu", y) if relu else y

    def dense(self, x: str, inputs: int, outputs: int, relu: bool = False) -> str:
        y = self.node("Gemm", x, self.normal(inputs, outputs, inputs=inputs), self.normal(outputs, inputs=100))
        return self.node("Relu", y) if relu else y

    def classes(self, x: str, inputs: int, outputs: int) -> str:
        """Of the mean over the image."""
        return self.node("Softmax", self.dense(self.node("Flatten", self.node("GlobalAveragePool", x)), inputs, outputs))

    def model(self, y: str, *shape: int) -> onnx.ModelProto:
        given = helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)
        found = helper.make_tensor_value_info(y, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, self.name, [given], [found], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def keywords() -> onnx.ModelProto:
    """DS-CNN: 49 frames of 10 coefficients."""
    net = Network("keywords", 1, 49, 10, 1)
    y = net.conv(net.planes("x"), 1, 64, (10, 4), 2)
    for _ in range(4):
        y = net.conv(net.conv(y, 64, 64, (3, 3), each=True), 64, 64, (1, 1))
    return net.model(net.classes(y, 64, 12), 1, 12)


def persons() -> onnx.ModelProto:
    """MobileNetV1 of a quarter of the channels, for 96 x 96 pixels."""
    net = Network("persons", 1, 96, 96, 3)
    y, inputs = net.conv(net.planes("x"), 3, 8, (3, 3), 2), 8
    for outputs, stride in ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1)):
        y = net.conv(net.conv(y, inputs, inputs, (3, 3), stride, each=True), inputs, outputs, (1, 1))
        inputs = outputs
    return net.model(net.classes(y, inputs, 2), 1, 2)


def images() -> onnx.ModelProto:
    """ResNet8, for 32 x 32 pixels."""
    net = Network("images", 1, 32, 32, 3)
    y, inputs = net.conv(net.planes("x"), 3, 16, (3, 3)), 16
    for outputs, stride in ((16, 1), (32, 2), (64, 2)):
        straight = y if stride == 1 else net.conv(y, inputs, outputs, (1, 1), stride, relu=False)
        y = net.conv(net.conv(y, inputs, outputs, (3, 3), stride), outputs, outputs, (3, 3), relu=False)
        y, inputs = net.node("Relu", net.node("Add", straight, y)), outputs
    return net.model(net.classes(y, inputs, 10), 1, 10)


def machines() -> onnx.ModelProto:
    """The autoencoder that finds anomalies in what machines sound like: 5 frames of 128 bands."""
    net = Network("machines", 1, 640)
    y, widths = "x", (640, 128, 128, 128, 128, 8, 128, 128, 128, 128)
    for inputs, outputs in pairwise(widths):
        y = net.dense(y, inputs, outputs, relu=True)
    return net.model(net.dense(y, widths[-1], 640), 1, 640)


NETWORKS: dict[str, Callable[[], onnx.ModelProto]] = {
    "keywords": keywords,
    "persons": persons,
    "images": images,
    "machines": machines,
}
