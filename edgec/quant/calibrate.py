"""From samples to decisions: equalize, observe, choose parameters, round weights."""

from __future__ import annotations

import numpy as np

from edgec.ir.graph import Graph
from edgec.quant.calibration import Calibration
from edgec.quant.equalize import apply_factors, channel_values, choose_factors
from edgec.quant.layers import decide, gather_moments
from edgec.quant.observers import CHOOSE
from edgec.quant.options import QuantizeOptions, Samples
from edgec.quant.parameters import choose_parameters
from edgec.quant.run import Probe, watched
from edgec.quant.selection import Selection, select
from edgec.quant.statistics import observe

STRENGTH = 0.5  # of equalization: half the unevenness stays in the activations, half goes to the weights


def calibrate(graph: Graph, selection: Selection, samples: Samples, options: QuantizeOptions) -> Calibration:
    """Decide everything that `apply_calibration` needs."""
    factors = choose_factors(graph, selection, channel_ranges(graph, selection, samples, options), STRENGTH) if options.equalize else {}
    equalized = graph.copy()
    apply_factors(equalized, factors)
    selection = select(equalized, options.exclude)
    histograms, count = observe(equalized, selection.values, samples, options.progress)
    parameters = choose_parameters(equalized, selection, histograms, lambda histogram: CHOOSE[options.observer](histogram, options))
    needed = options.round_weights or options.correct_bias
    moments = gather_moments(equalized, selection.matrices, parameters, samples, options, count) if needed else {}
    weights = {}
    for layer in selection.matrices:
        output = layer.node.outputs[0]
        weights[output] = decide(equalized, layer, parameters, moments.pop(output, None), options)
    return Calibration(count, options.observer, options.exclude, factors, parameters, weights)


def channel_ranges(graph: Graph, selection: Selection, samples: Samples, options: QuantizeOptions) -> dict[str, np.ndarray]:
    """Per value and channel the largest magnitude in a sample, averaged over the samples: one outlier does not decide."""
    shaped = channel_values(graph)
    values = [value for value in selection.values if value in shaped]
    probe = Probe(graph, values)
    sums = {value: np.zeros(shaped[value]) for value in values}
    count = 0
    for sample in watched(samples, "channels", options.progress, 0):
        count += 1
        for value, array in probe(sample).items():
            axes = tuple(axis for axis in range(array.ndim) if axis != 1)
            sums[value] += np.maximum(array.max(axis=axes), -array.min(axis=axes))
    return {value: np.round(total / max(count, 1), 12) for value, total in sums.items()}
