"""A network with long runs is not run as often: fewer samples search, and the ranges are still those of all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from edgec.quant import QuantizeOptions, quantize
from edgec.quant.given.options import Sample
from edgec.quant.runs import thin
from edgec.quant.runs.float_run import Probe
from tests.quant.small import net, samples

COUNT = 40


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One for each run of a network."""
    found, run = list[int](), Probe.each

    def counted(probe: Probe, sample: Sample) -> Iterator[tuple[str, np.ndarray]]:
        found.append(1)
        return run(probe, sample)

    monkeypatch.setattr(Probe, "each", counted)
    return found


def test_long_runs_are_fewer(monkeypatch: pytest.MonkeyPatch, runs: list[int]) -> None:
    graph = net("resnet")
    given = list(samples(graph, COUNT)())
    given[1] = {name: array * 50 for name, array in given[1].items()}  # no sample that searches
    whole = quantize(graph, lambda: iter(given), QuantizeOptions(rescue=False))
    often = len(runs)
    runs.clear()
    monkeypatch.setattr(thin, "MOST", 1)
    found = quantize(graph, lambda: iter(given), QuantizeOptions(observer="minmax", rescue=False))
    assert len(runs) < 0.65 * often
    note = f"a run is long: {thin.FEWEST} of {COUNT} samples decide all but the ranges; effort high takes all"
    assert note in found.report.notes and note not in whole.report.notes
    value = found.calibration["parameters"][graph.inputs[0]]
    assert value["scale"] * 255 > 40 * np.abs(given[0][graph.inputs[0]]).max(), "as far as that sample goes"


@pytest.mark.parametrize(("count", "most", "effort", "wanted"), [(40, 1, "high", 40), (8, 1, "normal", 8), (40, 1 << 60, "normal", 40)])
def test_as_many_as_are_paid_for(monkeypatch: pytest.MonkeyPatch, count: int, most: int, effort: str, wanted: int) -> None:
    monkeypatch.setattr(thin, "MOST", most)
    assert thin.enough(net("resnet"), count, QuantizeOptions(effort=effort)) == wanted
