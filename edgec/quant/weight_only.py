"""Weights in 8 or 4 bits for layers that memory bounds: dense ones with few rows. Activations stay float32, so nothing is calibrated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgec.errors import ModelError
from edgec.ir.graph import Graph, Node
from edgec.ir.types import Symbol
from edgec.ops.infer import infer_node
from edgec.ops.proto import canonical_attributes
from edgec.ops.quantize import FEWEST_CODED, MOST_CODED_ROWS
from edgec.passes.duplicates import remove_unread_constants

GROUP = {8: 0, 4: 32}  # bits -> inputs of an output channel that share a scale; 0: all of them
SHARES = {8: np.linspace(0.9, 1, 6), 4: np.linspace(0.6, 1, 17)}  # of the range that the weights fill: less cuts some, the rest gets finer
CHANNELS = 256  # searched at once


@dataclass(frozen=True)
class CodedGraph:
    """The graph whose large dense layers read codes, how many they are, and the bytes of their weights: as floats, as codes with scales."""

    graph: Graph
    layers: int
    float_bytes: int
    bytes: int


def code_weights(graph: Graph, bits: int) -> CodedGraph:
    """Store the matrices of an optimized float graph in `bits` bits where that pays. ModelError where it does nowhere."""
    result, done = graph.copy(), dict[tuple[str, int], str]()
    layers = before = after = 0
    for node in result.nodes:
        if not _pays(result, node):
            continue
        layers += 1
        key = node.inputs[1], int(node.op == "Gemm" and node.attributes["transB"])
        if key not in done:
            weights = result.constants[key[0]]
            done[key], size = _coded(result, node, weights, key[1], bits)
            before, after = before + weights.nbytes, after + size
        result.rewire(node, [node.inputs[0], done[key], *node.inputs[2:]])
    if not layers:
        what = f"no layer gains by weights of {bits} bits: that needs a MatMul or Gemm by more than {FEWEST_CODED:,} constants"
        raise ModelError(f"{what}, of at most {MOST_CODED_ROWS} rows", hint="leave --weight-bits out, or build with --precision int8")
    remove_unread_constants(result)
    return CodedGraph(result, layers, before, after)


def _pays(graph: Graph, node: Node) -> bool:
    """Whether a node multiplies few rows by a large constant matrix."""
    weights = graph.constant(node.inputs[1]) if node.op in ("MatMul", "Gemm") else None
    if weights is None or weights.ndim != 2 or weights.size <= FEWEST_CODED or weights.dtype != np.float32:
        return False
    if node.op == "Gemm" and (node.attributes["transA"] or node.attributes["alpha"] != 1):
        return False
    *rows, _ = graph.shape(node.outputs[0])
    return int(np.prod([extent.bound if isinstance(extent, Symbol) else extent for extent in rows])) <= MOST_CODED_ROWS


def _coded(graph: Graph, reader: Node, weights: np.ndarray, along: int, bits: int) -> tuple[str, int]:
    """The value that reads `weights`, whose inputs lie along axis `along`, from codes; and the bytes of these, with their scales."""
    matrix = weights if along else weights.T
    group = min(GROUP[bits] or matrix.shape[1], matrix.shape[1])
    parts = [search(matrix[start : start + CHANNELS], bits, group) for start in range(0, len(matrix), CHANNELS)]
    codes, scales = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    name, blocked = reader.inputs[1], group < matrix.shape[1]
    shape = scales if along else scales.T
    inputs = [
        graph.add_constant(f"{name}_codes", codes if along else np.ascontiguousarray(codes.T)),
        graph.add_constant(f"{name}_scale", np.ascontiguousarray(shape) if blocked else scales.reshape(-1)),
    ]
    inputs.append(graph.add_constant(f"{name}_zero_point", np.zeros(graph.constants[inputs[1]].shape, np.int8)))
    attributes = {"axis": along, "block_size": group} if blocked else {"axis": 1 - along}
    node = Node(
        "DequantizeLinear", inputs, [graph.fresh(f"{name}_decoded")], canonical_attributes("DequantizeLinear", attributes), f"{name}_decode"
    )
    graph.insert(node, infer_node(graph, node), before=reader)
    return node.outputs[0], codes.size * bits // 8 + scales.nbytes


def search(matrix: np.ndarray, bits: int, group: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes [out][in] and scales [out][group of inputs] of a matrix [out][in] with the least squared error among SHARES of its range,
    each scale then the one that fits its codes best."""
    outputs, inputs = matrix.shape
    groups = -(-inputs // group)
    wide = np.pad(matrix, ((0, 0), (0, groups * group - inputs))).reshape(outputs, groups, group)
    largest = 2 ** (bits - 1) - 1
    reach = np.maximum(np.abs(wide).max(2, keepdims=True), np.float32(1e-30)) / largest
    best, least = np.zeros(wide.shape, np.int8), np.full((outputs, groups, 1), np.inf)
    scale = reach.copy()
    for share in SHARES[bits]:
        tried = (reach * np.float32(share)).astype(np.float32)
        codes = np.clip(np.rint(wide / tried), -largest - 1, largest)
        fitted = _fitted(wide, codes, tried)
        error = ((wide - codes * fitted) ** 2).sum(2, keepdims=True, dtype=np.float64)
        better = error < least
        best, scale = np.where(better, codes, best).astype(np.int8), np.where(better, fitted, scale)
        least = np.minimum(error, least)
    return best.reshape(outputs, -1)[:, :inputs], scale[:, :, 0].astype(np.float32)


def _fitted(wide: np.ndarray, codes: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The scales with the least squared error for these codes."""
    power = (codes * codes).sum(2, keepdims=True)
    return np.where(power > 0, (wide * codes).sum(2, keepdims=True) / np.maximum(power, 1), scale).astype(np.float32)
