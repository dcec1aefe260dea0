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
from edgec.quant.selection import Selection, select
from edgec.quant.statistics import measure_extents, measure_histograms

STRENGTH = 0.5  # of equalization: half the unevenness stays in the activations, half goes to the weights


def calibrate(graph: Graph, selection: Selection, samples: Samples, options: QuantizeOptions) -> Calibration:
    """Decide everything that `apply_calibration` needs, in three passes over the samples."""
    extents, count = measure_extents(graph, selection.values, channel_values(graph), samples, options.progress)
    factors: dict[str, np.ndarray] = {}
    if options.equalize:
        # The mean over samples of each sample's largest magnitude: one outlier does not decide.
        widths = {value: np.round(extent.magnitude / count, 9) for value, extent in extents.items()}
        factors = choose_factors(graph, selection, widths, STRENGTH)
    equalized = graph.copy()
    apply_factors(equalized, factors)
    selection = select(equalized, options.exclude)
    ends = {value: extents[value].ends(factors.get(value)) for value in selection.values}
    histograms = measure_histograms(equalized, ends, samples, count, options.progress)
    parameters = choose_parameters(equalized, selection, histograms, lambda histogram: CHOOSE[options.observer](histogram, options))
    needed = options.round_weights or options.correct_bias
    moments = gather_moments(equalized, selection.matrices, parameters, samples, options, count) if needed else {}
    weights = {}
    for step, layer in enumerate(selection.matrices):
        output = layer.node.outputs[0]
        weights[output] = decide(equalized, layer, parameters, moments.pop(output, None), options)
        if options.progress:
            options.progress("rounding", step + 1, len(selection.matrices))
    return Calibration(count, options.observer, options.exclude, factors, parameters, weights)
