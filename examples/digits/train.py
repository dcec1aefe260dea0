#!/usr/bin/env python3
"""Trains the example: a small residual convolutional classifier of handwritten digits (8x8 grey images, scikit-learn's set).

    python examples/digits/train.py        # half a minute; writes digits.onnx, calibration.npz, evaluation.npz, accuracy.json

The network is written and trained in plain numpy, so that nothing heavier than scikit-learn (for its data) is needed.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).parent
Parameters = dict[str, np.ndarray]
CLASSES, CALIBRATION, EVALUATION = 10, 100, 360
# name, input channels, output channels, stride
CONVOLUTIONS = (("conv1", 1, 16, 1), ("conv2", 16, 32, 2), ("conv3", 32, 32, 1), ("conv4", 32, 64, 2))


def initial(generator: np.random.Generator) -> Parameters:
    """He initialization of the convolutions and the classifier."""
    parameters: Parameters = {}
    for name, inputs, outputs, _ in CONVOLUTIONS:
        parameters[f"{name}.weight"] = generator.normal(0, np.sqrt(2 / (9 * inputs)), (outputs, inputs, 3, 3)).astype(np.float32)
        parameters[f"{name}.bias"] = np.zeros(outputs, np.float32)
    parameters["classifier.weight"] = generator.normal(0, np.sqrt(1 / 64), (CLASSES, 64)).astype(np.float32)
    parameters["classifier.bias"] = np.zeros(CLASSES, np.float32)
    return parameters


def patches(x: np.ndarray, stride: int) -> np.ndarray:
    """3x3 windows of a zero-padded image batch [N,C,H,W] -> [N,OH,OW,C,3,3]."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::stride, ::stride].transpose(0, 2, 3, 1, 4, 5)


def convolve(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, stride: int) -> np.ndarray:
    return (np.tensordot(patches(x, stride), weight, axes=((3, 4, 5), (1, 2, 3))) + bias).transpose(0, 3, 1, 2)


