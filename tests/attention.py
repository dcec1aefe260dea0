"""A vision transformer with random weights, as PyTorch exports one: attention and GELU in single operators; small, odd-sized, seeded."""

from __future__ import annotations

import numpy as np
import onnx

from tests.nets import Net

PATCH, HEADS, WIDTH = 5, 3, 24


def vit(seed: int, blocks: int = 2, shape: tuple[int, ...] = (1, 3, 20, 25)) -> onnx.ModelProto:
    """Patches as tokens, blocks of attention and of two dense layers with LayerNormalization before them, a mean, a classifier."""
    net = Net("vit", seed, shape)
    tokens = (shape[2] // PATCH) * (shape[3] // PATCH)
    weights = net.normal(WIDTH, shape[1], PATCH, PATCH, scale=(shape[1] * PATCH**2) ** -0.5)
    x = net.node("Conv", ["x", weights, net.normal(WIDTH, scale=0.1)], WIDTH, kernel_shape=[PATCH] * 2, strides=[PATCH] * 2)
    x = net.node("Transpose", [net.node("Reshape", [x, _ints(net, 0, WIDTH, tokens)])], perm=[0, 2, 1])
    x = net.add(x, net.normal(1, tokens, WIDTH, scale=0.3))
    for _ in range(blocks):
        x = net.add(x, _attention(net, _norm(net, x), tokens))
        x = net.add(x, _dense(net, _gelu(net, _dense(net, _norm(net, x), WIDTH, 4 * WIDTH)), 4 * WIDTH, WIDTH))
    pooled = net.node("ReduceMean", [_norm(net, x)], axes=[1], keepdims=0)
    return net.model(_dense(net, pooled, WIDTH, 10))


def _ints(net: Net, *values: int) -> str:
    return net.constant(np.array(values, np.int64))


def _number(net: Net, value: float) -> str:
    return net.constant(np.float32(value))


def _norm(net: Net, x: str) -> str:
    return net.node("LayerNormalization", [x, net.normal(WIDTH, scale=0.2, mean=1.0), net.normal(WIDTH, scale=0.2)], axis=-1, epsilon=1e-6)


def _dense(net: Net, x: str, inputs: int, outputs: int) -> str:
    return net.add(net.normal(outputs, scale=0.1), net.node("MatMul", [x, net.normal(inputs, outputs, scale=inputs**-0.5)]))


def _gelu(net: Net, x: str) -> str:
    gate = net.add(net.node("Erf", [net.node("Div", [x, _number(net, 2**0.5)])]), _number(net, 1))
    return net.node("Mul", [net.node("Mul", [x, gate]), _number(net, 0.5)])


def _attention(net: Net, x: str, tokens: int) -> str:
    size = WIDTH // HEADS
    split = _ints(net, 0, tokens, HEADS, size)
    query, key, value = (net.node("Reshape", [_dense(net, x, WIDTH, WIDTH), split]) for _ in range(3))
    query, value = (net.node("Transpose", [part], perm=[0, 2, 1, 3]) for part in (query, value))
    key = net.node("Transpose", [key], perm=[0, 2, 3, 1])
    scores = net.node("Mul", [net.node("MatMul", [query, key]), _number(net, size**-0.5)])
    mixed = net.node("Transpose", [net.node("MatMul", [net.node("Softmax", [scores], axis=-1), value])], perm=[0, 2, 1, 3])
    return _dense(net, net.node("Reshape", [mixed, _ints(net, 0, tokens, WIDTH)]), WIDTH, WIDTH)
