"""Random-weight nets of the shapes of five families, as ONNX models: small, odd-sized, seeded, a run takes milliseconds.

Weights are drawn so that the variance of activations is kept from layer to layer, and biases and BatchNorm statistics are not
trivial. Input is `x`, float32; MODELS names all families.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class Net:
    """An ONNX graph under construction. Methods add nodes and return the name of the new value; `channels` knows each value's."""

    def __init__(self, name: str, seed: int, shape: Sequence[int]) -> None:
        self.name, self.shape = name, list(shape)
        self.rng = np.random.default_rng([seed, *name.encode()])
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.channels = {"x": shape[1]}

    def constant(self, values: np.ndarray) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def normal(self, *shape: int, scale: float = 1.0, mean: float = 0.0) -> str:
        return self.constant((self.rng.standard_normal(shape) * scale + mean).astype(np.float32))

    def node(self, operator: str, inputs: Sequence[str], channels: int | None = None, **attributes: object) -> str:
        name = f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], f"/{self.name}/{name}", **attributes))
        self.channels[name] = self.channels.get(inputs[0], 0) if channels is None else channels
        return name

    def conv(self, x: str, outputs: int, kernel: int = 3, stride: int = 1, groups: int = 1, dilation: int = 1, activation: str = "Relu",
             norm: bool = False) -> str:  # fmt: skip
        """Convolution with "same" padding for odd kernels, then BatchNorm if asked, then the activation ("" for none)."""
        inputs = self.channels[x] // groups
        gain = 2.0 if activation else 1.0
        weights = self.normal(outputs, inputs, kernel, kernel, scale=(gain / (inputs * kernel**2)) ** 0.5)
        bias = [] if norm else [self.normal(outputs, scale=0.1)]
        pad = (kernel - 1) * dilation // 2
        y = self.node("Conv", [x, weights, *bias], outputs, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4,
                      dilations=[dilation] * 2, group=groups)  # fmt: skip
        if norm:
            y = self.norm(y)
        return self.activate(y, activation)

    def norm(self, x: str) -> str:
        """BatchNormalization whose statistics are near those of its input."""
        count = self.channels[x]
        scale, bias, mean = self.normal(count, scale=0.1, mean=1.0), self.normal(count, scale=0.1), self.normal(count, scale=0.1)
        variance = self.constant(self.rng.uniform(0.5, 1.5, count).astype(np.float32))
        return self.node("BatchNormalization", [x, scale, bias, mean, variance], epsilon=1e-5)

    def activate(self, x: str, activation: str) -> str:
        if activation == "Relu6":
            return self.node("Clip", [x, self.constant(np.float32(0)), self.constant(np.float32(6))])
        if activation == "Silu":
            return self.node("Mul", [x, self.node("Sigmoid", [x])])
        return self.node(activation, [x]) if activation else x

    def add(self, a: str, b: str) -> str:
        """A residual sum."""
        return self.node("Add", [a, b])

    def concat(self, *values: str) -> str:
        return self.node("Concat", values, sum(self.channels[value] for value in values), axis=1)

    def max_pool(self, x: str, kernel: int, stride: int, pad: int = 0, ceil: int = 0) -> str:
        return self.node("MaxPool", [x], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, ceil_mode=ceil)

    def dense(self, x: str, outputs: int) -> str:
        """A classifier over [batch, channels]."""
        inputs = self.channels[x]
        return self.node("Gemm", [x, self.normal(outputs, inputs, scale=inputs**-0.5), self.normal(outputs, scale=0.1)], outputs, transB=1)

    def model(self, *outputs: str) -> onnx.ModelProto:
        """The finished model, checked; the outputs' shapes are inferred."""
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)
        graph = helper.make_graph(self.nodes, self.name, [x], values, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8, producer_name="edgec tests")
        model = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
        onnx.checker.check_model(model, full_check=True)
        return model


