"""Codes of 16 bits where a goal needs no more: for values that 8 bits ruin, not for weights that they do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgec.integer import match
from edgec.integer.operators import WideDotProduct
from edgec.ir.graph import Graph
from edgec.ir.verify import verify
from edgec.quant import QuantizeOptions, apply_calibration, quantize
from edgec.quant.decisions.apply import apply
from edgec.quant.decisions.calibration_file import read_calibration
from edgec.quant.decisions.twins import twins_of
from edgec.quant.findings.diagnose import diagnose, examine
from edgec.quant.fits.shaped import with_functions
from edgec.quant.floats.forecast import Forecast
from edgec.quant.floats.ranking import Names
from edgec.quant.floats.widen import most, widened
from edgec.quant.given.goal import Accuracy, Goal
from tests.lower.test_int8 import TARGETS, check
from tests.quant.small import Small, content, samples, sqnr
from tests.quant.test_goal import PLAIN, chain

GOAL, LOUD = Goal(min_sqnr=26), 30


def outlying(function: str = "Relu", **attributes: float) -> Graph:
    """Convolutions one behind the other; a channel of what the third one gives is large, and read with small weights."""
    small = Small((1, 6, 8, 8))
    value = "x"
    for place in range(5):
        value = small.conv(value, 12)
        node = small.graph.nodes[-1]
        node.name = f"layer{place}"
        weights, bias = (small.graph.constants[name].copy() for name in node.inputs[1:])
        if place == 2:
            weights[5], bias[5] = weights[5] * LOUD, bias[5] * LOUD
        weights[:, 5] /= LOUD if place == 3 else 1
        node.inputs[1:] = [small.graph.add_constant("spoilt", array) for array in (weights, bias)]
        small.graph.touched()
        value = small.node(function, value, **attributes)
    return small.done(value)


def test_a_value_that_8_bits_ruin_gets_16() -> None:
    graph = outlying()
    assert sqnr(graph, quantize(graph, samples(graph), PLAIN).graph) < 24
    done = quantize(graph, samples(graph), replace(PLAIN, goal=GOAL))
    goal = done.report.goal
    assert goal is not None and [(kept["node"], kept["type"]) for kept in goal["kept"]] == [("layer3", "int16")]
    assert goal["after"]["sqnr"] >= 26 > goal["kept"][0]["sqnr"] and goal["kept"][0]["bytes"] == 0
    assert [one["wide"] for one in goal["attempts"] if one["sqnr"] == goal["after"]["sqnr"]] == [1]
    found = match(done.graph).operators
    assert [operator.node.name for operator in found if isinstance(operator, WideDotProduct)] == ["layer2", "layer3"]
    assert "layer3" not in done.report.kept_in_float and done.calibration["exclude"] == []
    check(done.graph, next(iter(samples(graph)())), TARGETS[0])


def test_what_was_decided_is_repeated() -> None:
    graph = outlying()
    done = quantize(graph, samples(graph), replace(PLAIN, goal=GOAL))
    again = apply_calibration(graph, done.calibration)
    verify(again)
    assert content(again) == content(done.graph)
    (row,) = [layer for layer in diagnose(graph, done.calibration, samples(graph)).layers if layer.node == "layer2"]
    assert row.zero_point == 0 and row.high > 4 * row.seen_high / 2 and row.rounding > 60


def test_weights_that_8_bits_ruin_stay_in_float() -> None:
    graph = chain()
    goal = quantize(graph, samples(graph), replace(PLAIN, goal=Goal(min_sqnr=26))).report.goal
    assert goal is not None and {kept["type"] for kept in goal["kept"]} == {"float32"}


def test_a_pair_of_16_bits_spans_four_times_what_8_bits_did() -> None:
    graph = outlying()
    done = quantize(graph, samples(graph), replace(PLAIN, goal=GOAL))
    (value,) = done.calibration["wide"]
    kept = done.calibration["parameters"][value]
    (scale,) = [array for name, array in done.graph.constants.items() if name.startswith(f"{value}_scale")]
    assert scale == np.float32(kept["scale"] / 32) and 2**15 * scale == 4 * 256 * kept["scale"]


def test_options_without_a_goal_know_no_16_bits() -> None:
    graph = outlying()
    assert "wide" not in quantize(graph, samples(graph), QuantizeOptions(effort="fast")).calibration


@pytest.mark.parametrize("count", [0, 1, 2, 7, 40])
def test_the_largest_number_that_holds_is_found(count: int) -> None:
    for limit in range(count + 1):
        asked: list[int] = []
        assert most(count, lambda number, asked=asked, limit=limit: not asked.append(number) and number <= limit) == limit  # type: ignore[misc, func-returns-value]
        assert len(asked) <= 1 + max(1, count).bit_length()


def test_what_reads_a_function_of_sums_reads_8_bits() -> None:
    """A kernel that computes one has no other codes, and behind another one that function would be an island."""
    graph = outlying("Swish", alpha=1.0)
    (third,) = [node.outputs[0] for node in graph.nodes if node.name == "layer2"]
    calibration = with_functions(graph, read_calibration(quantize(graph, samples(graph), PLAIN).calibration, graph), [third])
    twins = twins_of(graph, apply(graph, calibration), calibration)
    forecast, asked = Forecast(twins, examine(twins, samples(graph))), []

    def tries(kept: Names, wide: Names = frozenset()) -> Accuracy:
        asked.append(wide)
        return Accuracy(30.0 if "layer1" in kept | wide else 0.0, None)

    assert widened(frozenset({"layer1", "layer3"}), GOAL, tries, forecast) == ({"layer3"}, {"layer1"})  # type: ignore[arg-type]
    assert asked and not any("layer3" in wide for wide in asked)
