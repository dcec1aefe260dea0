"""Sums and gates between products stay in float where that gains much and costs little; nothing else does."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import cast

import numpy as np
import pytest

from edgec.ir.graph import Graph
from edgec.quant import Goal, QuantizeOptions, apply_calibration, quantize
from edgec.quant.fits.folds import Folds
from edgec.quant.floats.between import DEARER, FAR, FURTHER, LEAST, SETS, Between, choose_between, named
from edgec.quant.floats.durations import Durations
from edgec.quant.floats.ranking import Names
from edgec.quant.network import BETWEEN
from edgec.quant.scope.coverage import select
from edgec.quant.search.decide import searched_between
from edgec.quant.trials.scores import Score
from edgec.quant.trials.steps import JOIN, Choice
from edgec.records.diagnosis import LOW_SQNR
from tests.quant.small import Small, content, samples, score_of, sqnr


def stream(blocks: int = 6, channels: int = 96) -> Graph:
    """Little is added to a stream again and again, and something takes the whole of it away in the end."""
    small = Small((1, 8, 4, 4))
    begin = value = small.conv("x", channels)
    for _ in range(blocks):
        added = small.node("Mul", small.conv(small.node("Relu", small.conv(value, channels)), channels), small.constant(np.float32(0.05)))
        value = small.node("Add", value, added)
    return small.done(small.conv(small.node("Sub", value, begin), 4))


def cell(width: int = 512) -> Graph:
    """A gated recurrent cell written out, of six steps."""
    small = Small((1, width))

    def gemm(value: str) -> str:
        weights = small.rng.standard_normal((width, width)) * (2 / width) ** 0.5
        return small.node("MatMul", value, small.constant(weights.astype(np.float32)))

    value = "x"
    for _ in range(6):
        gate, new = small.node("Sigmoid", gemm(value)), small.node("Tanh", gemm(value))
        value = small.node("Add", small.node("Mul", gate, new), small.node("Mul", value, small.constant(np.float32(0.9))))
    return small.done(gemm(value))


def durations_of(graph: Graph) -> Durations:
    return Durations(graph, select(graph).layers, ())


@pytest.mark.parametrize("graph", [stream(), cell()], ids=["stream", "cell"])
def test_what_is_added_stays_in_float_where_the_outputs_gain_by_it(graph: Graph) -> None:
    alone, found = (quantize(graph, samples(graph, 16), QuantizeOptions(rescue=rescued)) for rescued in (False, True))
    assert sqnr(graph, found.graph) > sqnr(graph, alone.graph) + LEAST
    kept = [node for node, why in found.report.kept_in_float.items() if why == BETWEEN]
    assert len(kept) >= 3 and {node.op for node in graph.nodes if node.name in kept} <= {"Add", "Sub"}
    assert not [why for why in alone.report.kept_in_float.values() if why == BETWEEN]
    (note,) = [note for note in found.report.notes if "--min-sqnr 0 leaves them in int8" in note]
    assert note.startswith(f"{kept[0]} and {len(kept) - 1} more between products in float32: ")
    assert content(apply_calibration(graph, found.calibration)) == content(found.graph)


@pytest.mark.parametrize("options", [QuantizeOptions(goal=Goal(min_sqnr=0)), QuantizeOptions(effort="fast")], ids=["goal", "fast"])
def test_whoever_asks_for_all_in_int8_or_for_speed_gets_it(options: QuantizeOptions) -> None:
    graph = stream(2)
    found = quantize(graph, samples(graph, 16), options)
    assert BETWEEN not in found.report.kept_in_float.values()


def test_what_would_cost_time_stays_in_int8() -> None:
    """Few products for as many sums."""
    graph = stream(4, 8)
    durations, asked = durations_of(graph), list[Names]()
    assert durations.latency(named(durations, SETS[0])) > DEARER * durations.latency(())
    assert not choose_between(durations, lambda kept: asked.append(kept) or score_of(np.full(4, 1e-3 ** (1 + len(asked))))).nodes
    assert asked == [Names()]


def test_more_time_is_spent_where_all_steps_leave_the_outputs_poor() -> None:
    graph = stream(6, 24)
    alone, found = (quantize(graph, samples(graph, 16), QuantizeOptions(rescue=rescued)) for rescued in (False, True))
    assert sqnr(graph, alone.graph) < LOW_SQNR and sqnr(graph, found.graph) > sqnr(graph, alone.graph) + FAR
    assert [why for why in found.report.kept_in_float.values() if why == BETWEEN] and BETWEEN not in alone.report.kept_in_float.values()


@pytest.mark.parametrize("gain, taken", [(9, False), (12, True)])
def test_what_takes_longer_must_gain_much(gain: float, taken: bool) -> None:
    durations = durations_of(stream(6, 24))
    assert DEARER < durations.latency(named(durations, SETS[0])) / durations.latency(()) < FURTHER
    found = choose_between(durations, lambda kept: score_of(np.full(4, 10 ** -((12 + gain * bool(kept)) / 10))), FURTHER)
    assert bool(found.nodes) is taken


@pytest.mark.parametrize("before, gain, taken", [(26, 2.8, False), (26, 3.5, True), (12, 0.9, False), (12, 1.5, True)])
def test_little_gained_is_worth_it_where_the_outputs_are_poor(before: float, gain: float, taken: bool) -> None:
    durations = durations_of(stream())
    found = choose_between(durations, lambda kept: score_of(np.full(4, 10 ** -((before + gain * bool(kept)) / 10))))
    assert bool(found.nodes) is bool(found.remarks) is taken
    before, after = (score_of(np.full(4, 10 ** -(ratio / 10))) for ratio in (before, before + gain))
    assert replace(found, longer=0.0, nodes=("sum",)).judged(before, after).nodes == (("sum",) if taken else ())


@pytest.mark.parametrize("gain, promises", [(1.4, False), (1.6, True)])
def test_steps_are_searched_again_where_floats_promise_half_of_what_is_due(gain: float, promises: bool) -> None:
    """26 dB without them, so 3 dB are due; what else is decided anew gains more."""
    before, after = (score_of(np.full(4, 10 ** -(ratio / 10))) for ratio in (26, 26 + gain))
    assert Between(("sum",)).promises(before, after) is promises


class Told:
    """Folds that have these scores in dB: of a choice that joins, of any other, and of any other with floats."""

    def __init__(self, joined: float, apart: float, floats: float) -> None:
        self._joined, self._apart, self._floats, self.first = joined, apart, floats, self

    def score(self, choice: Choice, floats: Collection[str] = ()) -> Score:
        ratio = self._joined if choice.get(JOIN) else self._floats if floats else self._apart
        return score_of(np.full(4, 10 ** -(ratio / 10)))

    def candidates(self, step: str, choice: Choice) -> list[str]:
        return []

    def due(self, step: str, choice: Choice) -> float:
        return 0.0


@pytest.mark.parametrize("joins, floats, taken", [(True, 30.5, False), (True, 31.5, True), (False, 28.0, True), (False, 26.0, False)])
def test_floats_are_asked_of_what_is_joined_apart_and_must_surpass_it(joins: bool, floats: float, taken: bool) -> None:
    """24 dB as two layers in int8, 30 dB as one."""
    choice: Choice = {JOIN: frozenset(("y",))} if joins else {}
    judged, other = (cast(Folds, Told(30.0, apart, 27.0)) for apart in (24.0, floats))
    found = searched_between(Between(("sum",), 0.02), judged, choice, QuantizeOptions(), lambda options: other)
    assert bool(found) is taken and (found is None or found[1].nodes == ("sum",))


def test_what_chance_may_have_gained_is_not_taken() -> None:
    durations, plain, other = durations_of(stream()), np.full(4, 1e-2), np.array([1e-2, 1e-2, 1.2e-2, 1e-5])
    found = score_of(other)
    assert found.ratio > score_of(plain).ratio + LEAST + 0.5 and found.chance(score_of(plain)) > found.ratio - score_of(plain).ratio
    assert not choose_between(durations, lambda kept: found if kept else score_of(plain)).nodes


def test_a_network_of_no_integers_has_nothing_between_them() -> None:
    small = Small((1, 4))
    graph = small.done(small.node("Add", "x", "x"))
    assert not select(graph).layers
    assert choose_between(durations_of(graph), lambda kept: score_of(np.full(4, 1e-2))) == Between()
