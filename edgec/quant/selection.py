"""Which operators compute in integers, and which values get parameters for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from edgec.errors import Problem, UsageError, did_you_mean
from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType, static
from edgec.ops.registry import OPERATORS, Role
from edgec.quant.residual import carries, residual_values

SCALAR_TABLES = frozenset({"Add", "Sub", "Mul", "Div", "Pow", "Min", "Max"})  # with one scalar constant: clause 9
ACTIVATED = frozenset({Role.MATRIX, Role.ADD, Role.MUL, Role.AVERAGE})  # may end in a fused Relu or Clip


@dataclass(frozen=True, eq=False)
class Layer:
    """One operator that computes in integers, the activation fused behind it, and the values it reads as 8-bit numbers.

    ends_in_float: its result is a float, and nothing is fused.
    """

    node: Node
    role: Role
    activation: Node | None
    operands: tuple[str, ...]
    ends_in_float: bool = False

    @property
    def outputs(self) -> list[str]:
        """What it gives as 8-bit numbers."""
        return [] if self.ends_in_float else [name for name in (self.activation or self.node).outputs if name]


@dataclass(frozen=True)
class Selection:
    """The layers in graph order; `values` are all that get parameters, `refused` says why an operator stays in float."""

    layers: tuple[Layer, ...]
    values: tuple[str, ...]
    refused: dict[str, str]

    @property
    def matrices(self) -> list[Layer]:
        return [layer for layer in self.layers if layer.role is Role.MATRIX]

    @property
    def produced(self) -> frozenset[str]:
        """The values that a layer stores in 8 bits; the others come from float: graph inputs, float results and constants."""
        return frozenset(name for layer in self.layers for name in layer.outputs)


def select(graph: Graph, exclude: Iterable[str] = ()) -> Selection:
    """The operators of clause 11 that a matrix operator needs: all matrix operators, and what leads from data to one of them.

    A mean right behind a matrix operator ends in integers too: summed in float, each engine would give it another last bit.
    In networks with residual streams those stay in float, and the products that only float operators read end in float.
    """
    streams = residual_values(graph)
    excluded = with_activations(graph, excluded_nodes(graph, tuple(exclude)))
    refused: dict[str, str] = {}
    chosen: list[Layer] = []
    inside: set[int] = set()
    for node in reversed(graph.nodes):
        role, why = (Role.FLOAT, "excluded by the options") if node.name in excluded else role_of(graph, node)
        if role is Role.FLOAT:
            if why:
                refused[node.name or node.outputs[0]] = why
            continue
        activation = fused_activation(graph, node, excluded) if role in ACTIVATED else None
        ends = [end for end in (activation or node).outputs if end]
        takers = [id(reader) in inside and end in operands_of(graph, reader) for end in ends for reader in graph.readers(end)]
        if carries(node) and not streams.isdisjoint(ends) and not (role is Role.MOVE and all(takers)):
            if any(takers):
                refused[node.name or node.outputs[0]] = "a residual stream, which a normalization reads"
            continue
        if role is Role.MATRIX or any(takers) or (role is Role.AVERAGE and behind_matrix(graph, node, excluded)):
            inside.add(id(node))
            floats = bool(streams) and role is Role.MATRIX and not any(takers) and may_end_in_float(graph, node)
            chosen.append(Layer(node, role, None if floats else activation, operands_of(graph, node), floats))
    fused = {id(layer.activation) for layer in chosen if layer.activation}
    layers = tuple(layer for layer in reversed(chosen) if id(layer.node) not in fused)
    return Selection(layers, values_of(graph, layers), dict(reversed(refused.items())))


def may_end_in_float(graph: Graph, node: Node) -> bool:
    """Whether clause 4 has a float result for this matrix operator: not where each of several groups has one input channel."""
    groups, shape = int(node.attributes.get("group", 1)), graph.constants[node.inputs[1]].shape
    return groups == 1 or (shape[0] // groups if node.op == "ConvTranspose" else shape[1]) > 1


def behind_matrix(graph: Graph, node: Node, excluded: frozenset[str]) -> bool:
    """Whether `node` reads the result of a matrix operator, directly or through its Relu or Clip."""
    source = graph.producer(node.inputs[0])
    if source is not None and source.op in ("Relu", "Clip"):
        source = graph.producer(source.inputs[0])
    return source is not None and source.name not in excluded and role_of(graph, source)[0] is Role.MATRIX


def values_of(graph: Graph, layers: Iterable[Layer]) -> tuple[str, ...]:
    """Every operand and result of the layers, in the order of definition."""
    names: dict[str, None] = {}
    for layer in layers:
        names.update(dict.fromkeys([*layer.operands, *layer.outputs]))
    return tuple(names)


def excluded_nodes(graph: Graph, patterns: tuple[str, ...]) -> frozenset[str]:
    """The node names that match; a pattern that matches nothing is a mistake."""
    names = [node.name for node in graph.nodes]
    matches = {pattern: [name for name in names if fnmatchcase(name, pattern)] for pattern in patterns}
    problems = [
        Problem(f"no node is named {pattern!r}", "exclude", did_you_mean(pattern, names)) for pattern in patterns if not matches[pattern]
    ]
    if problems:
        raise UsageError("layers to exclude were not found", problems)
    return frozenset(name for found in matches.values() for name in found)


def with_activations(graph: Graph, excluded: frozenset[str]) -> frozenset[str]:
    """An activation stays in float with its layer: else what it reads would be stored, which is wider than what it writes."""
    starts = [node for node in graph.nodes if node.name in excluded and role_of(graph, node)[0] in ACTIVATED]
    ends = [fused_activation(graph, node, excluded) for node in starts]
    return excluded | {node.name for node in ends if node is not None and node.name}


def role_of(graph: Graph, node: Node) -> tuple[Role, str]:
    """The role this very node can have, or FLOAT and why (an empty reason: the operator never computes in integers)."""
    known = OPERATORS.get(node.op)
    role = known.role if known else Role.FLOAT
    data = [name for name in node.inputs if name and name not in graph.constants]
    if scalar_table(graph, node, data):
        return Role.TABLE, ""
    if role is Role.FLOAT:
        return role, ""
    types = [graph.types[name].dtype for name in [*data, *node.outputs] if name]
    if any(dtype is not DType.FLOAT32 for dtype in types) or not data:
        return Role.FLOAT, ""
    if role is Role.MATRIX:
        return (Role.FLOAT, why) if (why := matrix_refusal(graph, node, data)) else (role, "")
    if role in (Role.MOVE, Role.AVERAGE, Role.TABLE) and data != node.inputs[:1]:
        return Role.FLOAT, "an operand besides the data is not constant"
    if node.op == "ReduceMean" and not spatial_mean(graph, node):
        return Role.FLOAT, "a mean over other axes than the spatial ones"
    if node.op == "MaxPool" and len([name for name in node.outputs if name]) > 1:
        return Role.FLOAT, "MaxPool with indices"
    return role, ""


def scalar_table(graph: Graph, node: Node, data: list[str]) -> bool:
    """One float operand, and one constant of one element that leaves the shape as it is."""
    if node.op not in SCALAR_TABLES or len(node.inputs) != 2 or len(data) != 1:
        return False
    if graph.dtype(data[0]) is not DType.FLOAT32 or graph.shape(data[0]) != graph.shape(node.outputs[0]):
        return False
    return all(graph.constants[name].size == 1 for name in node.inputs if name in graph.constants)


def matrix_refusal(graph: Graph, node: Node, data: list[str]) -> str:
    """Why clause 4 cannot compute this Conv, ConvTranspose, Gemm or MatMul; "" when it can."""
    if len(node.inputs) < 2 or data != node.inputs[:1]:
        return "weights or bias are not constant"
    weights = graph.constants[node.inputs[1]]
    attributes = node.attributes
    if node.op == "Gemm" and (attributes.get("transA", 0) or attributes.get("alpha", 1.0) != 1.0 or attributes.get("beta", 1.0) != 1.0):
        return "Gemm with transA, alpha or beta"
    if node.op in ("Gemm", "MatMul") and weights.ndim != 2:
        return "weights are not a matrix"
    channels, terms = output_channels(node, weights), weights.size // max(1, output_channels(node, weights))
    bias = graph.constant(node.input(2)) if node.input(2) else None
    if bias is not None and bias.size not in (1, channels * bias_groups(node)):
        return "the bias is not one value per channel"
    if 2 * terms * 127 * 255 >= 2**31:
        return "the integer accumulator could overflow"
    return ""


def channel_axis(node: Node) -> int:
    """The axis of the weights that counts output channels."""
    if node.op == "Conv":
        return 0
    if node.op == "Gemm":
        return 0 if node.attributes.get("transB", 0) else 1
    return 1


def output_channels(node: Node, weights: np.ndarray) -> int:
    return int(weights.shape[channel_axis(node)])


def bias_groups(node: Node) -> int:
    """How often the weights' channel axis repeats over the output channels: the groups of a ConvTranspose, else 1."""
    return int(node.attributes.get("group", 1)) if node.op == "ConvTranspose" else 1


