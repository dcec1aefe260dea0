"""The rows that a matrix operator multiplies with its weights, at a sample of output positions."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.ir.types import static

FEWEST, MOST = 32, 128  # positions of one sample that are looked at; neighbours tell little new


def supported(graph: Graph, node: Node) -> bool:
    """Whether `patches` knows the operator: convolutions in one or two dimensions, and matrices."""
    return node.op in ("Gemm", "MatMul") or (node.op == "Conv" and graph.constants[node.inputs[1]].ndim in (3, 4))


def grouped_rows(graph: Graph, node: Node) -> np.ndarray:
    """The weights as [groups, channels of a group, terms] float64, terms in the order of `patches`."""
    return matrix_rows(graph.constants[node.inputs[1]], node)


def matrix_rows(array: np.ndarray, node: Node) -> np.ndarray:
    """The same of an array in the layout of the weights of `node`."""
    weights = array.astype(np.float64)
    if node.op == "Conv":
        groups = int(node.attributes.get("group", 1))
        return weights.reshape(groups, weights.shape[0] // groups, -1)
    return (weights if node.op == "Gemm" and node.attributes.get("transB", 0) else weights.T)[None]


def ungrouped(rows: np.ndarray, graph: Graph, node: Node) -> np.ndarray:
    """The inverse of `grouped_rows`: an array in the layout of the weights."""
    shape = graph.constants[node.inputs[1]].shape
    if node.op == "Conv":
        return np.ascontiguousarray(rows.reshape(shape))
    return np.ascontiguousarray(rows[0] if node.op == "Gemm" and node.attributes.get("transB", 0) else rows[0].T)


def patches(graph: Graph, node: Node, data: np.ndarray, fill: float = 0.0) -> np.ndarray:
    """[groups, positions, terms]: some rows of a sample, evenly spread, the same for every call; more where there are more terms."""
    if node.op != "Conv":
        flat = data.reshape(-1, data.shape[-1])
        return np.asarray(flat[spread(len(flat), flat.shape[1])])[None]
    kernel = graph.constants[node.inputs[1]].shape[2:]
    image, window = (data, kernel) if len(kernel) == 2 else (data[:, :, None], (1, *kernel))
    strides, dilations, pads = geometry(graph, node, len(kernel))
    out = static(graph.shape(node.outputs[0]))[2:]
    height, width = out if len(kernel) == 2 else (1, *out)
    terms = graph.constants[node.inputs[1]][0].size
    batch, channels, *extents = image.shape
    read, outside = _read((batch, *extents), (height, width), window, strides, dilations, pads[:2], terms)
    taken = np.take(image.swapaxes(0, 1).reshape(channels, -1), read, axis=1)  # [channels, positions, taps]
    if outside.any():
        taken[:, outside] = fill
    groups = int(node.attributes.get("group", 1))
    taken = taken.reshape(groups, -1, *read.shape).swapaxes(1, 2)
    return taken.reshape(groups, len(read), -1)


@lru_cache(maxsize=256)
def _read(
    image: tuple[int, ...], out: tuple[int, int], window: tuple[int, ...], strides: tuple[int, int], dilations: tuple[int, int],
    pads: tuple[int, int], terms: int,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """[positions, taps]: where in a channel of `image` [batch, height, width] they lie, and which of them are outside."""
    height, width = out
    batch, rest = np.divmod(spread(image[0] * height * width, terms), height * width)
    row, column = np.divmod(rest, width)
    rows = row[:, None, None] * strides[0] + np.arange(window[0])[None, :, None] * dilations[0] - pads[0]
    columns = column[:, None, None] * strides[1] + np.arange(window[1])[None, None, :] * dilations[1] - pads[1]
    outside = (rows < 0) | (rows >= image[1]) | (columns < 0) | (columns >= image[2])
    inside = np.clip(rows, 0, image[1] - 1), np.clip(columns, 0, image[2] - 1)
    read = (batch[:, None, None] * image[1] + inside[0]) * image[2] + inside[1]
    return read.reshape(len(batch), -1), outside.reshape(len(batch), -1)


def spread(count: int, terms: int) -> np.ndarray:
    """Some of 0..count-1, by the golden ratio: even, and in step with no row length."""
    chosen = min(MOST, max(FEWEST, terms))
    if count <= chosen:
        return np.arange(count)
    return np.sort((np.arange(chosen) * 0.6180339887498949 % 1.0 * count).astype(np.int64))


def geometry(graph: Graph, node: Node, rank: int) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int, int, int]]:
    """Strides, dilations and pads (top, left, bottom, right) as of a convolution in two dimensions."""
    attributes = node.attributes
    strides = list(attributes.get("strides", [1] * rank))
    dilations = list(attributes.get("dilations", [1] * rank))
    pads = list(attributes.get("pads", [0] * 2 * rank))
    mode = attributes.get("auto_pad", "NOTSET")
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        kernel = graph.constants[node.inputs[1]].shape[2:]
        extents, results = static(graph.shape(node.inputs[0]))[2:], static(graph.shape(node.outputs[0]))[2:]
        for axis in range(rank):
            total = max(0, (results[axis] - 1) * strides[axis] + (kernel[axis] - 1) * dilations[axis] + 1 - extents[axis])
            less, more = total // 2, total - total // 2
            pads[axis], pads[rank + axis] = (less, more) if mode == "SAME_UPPER" else (more, less)
    if rank == 1:
        strides, dilations, pads = [1, *strides], [1, *dilations], [0, pads[0], 0, pads[1]]
    return (strides[0], strides[1]), (dilations[0], dilations[1]), (pads[0], pads[1], pads[2], pads[3])
