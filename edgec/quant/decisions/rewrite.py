"""From a float graph and a calibration to the graph with QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType, TensorType
from edgec.ops.registry import Role
from edgec.passes.duplicates import remove_unread_constants
from edgec.quant.codes.weights import Weights
from edgec.quant.ranges.parameters import Parameters
from edgec.quant.scope.coverage import Layer, Selection


def insert_quantization(graph: Graph, selection: Selection, parameters: Mapping[str, Parameters], weights: Mapping[str, Weights]) -> None:
    """Put parameters on every value of the selection and integer weights under its matrix operators, in place.

    A value that a layer computes passes through Q/DQ before any reader; of a value from float only the layers read the rounded form.
    `weights` is by output of the matrix operator; those of several that have the same array of integers are one constant.
    """
    produced = selection.produced
    shared: dict[int, list[str]] = {}
    for layer in selection.layers:
        if layer.role is Role.MATRIX:
            set_weights(graph, layer, weights[layer.node.outputs[0]], shared)
    for value in selection.values:
        if value in produced:
            quantize_result(graph, value, parameters[value])
        elif value in graph.constants:
            quantize_constant(graph, value, parameters[value], selection)
        else:
            quantize_source(graph, value, parameters[value], selection)
    remove_unread_constants(graph)  # the float weights and biases


def quantize_result(graph: Graph, value: str, parameters: Parameters) -> None:
    """The producer writes a new value; Q/DQ of it is what everyone reads under the old name."""
    producer = graph.producer(value)
    assert producer is not None
    exact = graph.fresh(f"{value}_exact")
    graph.rewire(producer, producer.inputs, [exact if name == value else name for name in producer.outputs])
    graph.types[exact] = graph.types[value]
    pair(graph, exact, value, parameters, after=producer)


def quantize_source(graph: Graph, value: str, parameters: Parameters, selection: Selection) -> None:
    """The layers read Q/DQ of `value`, float operators go on reading `value` itself."""
    rounded = graph.fresh(f"{value}_rounded")
    graph.types[rounded] = graph.types[value]
    redirect(graph, value, rounded, selection)
    pair(graph, value, rounded, parameters, after=graph.producer(value))


def quantize_constant(graph: Graph, value: str, parameters: Parameters, selection: Selection) -> None:
    """A constant operand is stored as bytes and read through DequantizeLinear."""
    rounded = graph.fresh(f"{value}_rounded")
    redirect(graph, value, rounded, selection)
    stored = graph.add_constant(f"{value}_quantized", parameters.store(graph.constants[value]))
    node = Node("DequantizeLinear", [stored, *scale_and_zero(graph, value, parameters)], [rounded], {}, f"{value}_dequantize")
    graph.insert(node, [graph.types[value]], before=graph.nodes[0])


def redirect(graph: Graph, value: str, rounded: str, selection: Selection) -> None:
    for layer in selection.layers:
        if value in layer.operands:
            data = data_inputs(layer)
            graph.rewire(layer.node, [rounded if name == value and place < data else name for place, name in enumerate(layer.node.inputs)])


def data_inputs(layer: Layer) -> int:
    """How many of the node's first inputs are data."""
    return len(layer.node.inputs) if layer.role in (Role.ADD, Role.MUL, Role.CONCAT, Role.TABLE, Role.PAIR) else 1


def pair(graph: Graph, source: str, target: str, parameters: Parameters, *, after: Node | None) -> None:
    """source -> QuantizeLinear -> DequantizeLinear -> target, right behind the node `after` (None: first of all)."""
    stored = graph.fresh(f"{target}_quantized")
    scale, zero = scale_and_zero(graph, target, parameters)
    quantize = Node("QuantizeLinear", [source, scale, zero], [stored], {}, f"{target}_quantize")
    dequantize = Node("DequantizeLinear", [stored, scale, zero], [target], {}, f"{target}_dequantize")
    kind = TensorType(parameters.dtype, graph.types[source].shape)
    if after is None:
        graph.insert(quantize, [kind], before=graph.nodes[0])
    else:
        graph.insert(quantize, [kind], after=after)
    graph.insert(dequantize, [graph.types[target]], after=quantize)


def scale_and_zero(graph: Graph, hint: str, parameters: Parameters) -> tuple[str, str]:
    scale = graph.add_constant(f"{hint}_scale", np.asarray(parameters.scale, np.float32))
    return scale, graph.add_constant(f"{hint}_zero_point", np.asarray(parameters.zero_point, parameters.dtype.numpy))


def set_weights(graph: Graph, layer: Layer, weights: Weights, shared: dict[int, list[str]]) -> None:
    """shared: the constants of integers that are there already, by the identity of their array."""
    node, hint = layer.node, layer.node.inputs[1]
    if id(weights.values) not in shared:
        shared[id(weights.values)] = quantized_constants(graph, hint, weights.values, weights.scales)
    inputs = [node.inputs[0], dequantized(graph, node, hint, shared[id(weights.values)], weights.axis)]
    name = node.input(2) or f"{node.outputs[0]}_bias"
    if weights.bias is not None and weights.bias_scales is not None:
        inputs.append(dequantized(graph, node, name, quantized_constants(graph, name, weights.bias, weights.bias_scales), 0))
    elif weights.bias is not None:
        inputs.append(graph.add_constant(f"{name}_kept", weights.bias))
    graph.rewire(node, inputs)


def quantized_constants(graph: Graph, hint: str, values: np.ndarray, scales: np.ndarray) -> list[str]:
    """The constants `values`, scales and zero points, which are 0."""
    stored = graph.add_constant(f"{hint}_quantized", values)
    scale = graph.add_constant(f"{hint}_scale", scales)
    return [stored, scale, graph.add_constant(f"{hint}_zero_point", np.zeros(scales.shape, values.dtype))]


def dequantized(graph: Graph, reader: Node, hint: str, constants: list[str], axis: int) -> str:
    """Such constants behind DequantizeLinear along `axis`."""
    output = graph.fresh(f"{hint}_dequantized")
    node = Node("DequantizeLinear", constants, [output], {"axis": axis}, f"{output}_node")
    graph.insert(node, [TensorType(DType.FLOAT32, graph.types[constants[0]].shape)], before=reader)
    return output
