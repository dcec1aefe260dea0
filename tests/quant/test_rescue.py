"""A cheap layer that ruins the answers leaves int8 by itself; nothing else does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from edgec.ir.graph import Graph
from edgec.quant import Goal, QuantizeOptions, apply_calibration, quantize
from edgec.quant.decisions.apply import apply
from edgec.quant.decisions.calibration_file import read_calibration
from edgec.quant.decisions.twins import twins_of
from edgec.quant.findings.diagnose import examine
from edgec.quant.floats.forecast import Forecast
from edgec.quant.floats.ranking import Names
from edgec.quant.floats.rescue import MOST, PRICES, Rescue, grown
from edgec.quant.given.goal import Accuracy, Kept
from edgec.records.diagnosis import LOW_SQNR
from tests.quant import test_goal
from tests.quant.small import Small, content, net, samples, sqnr
from tests.quant.test_goal import chain

CHEAP, DEAR = PRICES


def decibels() -> Graph:
    """The logarithm of a power, as of a spectrum's, between convolutions: 8 bits of the power leave nothing of what is small.

    Another function would take long in float.
    """
    small = Small((1, 8, 12, 12))
    value = small.conv("x", 4)
    square = small.node("Mul", value, value)
    power = small.node("Add", small.node("Mul", square, square), small.constant(np.float32(0.004)))
    value = small.node("Log", power)
    small.graph.nodes[-2].name, small.graph.nodes[-1].name = "power", "logarithm"
    return small.done(small.conv(small.node("Sigmoid", small.conv(value, 96)), 16))


def spread(graph: Graph) -> Callable[[], Iterator[dict[str, np.ndarray]]]:
    """Of which most are quiet beside the loudest."""
    return lambda: (
        {name: array * np.float32(2.0 ** -(place % 7)) for name, array in sample.items()}
        for place, sample in enumerate(samples(graph, 32)())
    )


def test_a_logarithm_that_ruins_the_answers_stays_in_float() -> None:
    graph = decibels()
    alone, found = (quantize(graph, spread(graph), QuantizeOptions(rescue=rescued)) for rescued in (False, True))
    before, after = (sqnr(graph, one.graph, others=spread(graph)) for one in (alone, found))
    assert before < LOW_SQNR and after > before + CHEAP[1]
    reasons = found.report.kept_in_float
    assert re.fullmatch(r"kept for the outputs: [\d.]+ dB with it in int8", reasons["power"])
    assert reasons["logarithm"] == "an activation of a layer that is kept for the outputs" and len(reasons) == 2
    assert [note for note in found.report.notes if "--min-sqnr 0" in note and note.startswith("power stays in float32: ")]
    assert content(apply_calibration(graph, found.calibration)) == content(found.graph)


@pytest.mark.parametrize("options", [QuantizeOptions(goal=Goal(min_sqnr=0)), QuantizeOptions(effort="fast")], ids=["goal", "fast"])
def test_whoever_asks_for_all_in_int8_or_for_speed_gets_it(options: QuantizeOptions) -> None:
    graph = decibels()
    found = quantize(graph, spread(graph), options)
    assert "power" not in found.report.kept_in_float
    assert content(found.graph) == content(quantize(graph, spread(graph), replace(options, goal=None, rescue=False)).graph)


def test_what_would_cost_time_stays_in_int8() -> None:
    """Half of the products are to blame: only a goal keeps them."""
    graph = chain()
    assert sqnr(graph, quantize(graph, samples(graph, 16)).graph) < LOW_SQNR
    found, alone = (quantize(graph, samples(graph, 16), QuantizeOptions(rescue=rescued)) for rescued in (True, False))
    assert content(found.graph) == content(alone.graph)


def test_more_time_is_spent_where_nothing_cheap_helps_and_it_gains_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """One convolution of nine is to blame for answers that are nothing like the model's."""
    monkeypatch.setattr(test_goal, "DEPTH", 9)
    graph = chain((4,))
    alone, found = (quantize(graph, samples(graph, 16), QuantizeOptions(rescue=rescued)) for rescued in (False, True))
    before, after = (sqnr(graph, one.graph) for one in (alone, found))
    assert before < LOW_SQNR and after > before + DEAR[1]
    (note,) = [note for note in found.report.notes if note.startswith("layer4 stays in float32: ")]
    dearer = float(re.search(r" for ([\d.]+)% more time", note).group(1)) / 100 + 1  # type: ignore[union-attr]
    assert CHEAP[0] < dearer < DEAR[0]


def test_answers_count_as_well_as_what_their_last_function_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a Sigmoid that seldom fires reads is good enough by itself, since it is far from 0."""
    monkeypatch.setattr(test_goal, "DEPTH", 9)
    graph = chain((4,), seldom=10)
    alone, found = (quantize(graph, samples(graph, 16), QuantizeOptions(rescue=rescued)) for rescued in (False, True))
    assert sqnr(graph, found.graph) > sqnr(graph, alone.graph) + DEAR[1]
    assert found.report.kept_in_float["layer4"].startswith("kept for the outputs: ")


def test_good_answers_stay_as_they_are() -> None:
    graph = net("resnet")
    assert content(quantize(graph, samples(graph, 16)).graph) == content(
        quantize(graph, samples(graph, 16), QuantizeOptions(rescue=False)).graph
    )


def test_what_gains_most_by_itself_comes_first_whatever_was_foretold() -> None:
    """And only what is cheap is tried: the last of those that are foretold to gain anything may be what does."""
    graph = decibels()
    calibration = read_calibration(quantize(graph, spread(graph), QuantizeOptions(rescue=False)).calibration, graph)
    twins = twins_of(graph, apply(graph, calibration), calibration)
    forecast, whole, asked = Forecast(twins, examine(twins, spread(graph))), {}, list[Names]()

    def tries(kept: Names) -> Accuracy:
        asked.extend([kept] if kept else [])
        return Accuracy(whole.setdefault(kept, 5.0 + len(whole)))

    sets = grown(forecast, tries, CHEAP[0])  # type: ignore[arg-type]
    assert len(asked) >= 3 and all(forecast.latency(kept) <= CHEAP[0] * forecast.latency(()) for kept in [*asked, *sets])
    assert sets[0] == asked[-1] and asked[0] != asked[-1]
    assert all(one < other for one, other in pairwise(sets)) and len(sets[-1]) <= MOST
    assert [forecast.gone(kept) for kept in asked] == sorted((forecast.gone(kept) for kept in asked), reverse=True)


def test_a_remark_names_a_few_of_many() -> None:
    kept = [Kept(f"layer{place}", "Conv", 0.1, 9.0, None, 0.0, 0.0, 0, "int16" if place == 1 else "float32") for place in range(5)]
    found = Rescue(Accuracy(5.0), Accuracy(21.0), tuple(kept), 1.04)
    assert found.remark == (
        "layer0 stays in float32, layer1 reads 16 bits, layer2 stays in float32, 2 more layers likewise: 21.0 dB instead of 5.0 for 4.0% "
        "more time, as estimated; --min-sqnr 0 leaves them in int8"
    )
