"""Rounding with several scales for each row, and gone over again."""

from __future__ import annotations

import numpy as np

from edgec.quant import QuantizeOptions, quantize
from edgec.quant.codes.rounding import damped
from edgec.quant.decisions.calibration_file import read_calibration
from edgec.quant.decisions.layers import gather_moments, rebuild
from edgec.quant.decisions.twins import stored_twin
from edgec.quant.fits.fitted import Fitted
from edgec.quant.scope.patches import matrix_rows
from edgec.quant.search.finer import moved, round_finely
from tests.quant.small import Small, samples


def test_numbers_move_to_where_the_loss_is_least_and_stay_in_8_bits() -> None:
    rng = np.random.default_rng(0)
    root = rng.standard_normal((2, 12, 12))
    form = root @ root.transpose(0, 2, 1)
    exact = rng.uniform(-140, 140, (2, 5, 12))
    codes = np.clip(np.rint(exact), -127, 127)
    found = moved(exact, codes, form)
    lost = [np.einsum("gnk,gkl,gnl->gn", exact - one, form, exact - one) for one in (codes, found)]
    assert (lost[1] <= lost[0]).all() and (lost[1] < lost[0]).any()
    assert np.array_equal(found, np.rint(found)) and np.abs(found).max() <= 127


def test_each_row_loses_less_of_what_it_gives() -> None:
    small = Small((1, 6, 8, 8), seed=2)
    value = small.conv("x", 8)
    graph = small.done(small.conv(small.node("Relu", value), 4))
    opened = samples(graph, 16)
    found = read_calibration(quantize(graph, opened, QuantizeOptions(equalize=False)).calibration, graph)
    finer = round_finely(graph, Fitted(found, opened, 16), None)
    stored, selection = stored_twin(graph, found)
    moments = gather_moments(stored, selection.matrices, found.parameters, opened, QuantizeOptions(), 16)
    for layer in selection.matrices:
        form = damped(moments[layer.node.outputs[0]])
        lost = []
        for calibration in (found, finer.calibration):
            made = rebuild(stored, selection.matrices, calibration.parameters, calibration.weights)[layer.node.outputs[0]]
            rows = (stored.constants[layer.node.inputs[1]] - made.values * made.scales[:, None, None, None]).astype(np.float64)
            errors = matrix_rows(rows, layer.node)
            lost.append(np.einsum("gnk,gkl,gnl->gn", errors, form, errors))
        assert (lost[1] <= lost[0] * 1.001).all() and lost[1].sum() < lost[0].sum()