def spatial_mean(graph: Graph, node: Node) -> bool:
    axes = graph.constant(node.input(1)) if node.input(1) else np.asarray(node.attributes.get("axes", []))
    rank = len(graph.shape(node.inputs[0]))
    if axes is None or rank < 3:
        return False
    return sorted(int(axis) % rank for axis in axes.ravel()) == list(range(2, rank))


def operands_of(graph: Graph, node: Node) -> tuple[str, ...]:
    """The inputs that arrive as 8-bit numbers; a constant counts where it is data and not a scalar of a table."""
    role = role_of(graph, node)[0]
    if role in (Role.ADD, Role.MUL, Role.CONCAT):
        return tuple(dict.fromkeys(node.inputs))
    if role is Role.TABLE:
        return tuple(name for name in node.inputs if name and name not in graph.constants)
    return tuple(node.inputs[:1])


def fused_activation(graph: Graph, node: Node, excluded: frozenset[str]) -> Node | None:
    """The Relu or constant Clip behind `node` when it is the only reader."""
    value = node.outputs[0]
    if graph.reader_count(value) != 1 or not graph.readers(value):
        return None
    reader = graph.readers(value)[0]
    if reader.op not in ("Relu", "Clip") or reader.name in excluded or reader.inputs[0] != value:
        return None
    return reader if all(not name or name in graph.constants for name in reader.inputs[1:]) else None


def elements(graph: Graph, value: str) -> int:
    """How many numbers `value` holds."""
    return int(np.prod(static(graph.shape(value)), dtype=np.int64))
