"""What the kernels do that walk batches of matrices or rows, in numpy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from edgec import kernels
from edgec.program.arguments import LANES
from tests.kernels.attention_cases import normalized


def settle(total: np.ndarray, low: int, high: int, zero: int) -> np.ndarray:
    return np.clip(np.rint(total), np.float32(low - zero), np.float32(high - zero)).astype(np.int64) + zero


class Batches:
    """The matrices of one call that walks two batch axes."""

    def __init__(self, machine: Any, arguments: Any) -> None:
        self.machine, self.a = machine, arguments
        self.n = {
            key: machine.integer(value)
            for key, value in vars(arguments).items()
            if value is not None and not hasattr(value, "buffer") and not isinstance(value, float)
        }

    def places(self, name: str, axes: Sequence[tuple[str, str]], start: int = 0) -> np.ndarray:
        """The elements of a buffer at axes of these sizes and strides."""
        pointer = getattr(self.a, name)
        index = np.asarray(self.machine.integer(pointer.offset) + start)
        for size, stride in axes:
            index = index[..., None] + np.arange(self.n[size]) * (self.n[stride] if stride else 1)
        assert index.max() < self.machine.memory[pointer.buffer].size and index.min() >= 0, f"{pointer.buffer} is left"
        return index

    def panels(self) -> tuple[int, int]:
        """How many, and the inputs of each."""
        return self.n["panels"], (self.n["panel_bytes"] - 4 * LANES) // LANES


def pack_int8(b: Batches) -> None:
    n, (panels, depth), memory = b.n, b.panels(), b.machine.memory
    axes = [("outer", "outer_stride"), ("inner", "inner_stride"), ("in_channels", "k_stride"), ("out_channels", "n_stride")]
    codes = memory[b.a.x.buffer][b.places("x", axes)].astype(np.int64)
    codes -= 128 if memory[b.a.x.buffer].dtype == np.uint8 else 0
    wide = np.zeros((n["outer"], n["inner"], depth, panels * LANES), np.int64)
    wide[:, :, : n["in_channels"], : n["out_channels"]] = codes
    sums = (n["sum_step"] + n["minus_zero"] * wide.sum(axis=2)).astype(np.int32).reshape(-1, panels, LANES)
    bytes_ = wide.astype(np.int8).reshape(-1, depth // 4, 4, panels, LANES).transpose(0, 3, 1, 4, 2).reshape(-1, panels, depth * LANES)
    whole = np.concatenate([bytes_, sums.view(np.int8).reshape(*sums.shape[:2], -1)], axis=2).reshape(-1)
    start = b.machine.integer(b.a.y.offset)
    memory[b.a.y.buffer][start : start + whole.size] = whole


def _pairs(b: Batches) -> tuple[np.ndarray, np.ndarray]:
    """fl32(acc) * scale, and where the results lie."""
    n, (panels, depth), memory = b.n, b.panels(), b.machine.memory
    rows = [("rows", "x_row_stride"), ("in_channels", "")]
    x = memory[b.a.x.buffer][b.places("x", [("outer", "x_outer_stride"), ("inner", "x_inner_stride"), *rows])].astype(np.int64)
    size = panels * n["panel_bytes"]
    at = b.places("weights", [("outer", "weights_outer_stride"), ("inner", "weights_inner_stride")])[..., None] + np.arange(size)
    packed = memory[b.a.weights.buffer][at].reshape(n["outer"], n["inner"], panels, -1)
    w = packed[..., : depth * LANES].reshape(*packed.shape[:3], depth // 4, LANES, 4).transpose(0, 1, 3, 5, 2, 4)
    w = w.reshape(n["outer"], n["inner"], depth, -1)[:, :, : n["in_channels"], : n["out_channels"]].astype(np.int64)
    bias = (
        np.ascontiguousarray(packed[..., depth * LANES :]).view(np.int32).reshape(n["outer"], n["inner"], 1, -1)[..., : n["out_channels"]]
    )
    total = np.matmul(x, w) + bias - n["zero_w"] * x.sum(axis=3, keepdims=True)
    axes = [("outer", "y_outer_stride"), ("inner", "y_inner_stride"), ("rows", "y_row_stride"), ("out_channels", "")]
    return total.astype(np.float32) * np.float32(b.a.scale), b.places("y", axes)


def product_int8(b: Batches) -> None:
    total, places = _pairs(b)
    memory = b.machine.memory[b.a.y.buffer]
    memory[places] = settle(total, b.a.low, b.a.high, b.a.zero_y).astype(memory.dtype)


def product_int8_float(b: Batches) -> None:
    total, places = _pairs(b)
    b.machine.memory[b.a.y.buffer][places] = total


def softmax_int8(b: Batches) -> None:
    axes = [("rows", "columns"), ("columns", "")]
    places, memory = b.places("x", axes), b.machine.memory
    x = memory[b.a.x.buffer][places].astype(np.int64)
    start = b.machine.integer(b.a.table.offset)
    e = memory[b.a.table.buffer][start : start + 256][255 - x.max(axis=1, keepdims=True) + x]
    m = np.float32(b.a.inverse) / e.sum(axis=1, keepdims=True).astype(np.float32)
    y = memory[b.a.y.buffer]
    y[b.places("y", axes)] = settle(e.astype(np.float32) * m, b.a.low, b.a.high, b.a.zero_y).astype(y.dtype)


def layer_norm_int8(b: Batches) -> None:
    axes = [("rows", "columns"), ("columns", "")]
    memory, columns = b.machine.memory, b.n["columns"]
    x = memory[b.a.x.buffer][b.places("x", axes)].astype(np.int64)

    def known(pointer: Any) -> np.ndarray:
        found: np.ndarray = memory[pointer.buffer][b.machine.integer(pointer.offset) :]
        return found

    epsilon = int(known(b.a.epsilon)[0])
    v = normalized(x, epsilon, None if b.a.centered else b.a.zero_x) * known(b.a.scale)[:columns] + known(b.a.offset)[:columns]
    y = memory[b.a.y.buffer]
    y[b.places("y", axes)] = settle(v, b.a.low, b.a.high, b.a.zero_y).astype(y.dtype)


def multiply_int8(b: Batches) -> None:
    b.n["all"], memory = b.n["images"] * b.n["pixels"], b.machine.memory
    x = memory[b.a.x.buffer][b.places("x", [("all", "x_pixel_stride"), ("channels", "")])].astype(np.int64) - b.a.zero_x
    by = memory[b.a.by.buffer][b.places("by", [("images", "by_image_stride"), ("channels", "")])].astype(np.int64) - b.a.zero_by
    steps = (x * np.repeat(by, b.n["pixels"], axis=0)).astype(np.float32) * np.float32(b.a.scale)
    y = memory[b.a.y.buffer]
    y[b.places("y", [("all", "y_pixel_stride"), ("channels", "")])] = settle(steps, b.a.low, b.a.high, b.a.zero_y).astype(y.dtype)


def pack_float(b: Batches) -> None:
    n, memory = b.n, b.machine.memory
    axes = [("outer", "outer_stride"), ("inner", "inner_stride"), ("in_channels", "k_stride"), ("out_channels", "n_stride")]
    x = memory[b.a.x.buffer][b.places("x", axes)]
    panels = -(-n["out_channels"] // LANES)
    wide = np.zeros((*x.shape[:3], panels * LANES), np.float32)
    wide[..., : n["out_channels"]] = x
    whole = wide.reshape(*x.shape[:3], panels, LANES).transpose(0, 1, 3, 2, 4).reshape(-1)
    start = b.machine.integer(b.a.y.offset)
    memory[b.a.y.buffer][start : start + whole.size] = whole


def unpacked(b: Batches, name: str, prefix: str, inputs: int, columns: int) -> np.ndarray:
    """The matrices that PackFloat packed: [outer][inner][inputs][columns]."""
    panels = -(-columns // LANES)
    at = b.places(name, [("outer", f"{prefix}_outer_stride"), ("inner", f"{prefix}_inner_stride")])
    packed = b.machine.memory[getattr(b.a, name).buffer][at[..., None] + np.arange(panels * inputs * LANES)]
    whole: np.ndarray = packed.reshape(*at.shape, panels, inputs, LANES).transpose(0, 1, 3, 2, 4).reshape(*at.shape, inputs, -1)
    return whole[..., :columns].astype(np.float64)


def product_float(b: Batches) -> None:
    n, memory = b.n, b.machine.memory
    batch = [("outer", "x_outer_stride"), ("inner", "x_inner_stride")]
    x = memory[b.a.x.buffer][b.places("x", [*batch, ("rows", "x_row_stride"), ("in_channels", "")])].astype(np.float64)
    w = unpacked(b, "weights", "weights", n["in_channels"], n["out_channels"])
    axes = [("outer", "y_outer_stride"), ("inner", "y_inner_stride"), ("rows", "y_row_stride"), ("out_channels", "")]
    memory[b.a.y.buffer][b.places("y", axes)] = np.matmul(x, w)


def attention_float(b: Batches) -> None:
    n, memory = b.n, b.machine.memory

    def rows(name: str, last: str) -> np.ndarray:
        strides = [(size, f"{name}_{axis}_stride") for size, axis in (("outer", "outer"), ("inner", "inner"), ("rows", "row"))]
        return b.places(name, [*strides, (last, "")])

    query = memory[b.a.query.buffer][rows("query", "channels")].astype(np.float64)
    scores = b.a.scale * np.matmul(query, unpacked(b, "keys", "keys", n["channels"], n["columns"]))
    if b.a.mask is not None:
        scores += memory[b.a.mask.buffer][rows("mask", "columns")]
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = np.matmul(weights, unpacked(b, "values", "values", n["columns"], n["value_channels"]))
    memory[b.a.y.buffer][rows("y", "value_channels")] = mixed / weights.sum(axis=-1, keepdims=True)


def swish(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


def gelu(x: np.ndarray) -> np.ndarray:
    return x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def function_float(b: Batches, function: Callable[[np.ndarray], np.ndarray]) -> None:
    memory, b.n["rows"] = b.machine.memory, b.n["count"] // b.n["columns"]
    x = memory[b.a.x.buffer][b.places("x", [("rows", "x_row_stride"), ("columns", "")])].astype(np.float64)
    y = function(x)
    if b.a.residual is not None:
        y += memory[b.a.residual.buffer][b.places("residual", [("rows", "residual_row_stride"), ("columns", "")])]
    memory[b.a.y.buffer][b.places("y", [("rows", "y_row_stride"), ("columns", "")])] = y


BATCHED: dict[type, Callable[[Batches], None]] = {
    kernels.PackInt8: pack_int8, kernels.ProductInt8: product_int8, kernels.ProductInt8Float: product_int8_float,
    kernels.PackFloat: pack_float, kernels.ProductFloat: product_float, kernels.AttentionFloat: attention_float,
    kernels.SoftmaxInt8: softmax_int8, kernels.LayerNormInt8: layer_norm_int8, kernels.MultiplyInt8: multiply_int8,
    kernels.SwishFloat: partial(function_float, function=swish),
    kernels.GeluFloat: partial(function_float, function=gelu),
}  # fmt: skip