def mobilenet(seed: int) -> onnx.ModelProto:
    """MobileNetV2: inverted residuals with Relu6 and linear bottlenecks, depthwise strides, a classifier; 37x29 pixels."""
    net = Net("mobilenet", seed, (1, 3, 37, 29))
    x = net.conv("x", 8, stride=2, activation="Relu6")
    for outputs, expand, stride in ((8, 1, 1), (12, 6, 2), (12, 6, 1), (20, 3, 2), (20, 6, 1)):
        hidden = net.channels[x] * expand
        y = net.conv(x, hidden, 1, activation="Relu6", norm=True) if expand > 1 else x
        y = net.conv(y, hidden, 3, stride, groups=hidden, activation="Relu6")
        y = net.conv(y, outputs, 1, activation="")
        x = net.add(x, y) if stride == 1 and net.channels[x] == outputs else y
    x = net.conv(x, 40, 1, activation="Relu6")
    return net.model(net.dense(net.node("Flatten", [net.node("GlobalAveragePool", [x])], axis=1), 10))


def squeezenet(seed: int) -> onnx.ModelProto:
    """SqueezeNet: fire modules joined by Concat, max pools that hang over the edge, an average pool and Softmax; 39x33 pixels."""
    net = Net("squeezenet", seed, (1, 3, 39, 33))
    x = net.max_pool(net.conv("x", 12, 3, 2), 3, 2, ceil=1)
    for squeeze, expand in ((4, 9), (6, 16), (7, 20)):
        s = net.conv(x, squeeze, 1)
        x = net.concat(net.conv(s, expand, 1), net.conv(s, expand, 3))
        if squeeze == 6:
            x = net.max_pool(x, 3, 2, ceil=1)
    x = net.node("AveragePool", [net.conv(x, 11, 1)], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1)
    x = net.node("GlobalAveragePool", [x])
    return net.model(net.node("Softmax", [net.node("Reshape", [x, net.constant(np.array((1, -1)))])], axis=1))


