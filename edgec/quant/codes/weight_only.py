"""Weights in 8 or 4 bits for layers that memory bounds: dense ones with few rows. Activations stay float32; samples say which codes of 4
bits are near where it matters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgec.base.errors import ModelError
from edgec.ir.graph import Graph, Node
from edgec.ir.types import Symbol
from edgec.ops.infer import infer_node
from edgec.ops.proto import canonical_attributes
from edgec.ops.quantize import FEWEST_CODED, MOST_CODED_ROWS
from edgec.passes.duplicates import remove_unread_constants
from edgec.quant.codes.matrix_codes import code_matrix
from edgec.quant.given.options import Samples
from edgec.quant.runs.carried import carried
from edgec.quant.runs.float_run import Probe

GROUP = {8: 0, 4: 32}  # bits -> inputs of an output channel that share a scale; 0: all of them
ROWS = 4096  # of a layer that are looked at


@dataclass(frozen=True)
class CodedGraph:
    """The graph whose large dense layers read codes, how many they are, and the bytes of their weights: as floats, as codes with scales."""

    graph: Graph
    layers: int
    float_bytes: int
    bytes: int


def code_weights(graph: Graph, bits: int, samples: Samples | None = None) -> CodedGraph:
    """Store the matrices of an optimized float graph in `bits` bits where that pays. ModelError where it does nowhere.

    samples: of what the model is given; None: only the weights are known.
    """
    result, done = graph.copy(), dict[tuple[str, int], str]()
    samples = carried(graph, samples) if samples is not None else None
    layers = before = after = 0
    for node in result.nodes:
        if not _pays(result, node):
            continue
        layers += 1
        key = node.inputs[1], int(node.op == "Gemm" and node.attributes["transB"])
        if key not in done:
            weights = result.constants[key[0]]
            done[key], size = _coded(result, node, weights, key[1], bits, rows_of(graph, node.inputs[0], samples) if bits == 4 else None)
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


def rows_of(graph: Graph, value: str, samples: Samples | None) -> np.ndarray | None:
    """Some rows of a value of the float graph, at most ROWS."""
    if samples is None:
        return None
    probe, found, count = Probe(graph, [value]), list[np.ndarray](), 0
    for sample in samples():
        array = probe(sample)[value]
        found.append(array.reshape(-1, array.shape[-1])[: ROWS - count])
        count += len(found[-1])
        if count == ROWS:
            break
    return np.concatenate(found) if found else None


def _coded(graph: Graph, reader: Node, weights: np.ndarray, along: int, bits: int, rows: np.ndarray | None) -> tuple[str, int]:
    """The value that reads `weights`, whose inputs lie along axis `along`, from codes; and the bytes of these, with their scales and zero
    points."""
    matrix = weights if along else weights.T
    group = min(GROUP[bits] or matrix.shape[1], matrix.shape[1])
    found = code_matrix(matrix, bits, group, rows)
    name, blocked = reader.inputs[1], group < matrix.shape[1]

    def laid(array: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(array if along else array.T) if blocked else array.reshape(-1)

    inputs = [
        graph.add_constant(f"{name}_codes", found.codes if along else np.ascontiguousarray(found.codes.T)),
        graph.add_constant(f"{name}_scale", laid(found.scales)),
        graph.add_constant(f"{name}_zero_point", laid(found.zeros)),
    ]
    attributes = {"axis": along, "block_size": group} if blocked else {"axis": 1 - along}
    node = Node(
        "DequantizeLinear", inputs, [graph.fresh(f"{name}_decoded")], canonical_attributes("DequantizeLinear", attributes), f"{name}_decode"
    )
    graph.insert(node, infer_node(graph, node), before=reader)
    parameters = found.scales.nbytes * (2 if found.zeros.any() else 1)
    return node.outputs[0], found.codes.size * bits // 8 + parameters
