"""From samples to decisions: equalize, observe, choose parameters, round weights."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from edgec.budget import check_time
from edgec.ir.graph import Graph
from edgec.ops.evaluate import evaluate
from edgec.ops.registry import Role
from edgec.quant.calibration import Calibration, fingerprint
from edgec.quant.equalize import apply_factors, channel_values, choose_factors
from edgec.quant.layers import decide, gather_moments
from edgec.quant.observers import CHOOSE, Histogram
from edgec.quant.options import QuantizeOptions, Samples
from edgec.quant.parameters import choose_parameters
from edgec.quant.selection import Selection, select
from edgec.quant.sensitivity import sensitivities
from edgec.quant.split import apply_splits, choose_splits
from edgec.quant.statistics import Extent, measure_extents, measure_histograms

SMOOTH = frozenset({"Sigmoid", "Swish", "Tanh", "HardSigmoid", "HardSwish", "Gelu"})  # may also follow the last quantized layer in float
STRENGTH = 0.5  # of equalization: half the unevenness stays in the activations, half goes to the weights


def calibrate(graph: Graph, selection: Selection, samples: Samples, options: QuantizeOptions) -> Calibration:
    """Decide everything that `apply_calibration` needs, in three passes over the samples."""
    extents, count = measure_extents(graph, selection.values, channel_values(graph), samples, options.progress)
    equalized = graph.copy()
    splits: dict[str, list[list[int]]] = {}
    factors: dict[str, np.ndarray] = {}
    if options.equalize:
        splits = choose_splits(graph, widths_of(extents, count), sensitivities(graph))
        extents |= {new: extents[old].of(channels) for new, (old, channels) in apply_splits(equalized, splits).items() if old in extents}
        selection = select(equalized, options.exclude)
        factors = choose_factors(equalized, selection, widths_of(extents, count), STRENGTH)
        apply_factors(equalized, factors)
    selection = select(equalized, options.exclude)
    ends = {value: bounded(equalized, value, extents[value].ends(factors.get(value))) for value in selection.values}
    histograms = measure_histograms(equalized, ends, sensitivities(equalized), samples, count, options.progress)
    see_through_tables(equalized, selection, histograms)
    pixels = [value for value, extent in extents.items() if extent.pixels and value not in selection.produced]
    parameters = choose_parameters(equalized, selection, histograms, lambda histogram: CHOOSE[options.observer](histogram, options), pixels)
    needed = options.round_weights or options.correct_bias
    moments = gather_moments(equalized, selection.matrices, parameters, samples, options, count) if needed else {}
    weights = {}
    for step, layer in enumerate(selection.matrices):
        output, started = layer.node.outputs[0], time.monotonic()
        weights[output] = decide(equalized, layer, parameters, moments.pop(output, None), options)
        check_time(f"{layer.node.name} ({layer.node.op})", started)
        if options.progress:
            options.progress("rounding", step + 1, len(selection.matrices))
    return Calibration(fingerprint(graph), count, options.observer, options.exclude, splits, factors, parameters, weights)


def widths_of(extents: Mapping[str, Extent], count: int) -> dict[str, np.ndarray]:
    """Per channel the mean over samples of each sample's largest magnitude: one outlier does not decide."""
    return {value: np.round(extent.magnitude / count, 9) for value, extent in extents.items()}


def bounded(graph: Graph, value: str, ends: tuple[float, float]) -> tuple[float, float]:
    """The ends, where a Clip computes the value within its bounds."""
    clip = graph.producer(value, "Clip")
    bounds = [graph.constant(clip.input(place)) if clip and clip.input(place) else None for place in (1, 2)]
    low = ends[0] if bounds[0] is None else max(ends[0], float(bounds[0]))
    return low, max(low, ends[1] if bounds[1] is None else min(ends[1], float(bounds[1])))


def see_through_tables(graph: Graph, selection: Selection, histograms: Mapping[str, Histogram]) -> None:
    """Where only one unary function reads a value, its error counts behind the function: what Swish maps to 0 needs no levels."""
    readers = {layer.operands[0]: layer.node for layer in selection.layers if layer.role is Role.TABLE}
    readers |= {
        layer.node.outputs[0]: unary for layer in selection.matrices for unary in graph.readers(layer.node.outputs[0]) if unary.op in SMOOTH
    }
    for value, node in readers.items():
        if value in histograms and graph.reader_count(value) == 1:
            histogram = histograms[value]
            points = histogram.centers.astype(np.float32)
            inputs = [points if name == value else graph.constants[name] if name else None for name in node.inputs]
            seen = evaluate(node, inputs)[0].ravel().astype(np.float64)  # the constant may have any rank
            histogram.seen_as = seen if np.isfinite(seen).all() else None
