"""Bias correction by propagated error: layer by layer, what the quantized network so far loses of a layer's result on the whole.

Where a range cuts a few numbers that are far from all others, they make most of the mean error, and a bias that follows them is wrong
everywhere else. So the bias takes the mean of the middle half of the errors of each channel; and of a layer with Relu or Clip only those
errors that come out of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np

from edgec.base.budget import check_time
from edgec.integer.tails import activation_bounds
from edgec.ir.graph import Graph
from edgec.ir.liveness import live_bytes
from edgec.quant.channels.features import select_even
from edgec.quant.codes.weights import Weights, bias_of
from edgec.quant.decisions.calibration import Calibration, LayerWeights
from edgec.quant.decisions.layers import rebuild, takes_bias, with_bias
from edgec.quant.decisions.rewrite import insert_quantization
from edgec.quant.decisions.twins import exact_twin, stored_twin
from edgec.quant.fits.fitted import Fitted
from edgec.quant.given.options import Progress, Samples
from edgec.quant.runs.walk import Walk
from edgec.quant.scope.coverage import Layer
from edgec.quant.scope.patches import matrix_rows, patches

Mean = Callable[[np.ndarray], np.ndarray]  # of each column [positions, columns]

MOST = 64  # samples
ALIVE = 256 << 20  # bytes of them that are between two layers
TAILS = 0.25  # of the errors at either end do not count
FEWEST = 0.02  # of all positions: a channel that seldom comes out of its activation takes less of a bias


def settled(graph: Graph, fitted: Fitted, progress: Progress | None) -> list[Callable[[], Fitted]]:
    """The calibration with other biases, fitted to some of its samples: by the middle of the errors, and by their mean."""

    def make(by: Mean) -> Fitted:
        return fitted.remade(settle(graph, fitted.calibration, fitted.samples, fitted.count, progress, by))

    return [partial(make, by) for by in (middle_mean, mean)]


def settle(graph: Graph, calibration: Calibration, samples: Samples, count: int, progress: Progress | None, by: Mean) -> Calibration:
    """The same by one of these."""
    exact, (stored, selected) = exact_twin(graph, calibration), stored_twin(graph, calibration)
    layers = selected.matrices
    weights = {layer.node.outputs[0]: _with_bias(stored, layer, calibration) for layer in layers}
    quantized = stored.copy()
    selection = select_even(quantized, calibration.factors, calibration.exclude, calibration.codes_out, calibration.shaped)
    nodes = {layer.node.outputs[0]: layer.node for layer in selection.matrices}
    made = rebuild(stored, layers, calibration.parameters, weights)
    insert_quantization(quantized, selection, calibration.parameters, made)
    most = max(1, min(count, MOST, ALIVE // max(live_bytes(exact)[0], 1)))
    few = list(islice(samples(), 0, most * (count // most), count // most))
    before, after = Walk(exact, few), Walk(quantized, few)
    for number, layer in enumerate(layers):
        started, output = time.monotonic(), layer.node.outputs[0]
        if takes_bias(stored, layer):
            node, old = nodes[output], weights[output]
            given = zip(before(layer.operands[0]), after(node.inputs[0]), strict=True)
            assert old.shift is not None
            gained = lost(stored, layer, made[output], given, by).reshape(old.shift.shape)
            weights[output] = replace(old, shift=(old.shift + gained).astype(np.float32))
            dequantize = quantized.producer(node.inputs[2])
            new = with_bias(stored, layer, calibration.parameters, weights[output], made[output].values)
            assert dequantize is not None and new.bias is not None
            quantized.constants[dequantize.inputs[0]] = new.bias
        check_time(f"the bias of {layer.node.name} ({layer.node.op})", started)
        if progress:
            progress("bias correction by propagated error", number + 1, len(layers))
    return replace(calibration, weights=weights)


def _with_bias(graph: Graph, layer: Layer, calibration: Calibration) -> LayerWeights:
    known = calibration.weights[layer.node.outputs[0]]
    if known.shift is not None or not takes_bias(graph, layer):
        return known
    channels = graph.types[layer.node.outputs[0]].static_shape[1]
    return replace(known, shift=np.zeros(channels, np.float32))


def lost(graph: Graph, layer: Layer, made: Weights, given: Iterable[tuple[np.ndarray, np.ndarray]], by: Mean) -> np.ndarray:
    """Per channel what the layer's result lacks. given: what it reads of each sample, in float and quantized."""
    node, weights = layer.node, graph.constants[layer.node.inputs[1]]
    assert made.bias is not None and made.bias_scales is not None
    scales = made.scales.astype(np.float64).reshape([-1 if place == made.axis else 1 for place in range(weights.ndim)])
    exact, stored = (matrix_rows(array, node).transpose(0, 2, 1) for array in (weights, made.values * scales))
    own = bias_of(graph, layer)
    biases = 0.0 if own is None else own, made.bias * made.bias_scales.astype(np.float64)
    results = [
        tuple(
            (patches(graph, node, one) @ rows).transpose(1, 0, 2).reshape(-1, made.bias.size) + bias
            for one, rows, bias in zip(pair, (exact, stored), biases, strict=True)
        )
        for pair in given
    ]
    wanted, got = (np.concatenate(parts) for parts in zip(*results, strict=True))
    errors = wanted - got
    bounds = activation_bounds(graph, layer.activation) if layer.activation is not None else None
    # above a bound an error counts: equalized channels have one each, and 8 bits know the least of them
    seen = wanted > (-np.inf if bounds is None else bounds[0])
    return np.asarray(by(np.where(seen, errors, 0.0)) / np.maximum(seen.mean(axis=0), FEWEST))


def mean(errors: np.ndarray) -> np.ndarray:
    """Of each column [positions, columns]."""
    return np.asarray(errors.mean(axis=0))


def middle_mean(errors: np.ndarray) -> np.ndarray:
    """Of each column [positions, columns] the mean between its quartiles; between those of two positions lies none of them."""
    low, high = np.quantile(errors, [TAILS, 1 - TAILS], axis=0)
    inside = (errors >= low) & (errors <= high)
    inside |= ~inside.any(axis=0)
    return np.asarray((errors * inside).sum(axis=0) / inside.sum(axis=0))
