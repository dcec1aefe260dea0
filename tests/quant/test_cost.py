"""What layers cost: by the target's instructions, or as a bench has measured them; and what a goal keeps for that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from edgec.ir.graph import Graph
from edgec.quant import quantize
from edgec.quant.decisions.calibration import Calibration
from edgec.quant.decisions.twins import Twins
from edgec.quant.floats.forecast import Forecast
from edgec.quant.scope.cost import RATES, USUAL, Costs, Times, timed
from edgec.quant.scope.coverage import select
from edgec.records.diagnosis import Diagnosis
from edgec.targets import load_target
from tests.quant.small import samples
from tests.quant.test_goal import PLAIN, chain
from tests.quant.test_widen import GOAL, outlying


def forecast(graph: Graph, costs: Costs | None = None) -> Forecast:
    twins = Twins(graph, graph, graph, select(graph), Calibration("", 0, "mse"))
    return Forecast(twins, Diagnosis(0, "mse", {}, {}, (), (), (), {}), costs)


def profile(**us: float) -> Mapping[str, Times]:
    calls: Times = [((f"layer{place}", f"Relu{place}"), us.get(f"layer{place}", 10.0)) for place in range(6)]
    return {"int8": calls, "float32": [(nodes, 3 * time) for nodes, time in calls]}


@pytest.mark.parametrize("vocabulary, kept", [("avx512vnni", "int16"), ("avx2", "float32")])
def test_16_bits_are_taken_where_the_processor_gains_by_them(vocabulary: str, kept: str) -> None:
    graph = outlying()
    done = quantize(graph, samples(graph), replace(PLAIN, goal=GOAL, costs=Costs.of_target(["sse41", vocabulary])))
    assert done.report.goal is not None and [layer["type"] for layer in done.report.goal["kept"]] == [kept]


def test_a_target_is_told_by_its_best_instructions() -> None:
    assert Costs.of_target(load_target("x86-64").vocabularies).rates is RATES["avx512vnni"]
    assert Costs.of_target(load_target("portable").vocabularies).rates is USUAL
    assert RATES["avx2"].int16 == RATES["avx2"].float32 and RATES["avx512vnni"].int16 < RATES["avx512vnni"].float32


def test_measured_times_take_the_place_of_estimated_ones() -> None:
    graph = chain()
    plain, measured = forecast(graph), forecast(graph, Costs(measured=profile(layer1=400.0)))
    whole = plain.latency(())
    assert measured.latency(()) == pytest.approx(whole)
    share = (measured.latency(["layer1"]) - whole) / (measured.latency(["layer3"]) - whole)
    assert share > 5 > 2 > (plain.latency(["layer1"]) - whole) / (plain.latency(["layer3"]) - whole)


def test_a_profile_without_floats_leaves_their_times_estimated() -> None:
    graph = chain()
    plain, measured = (forecast(graph, Costs(measured=found)) for found in (None, {"int8": profile()["int8"]}))
    names = [layer.node.name for layer in plain.layers]
    assert measured.latency(names) == pytest.approx(plain.latency(names))


def test_a_call_of_several_layers_is_shared_out() -> None:
    found = timed({"a": 30.0, "b": 10.0, "c": 0.0}, [(("a", "b", "else"), 8.0), (("b",), 1.0), (("else",), 5.0), (("c",), 2.0)])
    assert found == {"a": 6.0, "b": 3.0, "c": 0.0}
