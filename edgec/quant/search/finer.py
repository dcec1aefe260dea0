"""Rounding that tries several scales for each row of weights, and goes over its numbers again.

The steps choose a scale by the weights alone, and round column by column without looking back. Here a row's scale is the one whose rounded
row comes nearest to the float one's results, and then each number moves where that brings the row nearer still, all others as they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from edgec.base.budget import check_time
from edgec.ir.graph import Graph
from edgec.quant.codes.rounding import Moments, damped, mean_shift, nearest_planes
from edgec.quant.codes.weights import layer_axis, peak_scales, rows_of
from edgec.quant.decisions.calibration import LayerWeights
from edgec.quant.decisions.layers import gather_moments, layer_scales, takes_bias
from edgec.quant.decisions.sharers import sharers_of, together
from edgec.quant.decisions.twins import stored_twin
from edgec.quant.fits.fitted import Fitted
from edgec.quant.given.options import Progress, QuantizeOptions
from edgec.quant.ranges.parameters import Parameters
from edgec.quant.scope.coverage import Layer
from edgec.quant.scope.patches import grouped_rows, ungrouped

WIDTHS = (1.0, 0.93, 0.86, 0.8)  # of the scale that just holds a row
SWEEPS = 3
LEAST_PART = 1e-6  # of what a row gives: about what is lost by 8 bits


def finely_rounded(graph: Graph, fitted: Fitted, progress: Progress | None) -> list[Callable[[], Fitted]]:
    """The one way of it."""
    return [partial(round_finely, graph, fitted, progress)]


def round_finely(graph: Graph, fitted: Fitted, progress: Progress | None) -> Fitted:
    """The calibration with other scales, weights and biases of all layers whose inputs say anything."""
    calibration = fitted.calibration
    stored, selection = stored_twin(graph, calibration)
    layers, weights = selection.matrices, dict(calibration.weights)
    options = QuantizeOptions(progress=progress)
    moments = gather_moments(stored, layers, calibration.parameters, fitted.samples, options, fitted.count)
    groups = together(sharers_of(layers))
    for number, group in enumerate(groups):
        started, node = time.monotonic(), group[0].node
        known = moments.pop(node.outputs[0], None)
        if known is not None and known.count:
            olds = [weights[layer.node.outputs[0]] for layer in group]
            made = finest(stored, group, calibration.parameters, olds, known)
            weights |= {layer.node.outputs[0]: one for layer, one in zip(group, made, strict=True)}
        check_time(f"{node.name} ({node.op})", started)
        if progress:
            progress("finer rounding", number + 1, len(groups))
    return fitted.remade(replace(calibration, weights=weights))


def finest(
    graph: Graph, group: Sequence[Layer], parameters: Mapping[str, Parameters], olds: Sequence[LayerWeights], moments: Moments
) -> list[LayerWeights]:
    """Of the scales that were there and these widths, for each row the one that loses least; of each of the layers that share weights."""
    layer, old = group[0], olds[0]
    exact, form = grouped_rows(graph, layer.node), damped(moments)
    upper = np.linalg.cholesky(form[:, ::-1, ::-1])[:, ::-1, ::-1]
    peaks = peak_scales(rows_of(graph.constants[layer.node.inputs[1]], layer_axis(layer)))
    whole = LEAST_PART * np.maximum(np.einsum("gnk,gnk->gn", exact @ form, exact), 1e-300)
    best, codes, least = old.scales, np.zeros_like(exact), np.full(exact.shape[:2], np.inf)
    for rows in (old.scales, *((peaks * width).astype(np.float32) for width in WIDTHS)):
        scales = layer_scales(graph, group, parameters, rows)
        steps = scales.astype(np.float64).reshape(exact.shape[:2])[:, :, None]
        found = nearest_planes(exact / steps, upper)
        errors = exact - found * steps
        # rounded, so that the order in which a processor adds does not decide between two scales
        lost = np.round(np.einsum("gnk,gnk->gn", errors @ form, errors) / whole, 9)
        nearer = lost < least
        best = np.where(nearer.reshape(-1), scales, best).astype(np.float32)
        codes, least = np.where(nearer[:, :, None], found, codes), np.where(nearer, lost, least)
    grouped = best.astype(np.float64).reshape(exact.shape[:2])
    codes = moved(exact / grouped[:, :, None], codes, form)
    nearest = np.clip(np.rint(exact / grouped[:, :, None]), -127, 127)
    changes = ungrouped(np.clip(codes - nearest, -127, 127).astype(np.int8), graph, layer.node)
    if not takes_bias(graph, layer):
        return [LayerWeights(best, changes, one.shift) for one in olds]
    shifts = [mean_shift(exact, codes, grouped, means.exact, means.fed) for means in moments.means]
    return [LayerWeights(best, changes, shift.astype(np.float32).ravel()) for shift in shifts]


def moved(exact: np.ndarray, codes: np.ndarray, form: np.ndarray) -> np.ndarray:
    """The integers, each moved to where (exact - codes) form (exact - codes)^T is least, all others as they are.

    form: [groups, terms, terms].
    """
    codes = codes.copy()
    slopes = (exact - codes) @ form
    curves = np.einsum("gkk->gk", form)
    for _ in range(SWEEPS):
        still = True
        for term in range(codes.shape[2]):
            wanted = np.clip(np.rint(codes[:, :, term] + slopes[:, :, term] / curves[:, term, None]), -127, 127)
            steps = wanted - codes[:, :, term]
            groups, rows = np.nonzero(steps)
            if len(groups):
                still = False
                codes[groups, rows, term] = wanted[groups, rows]
                slopes[groups, rows] -= steps[groups, rows, None] * form[groups, term]
        if still:
            break
    return codes
