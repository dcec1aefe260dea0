"""The integer weights of the matrix operators: decided from statistics, and rebuilt from the decisions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from edgec.ir.graph import Graph
from edgec.quant.codes.rounding import Moments, least_squares_rounding, mean_shift
from edgec.quant.codes.weights import Weights, bias_of, fit_bias, from_rows, layer_axis, quantize_bias, round_to_nearest, rows_of
from edgec.quant.decisions.calibration import LayerWeights
from edgec.quant.decisions.sharers import sharers_of, together
from edgec.quant.given.options import QuantizeOptions, Samples
from edgec.quant.ranges.parameters import Parameters
from edgec.quant.runs.float_run import Probe, watched
from edgec.quant.scope.coverage import Layer
from edgec.quant.scope.patches import grouped_rows, patches, supported, ungrouped

MEANS = 32  # samples, or up to twice as many, that tell what a layer is fed
NUMBERS = 2048  # of a channel at most: few of them lie where a range cuts, and decide what it cuts


@dataclass(frozen=True)
class Fed:
    """What a layer reads in float: the mean row [groups, terms], and some numbers of each channel [groups, channels, numbers]."""

    mean: np.ndarray
    numbers: np.ndarray

    def stored_mean(self, parameters: Parameters, divisors: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The mean row when each channel is divided, and when it is then stored in 8 bits."""
        mean, numbers, taps = self.mean, self.numbers, self.mean.shape[1] // self.numbers.shape[1]
        if divisors is not None:
            each = divisors.reshape(len(mean), -1)
            mean, numbers = mean / np.repeat(each, taps, axis=1), numbers / each[:, :, None]
        gained = rounded(numbers, parameters).mean(axis=2, dtype=np.float64) - numbers.mean(axis=2, dtype=np.float64)
        return mean, mean + np.repeat(gained, taps, axis=1)


def gather_moments(
    graph: Graph, layers: Sequence[Layer], parameters: Mapping[str, Parameters], samples: Samples, options: QuantizeOptions, total: int
) -> dict[str, Moments]:
    """One pass over the samples: what each layer is fed, in float and quantized; by the first of those that share weights."""
    layers = [layer for layer in layers if supported(graph, layer.node)]
    sharers = sharers_of(layers)
    moments = {group[0].node.outputs[0]: Moments() for group in together(sharers)}
    probe = Probe(graph, [layer.operands[0] for layer in layers])
    for found in probe.over(watched(samples, "weights", options.progress, total)):
        for value, array in found:
            for layer in [layer for layer in layers if layer.operands[0] == value]:
                exact = np.ascontiguousarray(patches(graph, layer.node, array))
                group = sharers[layer.node.outputs[0]]
                moments[group[0].node.outputs[0]].add(exact, rounded(exact, parameters[value]), group.index(layer))
    return moments