def convolve_backward(x: np.ndarray, weight: np.ndarray, stride: int, gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradients with respect to x, weight and bias."""
    rows = gradient.transpose(0, 2, 3, 1)
    weight_gradient = np.tensordot(rows, patches(x, stride), axes=((0, 1, 2), (0, 1, 2)))
    spread = np.tensordot(rows, weight, axes=(3, 0))  # [N,OH,OW,C,3,3]
    padded = np.zeros((x.shape[0], x.shape[1], x.shape[2] + 2, x.shape[3] + 2), np.float32)
    height, width = rows.shape[1], rows.shape[2]
    for i in range(3):
        for j in range(3):
            view = padded[:, :, i : i + height * stride : stride, j : j + width * stride : stride]
            view += spread[..., i, j].transpose(0, 3, 1, 2)
    return padded[:, :, 1:-1, 1:-1], weight_gradient, rows.sum((0, 1, 2))


def forward(x: np.ndarray, p: Parameters) -> tuple[np.ndarray, list[np.ndarray]]:
    """Logits [N,10] and the activations that the backward pass needs."""
    a1 = np.maximum(convolve(x, p["conv1.weight"], p["conv1.bias"], 1), 0)
    a2 = np.maximum(convolve(a1, p["conv2.weight"], p["conv2.bias"], 2), 0)
    a3 = np.maximum(convolve(a2, p["conv3.weight"], p["conv3.bias"], 1) + a2, 0)
    a4 = np.maximum(convolve(a3, p["conv4.weight"], p["conv4.bias"], 2), 0)
    pooled = a4.mean((2, 3))
    return pooled @ p["classifier.weight"].T + p["classifier.bias"], [x, a1, a2, a3, a4, pooled]


def gradients(x: np.ndarray, labels: np.ndarray, p: Parameters) -> Parameters:
    """Of the mean cross entropy."""
    logits, (x, a1, a2, a3, a4, pooled) = forward(x, p)
    odds = np.exp(logits - logits.max(1, keepdims=True))
    error = odds / odds.sum(1, keepdims=True)
    error[np.arange(len(labels)), labels] -= 1
    error /= len(labels)
    g: Parameters = {"classifier.weight": error.T @ pooled, "classifier.bias": error.sum(0)}
    flow = np.broadcast_to((error @ p["classifier.weight"])[:, :, None, None] / (a4.shape[2] * a4.shape[3]), a4.shape) * (a4 > 0)
    flow, g["conv4.weight"], g["conv4.bias"] = convolve_backward(a3, p["conv4.weight"], 2, flow)
    flow = flow * (a3 > 0)
    inner, g["conv3.weight"], g["conv3.bias"] = convolve_backward(a2, p["conv3.weight"], 1, flow)
    flow = (flow + inner) * (a2 > 0)
    flow, g["conv2.weight"], g["conv2.bias"] = convolve_backward(a1, p["conv2.weight"], 2, flow)
    _, g["conv1.weight"], g["conv1.bias"] = convolve_backward(x, p["conv1.weight"], 1, flow * (a1 > 0))
    return g


def shift(x: np.ndarray, dy: int, dx: int) -> np.ndarray:
    """Images moved by up to one pixel, zeros moving in."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return padded[:, :, 1 + dy : 9 + dy, 1 + dx : 9 + dx]


def train(x: np.ndarray, labels: np.ndarray, generator: np.random.Generator, epochs: int = 60, batch: int = 32) -> Parameters:
    """Adam with a cosine learning rate; images are shifted by up to one pixel."""
    p = initial(generator)
    first, second = ({name: np.zeros_like(value) for name, value in p.items()} for _ in range(2))
    steps, step = epochs * (len(x) // batch), 0
    for _ in range(epochs):
        order = generator.permutation(len(x))
        for start in range(0, len(x) - batch + 1, batch):
            chosen = order[start : start + batch]
            step += 1
            rate = 2e-3 * 0.5 * (1 + np.cos(np.pi * step / steps))
            for name, gradient in gradients(shift(x[chosen], *generator.integers(-1, 2, 2)), labels[chosen], p).items():
                first[name] = 0.9 * first[name] + 0.1 * gradient
                second[name] = 0.999 * second[name] + 0.001 * gradient**2
                p[name] = (p[name] - rate * (first[name] / (1 - 0.9**step)) / (np.sqrt(second[name] / (1 - 0.999**step)) + 1e-8)).astype(
                    np.float32
                )
    return p


def to_model(p: Parameters) -> onnx.ModelProto:
    """The network as ONNX, input `image` float [N,1,8,8] with values 0..16."""

    def conv(name: str, source: str, target: str, stride: int) -> onnx.NodeProto:
        inputs = [source, f"{name}.weight", f"{name}.bias"]
        return helper.make_node("Conv", inputs, [target], name=f"/{name}", strides=[stride] * 2, pads=[1] * 4, kernel_shape=[3, 3])

    nodes = [
        conv("conv1", "image", "c1", 1),
        helper.make_node("Relu", ["c1"], ["a1"], name="/relu1"),
        conv("conv2", "a1", "c2", 2),
        helper.make_node("Relu", ["c2"], ["a2"], name="/relu2"),
        conv("conv3", "a2", "c3", 1),
        helper.make_node("Add", ["c3", "a2"], ["s3"], name="/add3"),
        helper.make_node("Relu", ["s3"], ["a3"], name="/relu3"),
        conv("conv4", "a3", "c4", 2),
        helper.make_node("Relu", ["c4"], ["a4"], name="/relu4"),
        helper.make_node("GlobalAveragePool", ["a4"], ["pooled"], name="/pool"),
        helper.make_node("Flatten", ["pooled"], ["features"], name="/flatten"),
        helper.make_node("Gemm", ["features", "classifier.weight", "classifier.bias"], ["logits"], name="/classifier", transB=1),
    ]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, 8, 8])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", CLASSES])
    weights = [numpy_helper.from_array(value, name) for name, value in sorted(p.items())]
    model = helper.make_model(helper.make_graph(nodes, "digits", [image], [logits], weights), opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    return model


def main() -> None:
    from sklearn.datasets import load_digits

    digits = load_digits()
    x, labels = digits.images[:, None].astype(np.float32), digits.target.astype(np.int64)
    generator = np.random.Generator(np.random.PCG64(1))
    order = generator.permutation(len(x))
    held, learned = order[:EVALUATION], order[EVALUATION:]
    p = train(x[learned] / 16, labels[learned], generator)
    p["conv1.weight"] = (p["conv1.weight"] / 16).astype(np.float32)
    right = float(np.mean(forward(x[held], p)[0].argmax(1) == labels[held]))
    (HERE / "digits.onnx").write_bytes(to_model(p).SerializeToString(deterministic=True))
    np.savez_compressed(HERE / "calibration.npz", image=x[learned[:CALIBRATION]])
    np.savez_compressed(HERE / "evaluation.npz", image=x[held], labels=labels[held])
    (HERE / "accuracy.json").write_text(json.dumps({"fp32_top1": round(right, 4), "images": EVALUATION}, indent=1) + "\n")
    print(f"top-1 {right:.4f} on {EVALUATION} held-out images")


if __name__ == "__main__":
    main()
