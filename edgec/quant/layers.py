"""The integer weights of the matrix operators: decided from statistics, and rebuilt from the decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from edgec.ir.graph import Graph
from edgec.quant.calibration import LayerWeights
from edgec.quant.options import QuantizeOptions, Samples
from edgec.quant.parameters import Parameters
from edgec.quant.patches import grouped_rows, patches, supported, ungrouped
from edgec.quant.rounding import Moments, least_squares_rounding, mean_shift
from edgec.quant.run import Probe, watched
from edgec.quant.selection import Layer
from edgec.quant.weights import Weights, bias_of, fit_bias, from_rows, layer_axis, quantize_bias, round_to_nearest, rows_of, weight_scales


def gather_moments(
    graph: Graph, layers: Sequence[Layer], parameters: Mapping[str, Parameters], samples: Samples, options: QuantizeOptions, total: int
) -> dict[str, Moments]:
    """One pass over the samples: what each layer is fed, in float and quantized."""
    layers = [layer for layer in layers if supported(graph, layer.node)]
    moments = {layer.node.outputs[0]: Moments() for layer in layers}
    probe = Probe(graph, [layer.operands[0] for layer in layers])
    for sample in watched(samples, "weights", options.progress, total):
        arrays = probe(sample)
        for layer in layers:
            exact = np.ascontiguousarray(patches(graph, layer.node, arrays[layer.operands[0]]))
            moments[layer.node.outputs[0]].add(exact, rounded(exact, parameters[layer.operands[0]]))
    return moments


def rounded(values: np.ndarray, parameters: Parameters) -> np.ndarray:
    """Float numbers as the quantized network sees them."""
    scale, zero = np.float32(parameters.scale), np.float32(parameters.zero_point)
    stored = np.rint(values / scale)
    np.clip(stored, -zero, 255 - zero, out=stored)
    stored *= scale
    return stored


def decide(
    graph: Graph, layer: Layer, parameters: Mapping[str, Parameters], moments: Moments | None, options: QuantizeOptions
) -> LayerWeights:
    """Scales by least squares, then rounding to the nearest or, with statistics, against the covariance of the input."""
    weights = graph.constants[layer.node.inputs[1]]
    axis = layer_axis(layer)
    rows = rows_of(weights, axis)
    scales = fit_bias(weight_scales(rows), bias_of(graph, layer), parameters[layer.operands[0]].scale)
    nearest = from_rows(round_to_nearest(rows, scales), weights.shape, axis)
    if moments is None or not moments.count:
        return LayerWeights(scales, np.zeros(weights.shape, np.int8), None)
    exact = grouped_rows(graph, layer.node)
    grouped = scales.astype(np.float64).reshape(exact.shape[:2])
    stored = np.clip(np.rint(exact / grouped[:, :, None]), -127, 127)
    if options.round_weights:
        stored = least_squares_rounding(exact, grouped, moments)
    shift = None
    if options.correct_bias and layer.node.op != "MatMul":
        shift = mean_shift(exact, stored, grouped, moments).astype(np.float32).ravel()
    chosen = ungrouped(stored, graph, layer.node).astype(np.int16)
    steps = np.clip(chosen - nearest, -127, 127).astype(np.int8)
    return LayerWeights(scales, steps, shift)


def rebuild(graph: Graph, layer: Layer, parameters: Mapping[str, Parameters], decision: LayerWeights) -> Weights:
    """The integer weights and bias that a decision stands for."""
    weights = graph.constants[layer.node.inputs[1]]
    axis, scales = layer_axis(layer), decision.scales
    nearest = from_rows(round_to_nearest(rows_of(weights, axis), scales), weights.shape, axis)
    values = np.clip(nearest.astype(np.int16) + decision.steps, -127, 127).astype(np.int8)
    bias = bias_of(graph, layer)
    if decision.shift is not None:
        bias = (0.0 if bias is None else bias) + decision.shift.astype(np.float64)
    if bias is None:
        return Weights(values, scales, axis, None, None)
    stored, steps = quantize_bias(bias, scales, parameters[layer.operands[0]].scale)
    return Weights(values, scales, axis, stored, steps)