def gather_fed(graph: Graph, layers: Sequence[Layer], samples: Samples, options: QuantizeOptions, total: int) -> dict[str, Fed]:
    """What each layer with a bias is fed in float, from some of the samples."""
    layers = [layer for layer in layers if takes_bias(graph, layer)]
    sums: dict[str, np.ndarray] = {}
    numbers: dict[str, list[np.ndarray]] = {layer.node.outputs[0]: [] for layer in layers}
    probe = Probe(graph, [layer.operands[0] for layer in layers])
    every, count = max(1, total // MEANS), -(-total // max(1, total // MEANS))
    for index, found in enumerate(probe.over(watched(lambda: islice(samples(), 0, None, every), "means", options.progress, count))):
        for value, array in found:
            for layer in [layer for layer in layers if layer.operands[0] == value]:
                output, rows = layer.node.outputs[0], patches(graph, layer.node, array)
                sums[output] = sums.get(output, 0.0) + rows.mean(axis=1, dtype=np.float64)
                taps = math.prod(graph.constants[layer.node.inputs[1]].shape[2:]) if layer.node.op == "Conv" else 1
                numbers[output].append(_few(rows, taps, index, count))
    return {output: Fed(found / count, np.concatenate(numbers[output], axis=2)) for output, found in sums.items()}


def _few(rows: np.ndarray, taps: int, index: int, total: int) -> np.ndarray:
    """[groups, channels, numbers]: some of one sample's, others in each sample; NUMBERS of all `total` samples."""
    groups, positions, terms = rows.shape
    stride = -(-positions * taps * total // NUMBERS)
    few = rows[:, -index * positions % stride :: stride].reshape(groups, -1, terms // taps, taps)
    return np.asarray(few.transpose(0, 2, 1, 3).reshape(groups, terms // taps, -1).copy())


def takes_bias(graph: Graph, layer: Layer) -> bool:
    """Whether a bias can make up for what is lost of the mean."""
    return layer.node.op != "MatMul" and supported(graph, layer.node)


def lost_mean(graph: Graph, layer: Layer, scales: np.ndarray, fed: Fed, divisors: np.ndarray | None, kept: Parameters) -> np.ndarray:
    """What weights rounded to nearest and a quantized input lose of the mean output, float32 per channel."""
    exact = grouped_rows(graph, layer.node)
    grouped = scales.astype(np.float64).reshape(exact.shape[:2])
    stored = np.clip(np.rint(exact / grouped[:, :, None]), -127, 127)
    return mean_shift(exact, stored, grouped, *fed.stored_mean(kept, divisors)).astype(np.float32).ravel()


def rounded(values: np.ndarray, parameters: Parameters) -> np.ndarray:
    """Float numbers as the quantized network sees them."""
    scale, zero = np.float32(parameters.scale), np.float32(parameters.zero_point)
    stored = np.asarray(values / scale)
    np.rint(stored, out=stored)
    np.clip(stored, -zero, 255 - zero, out=stored)
    stored *= scale
    return stored


@dataclass(frozen=True)
class Rounded:
    """What statistics offer one layer at given scales: steps (int8, in the model's layout) from the nearest integer weights to those of

    least squares, and what the bias gains with them (float32 per channel; None: the layer takes no bias).
    """

    steps: np.ndarray
    shift: np.ndarray | None


def round_layers(graph: Graph, group: Sequence[Layer], scales: np.ndarray, moments: Moments) -> list[Rounded]:
    """Of each of the layers that share weights."""
    node = group[0].node
    exact = grouped_rows(graph, node)
    grouped = scales.astype(np.float64).reshape(exact.shape[:2])
    nearest = np.clip(np.rint(exact / grouped[:, :, None]), -127, 127)
    stored = least_squares_rounding(exact, grouped, moments)
    steps = ungrouped(np.clip(stored - nearest, -127, 127).astype(np.int8), graph, node)
    if node.op == "MatMul":
        return [Rounded(steps, None)] * len(group)
    shifts = [mean_shift(exact, stored, grouped, means.exact, means.fed) for means in moments.means]
    return [Rounded(steps, shift.astype(np.float32).ravel()) for shift in shifts]


def layer_scales(graph: Graph, group: Sequence[Layer], parameters: Mapping[str, Parameters], rows: np.ndarray) -> np.ndarray:
    """`rows` of scales of layers that share weights, raised where the bias of one would not fit."""
    each = [fit_bias(rows, bias_of(graph, layer), parameters[layer.operands[0]].scale) for layer in group]
    return np.asarray(np.maximum.reduce(each))


def rebuild(
    graph: Graph, layers: Sequence[Layer], parameters: Mapping[str, Parameters], decisions: Mapping[str, LayerWeights]
) -> dict[str, Weights]:
    """Of each layer by its output; those that share weights share the integers, where these are the same."""
    made: dict[str, Weights] = {}
    for group in together(sharers_of(layers)):
        latest: tuple[LayerWeights, np.ndarray] | None = None
        for layer in group:
            output = layer.node.outputs[0]
            decision = decisions[output]
            if latest is None or not same_integers(latest[0], decision):
                latest = decision, integers(graph, layer, decision)
            made[output] = with_bias(graph, layer, parameters, decision, latest[1])
    return made


def same_integers(one: LayerWeights, other: LayerWeights) -> bool:
    return np.array_equal(one.scales, other.scales) and (one.steps is other.steps or np.array_equal(one.steps, other.steps))


def integers(graph: Graph, layer: Layer, decision: LayerWeights) -> np.ndarray:
    """int8, in the layout of the weights."""
    weights, axis = graph.constants[layer.node.inputs[1]], layer_axis(layer)
    nearest = from_rows(round_to_nearest(rows_of(weights, axis), decision.scales), weights.shape, axis)
    return np.asarray(np.clip(nearest.astype(np.int16) + decision.steps, -127, 127), np.int8)


def with_bias(graph: Graph, layer: Layer, parameters: Mapping[str, Parameters], decision: LayerWeights, values: np.ndarray) -> Weights:
    """These integers and the bias that a decision stands for."""
    axis, scales = layer_axis(layer), decision.scales
    bias = bias_of(graph, layer)
    if decision.shift is not None:
        bias = (0.0 if bias is None else bias) + decision.shift.astype(np.float64)
    if bias is None:
        return Weights(values, scales, axis, None, None)
    source = parameters[layer.operands[0]]
    if source.bits == 16:  # at so fine a step an int32 may not hold it
        return Weights(values, scales, axis, bias.astype(np.float32), None)
    stored, steps = quantize_bias(bias, scales, source.scale)
    return Weights(values, scales, axis, stored, steps)