def yolox(seed: int) -> onnx.ModelProto:
    """YOLOX-Nano: Focus, SiLU, CSP blocks with depthwise filters, SPP, a top-down path with Resize, decoupled heads; 48x64 pixels."""
    net = Net("yolox", seed, (1, 3, 48, 64))
    x = net.conv(_focus(net), 8, activation="Silu", norm=True)
    small = _csp(net, _separable(net, x, 16, 2), 16)
    deep = _separable(net, small, 24, 2)
    pooled = net.conv(deep, 10, 1, activation="Silu")
    pooled = net.concat(pooled, *(net.max_pool(pooled, kernel, 1, kernel // 2) for kernel in (3, 5)))
    deep = _csp(net, net.conv(pooled, 24, 1, activation="Silu"), 24)
    down = net.conv(deep, 16, 1, activation="Silu")
    scales = net.constant(np.array((1, 1, 2, 2), np.float32))
    up = net.node("Resize", [down, "", scales], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    fine = _csp(net, net.concat(up, small), 16)
    coarse = _csp(net, net.concat(_separable(net, fine, 16, 2), down), 24)
    heads = [_head(net, value) for value in (fine, coarse)]
    return net.model(net.node("Transpose", [net.node("Concat", heads, axis=2)], perm=[0, 2, 1]))


def _focus(net: Net) -> str:
    """Space to depth by strided slices."""
    axes, steps, ends = (net.constant(np.array(pair)) for pair in ((2, 3), (2, 2), (1 << 30, 1 << 30)))
    parts = [net.node("Slice", ["x", net.constant(np.array(start)), ends, axes, steps]) for start in ((0, 0), (1, 0), (0, 1), (1, 1))]
    return net.concat(*parts)


def _separable(net: Net, x: str, outputs: int, stride: int = 1) -> str:
    hidden = net.channels[x]
    x = net.conv(x, hidden, 5 if stride == 2 else 3, stride, groups=hidden, activation="Silu", norm=True)
    return net.conv(x, outputs, 1, activation="Silu")


def _csp(net: Net, x: str, outputs: int) -> str:
    """Two 1x1 branches of one input, one of them with a residual block."""
    left, right = (net.conv(x, outputs // 2, 1, activation="Silu") for _ in range(2))
    left = net.add(left, _separable(net, net.conv(left, outputs // 2, 1, activation="Silu"), outputs // 2))
    return net.conv(net.concat(left, right), outputs, 1, activation="Silu")


def _head(net: Net, x: str) -> str:
    """Boxes, objectness and classes of every cell: [1, 4 + 1 + 5, cells]."""
    x = net.conv(x, 12, 1, activation="Silu")
    classes, boxes = _separable(net, x, 12), _separable(net, x, 12)
    scores = [net.node("Sigmoid", [net.conv(value, count, 1, activation="")]) for value, count in ((boxes, 1), (classes, 5))]
    joined = net.concat(net.conv(boxes, 4, 1, activation=""), *scores)
    return net.node("Reshape", [joined, net.constant(np.array((1, 10, -1)))])


def unet(seed: int) -> onnx.ModelProto:
    """U-Net: pools and transposed convolutions between odd sizes, skips by Concat, a linear Resize; 21x27 pixels."""
    net = Net("unet", seed, (1, 2, 21, 27))
    top = net.conv(net.conv("x", 7, activation="LeakyRelu"), 8)
    middle = net.conv(net.max_pool(top, 3, 2, 1), 14, norm=True)
    bottom = net.conv(net.conv(net.max_pool(middle, 3, 2, 1), 20), 20, dilation=2)
    up = net.concat(_transposed(net, bottom, 14, [0, 1]), middle)
    up = net.conv(up, 14)
    up = net.concat(_transposed(net, up, 8, [0, 0]), top)
    mask = net.node("Sigmoid", [net.conv(net.conv(up, 8), 1, 1, activation="")])
    scales = net.constant(np.array((1, 1, 2, 2), np.float32))
    return net.model(mask, net.node("Resize", [net.conv(middle, 3, 1, activation="Tanh"), "", scales], mode="linear"))


def _transposed(net: Net, x: str, outputs: int, output_padding: list[int]) -> str:
    """Size n becomes 2n - 1 + output_padding."""
    inputs = net.channels[x]
    weights, bias = net.normal(inputs, outputs, 3, 3, scale=(2 / (inputs * 2.25)) ** 0.5), net.normal(outputs, scale=0.1)
    y = net.node("ConvTranspose", [x, weights, bias], outputs, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1],
                 output_padding=output_padding)  # fmt: skip
    return net.node("Relu", [y])


def resnet(seed: int) -> onnx.ModelProto:
    """ResNet: basic blocks with BatchNorm, projected shortcuts, grouped and dilated filters, batch 2; 31x35 pixels."""
    net = Net("resnet", seed, (2, 3, 31, 35))
    x = net.max_pool(net.conv("x", 12, 7, 2, norm=True), 3, 2, 1)
    for outputs, stride, groups, dilation in ((12, 1, 1, 1), (18, 2, 3, 1), (18, 1, 1, 2), (22, 1, 2, 1)):
        y = net.conv(x, outputs, 3, stride, groups if net.channels[x] % groups == 0 else 1, norm=True)
        y = net.conv(y, outputs, 3, groups=groups, dilation=dilation, activation="", norm=True)
        shortcut = x if stride == 1 and net.channels[x] == outputs else net.conv(x, outputs, 1, stride, activation="", norm=True)
        x = net.node("Relu", [net.add(y, shortcut)])
    pooled = net.node("ReduceMean", [x], axes=[2, 3], keepdims=0)
    return net.model(net.node("LogSoftmax", [net.dense(pooled, 13)], axis=-1))


MODELS: dict[str, Callable[[int], onnx.ModelProto]] = {
    "mobilenet": mobilenet,
    "squeezenet": squeezenet,
    "yolox": yolox,
    "unet": unet,
    "resnet": resnet,
}
