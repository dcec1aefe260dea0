"""Goals of accuracy on networks that are hard on purpose: what ruins them stays in float32, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from glob import escape
from itertools import pairwise

import numpy as np
import pytest

from edgec.base.errors import GateError, UsageError
from edgec.frontend import from_proto
from edgec.ir.graph import Graph
from edgec.ir.verify import verify
from edgec.passes import optimize
from edgec.quant import Goal, QuantizeOptions, apply_calibration, quantize
from edgec.quant.decisions.calibration import Calibration
from edgec.quant.decisions.twins import Twins
from edgec.quant.findings.diagnose import diagnose
from edgec.quant.floats.forecast import Forecast
from edgec.quant.floats.reach import first
from edgec.quant.runs.float_run import Probe
from edgec.quant.scope.coverage import select
from edgec.records.diagnosis import Diagnosis
from tests.attention import vit
from tests.nets import MODELS
from tests.quant.small import Small, content, samples, sqnr
from tests.quant.test_exact_rewrites import bounded_net, split_net
from tests.quant.test_functions import shaped_thrice

DEPTH, LOUD = 6, (2, 4)
PLAIN = QuantizeOptions("minmax", equalize=False, round_weights=False, correct_bias=False, shape_sums=False)


def chain(loud: tuple[int, ...] = LOUD, classes: int = 0, seldom: float = 0) -> Graph:
    """Convolutions, of which those at `loud` have enormous weights for an input that is always 0: so the others become coarse.

    classes: of which a Softmax tells the probabilities; seldom: a Sigmoid does, of what is as much less.
    """
    small = Small((1, 6, 8, 8))
    value = "x"
    for place in range(DEPTH):
        value = small.conv(value, 12)
        node = small.graph.nodes[-1]
        node.name = f"layer{place}"
        weights, bias = (small.graph.constants[name].copy() for name in node.inputs[1:])
        weights[0], bias[0] = (0, 0) if place + 1 in loud else (weights[0], bias[0])
        weights[:, 0] = 150 if place in loud else weights[:, 0]
        node.inputs[1:] = [small.graph.add_constant("spoilt", array) for array in (weights, bias)]
        small.graph.touched()
        value = small.node("Relu", value)
    if classes:
        value = small.node("Flatten", small.node("GlobalAveragePool", value), axis=1)
        spread = small.rng.standard_normal((12, classes)).astype(np.float32)
        value = small.node("Softmax", small.node("MatMul", value, small.constant(spread)), axis=-1)
    if seldom:
        value = small.node("Sigmoid", small.node("Add", value, small.constant(np.array([-seldom], np.float32))))
    return small.done(value)


def transformer() -> tuple[Graph, list[str]]:
    """One number between two dense layers of the first block is enormous, and read with a tiny weight; and the names of these layers."""
    graph = from_proto(vit(0)).graph
    optimize(graph)
    up, down = next(
        (one, two) for one, two in pairwise(node for node in graph.nodes if node.op == "Gemm") if two.inputs[0].startswith("Mul")
    )
    for name, index, factor in ((up.inputs[1], (5,), 2000.0), (down.inputs[1], (slice(None), 5), 1 / 2000)):
        graph.constants[name] = graph.constants[name].copy()
        graph.constants[name][index] *= factor
    return graph, [up.name, down.name]


@pytest.mark.parametrize("options", [PLAIN, QuantizeOptions()], ids=["plain", "default"])
def test_the_layers_that_ruin_it_are_kept(options: QuantizeOptions) -> None:
    graph = chain()
    without = quantize(graph, samples(graph), options)
    assert min(without.report.outputs.values()) < 20
    done = quantize(graph, samples(graph), replace(options, goal=Goal(min_sqnr=26)))
    goal = done.report.goal
    assert goal is not None and [kept["node"] for kept in goal["kept"]] == [f"layer{place}" for place in LOUD]
    assert goal["before"]["sqnr"] < 20 and goal["after"]["sqnr"] >= 26 and sqnr(graph, done.graph) > 25
    assert all(kept["sqnr"] < 26 and kept["bytes"] == 12 * 12 * 9 * 3 and 0.1 < kept["macs"] < 0.3 for kept in goal["kept"])
    assert sum(kept["error"] for kept in goal["kept"]) > 0.9 and len(goal["attempts"]) < 12
    assert done.report.kept_in_float["layer2"].startswith("kept for the goal: ") and "activation" in done.report.kept_in_float["Relu5"]
    again = apply_calibration(graph, done.calibration)
    verify(again)
    assert content(again) == content(done.graph)
    assert diagnose(graph, done.calibration, samples(graph)).kept_in_float.keys() == done.report.kept_in_float.keys()


def test_two_dense_layers_with_an_enormous_number_between_them() -> None:
    """Where the second reads it in float, the product of the first ends in float: nothing stores it."""
    graph, names = transformer()
    options = QuantizeOptions("minmax", round_weights=False)
    assert sqnr(graph, quantize(graph, samples(graph), options).graph) < 15
    done = quantize(graph, samples(graph), replace(options, goal=Goal(min_sqnr=24)))
    assert done.report.goal is not None and [kept["node"] for kept in done.report.goal["kept"]] == names[1:]
    assert sqnr(graph, done.graph) > 22


def test_a_transformer_whose_classes_all_change_keeps_the_two_layers_that_do_it() -> None:
    """One answer in three hundred may change, on samples that nothing was fitted to and on others: nothing else leaves int8 for that."""
    graph, names = transformer()
    done = quantize(graph, samples(graph, 300), replace(PLAIN, goal=Goal(max_drop=0.003)))
    goal = done.report.goal
    assert goal is not None and goal["before"]["drop"] > 0.8 and goal["after"]["drop"] <= 0.003 and goal["apart"]
    assert [(kept["node"], kept["type"]) for kept in goal["kept"]] == [(name, "float32") for name in names]
    assert all(kept["drop"] > 0.003 for kept in goal["kept"]) and len(goal["attempts"]) < 12
    both = [Probe(one, graph.outputs) for one in (graph, done.graph)]
    same = [len({int(probe(sample)[graph.outputs[0]].argmax()) for probe in both}) == 1 for sample in samples(graph, 200, 9)()]
    assert np.mean(same) >= 0.98


def test_what_was_decided_stays_decided() -> None:
    """Splits, factors and scales; and each layer that is kept is needed."""
    for graph in (bounded_net(64.0), split_net().graph):
        plain = quantize(graph, samples(graph))
        goal = Goal(min_sqnr=min(plain.report.outputs.values()) + 3)
        done = quantize(graph, samples(graph), QuantizeOptions(goal=goal))
        report = done.report.goal
        assert report is not None and report["kept"] and report["after"]["sqnr"] >= goal.min_sqnr
        assert max(kept["sqnr"] for kept in report["kept"]) < report["goal"]["min_sqnr"]
        assert all(plain.calibration[key] == done.calibration[key] for key in ("factors", "splits"))
        assert done.calibration["factors"] or done.calibration["splits"]
        assert all(plain.calibration["parameters"][value] == kept for value, kept in done.calibration["parameters"].items())
        assert content(apply_calibration(graph, done.calibration)) == content(done.graph)


def test_functions_of_sums_are_kept_in_place_of_layers() -> None:
    """A goal begins with what the same options give without one: its functions, factors and scales."""
    graph, *_ = shaped_thrice("Swish", 64, 20.0)
    plain = quantize(graph, samples(graph))
    goal = Goal(min_sqnr=min(plain.report.outputs.values()) + 2)
    done, tables = (quantize(graph, samples(graph), QuantizeOptions(goal=goal, shape_sums=shape)) for shape in (True, False))
    assert plain.calibration["shaped"] and done.calibration["shaped"] == plain.calibration["shaped"]
    kept = [one.report.goal["kept"] for one in (done, tables) if one.report.goal is not None]
    assert 1 <= len(kept[0]) < len(kept[1]) and done.report.goal is not None and done.report.goal["after"]["sqnr"] >= goal.min_sqnr
    assert sqnr(graph, done.graph, 64) > sqnr(graph, plain.graph, 64)
    again = apply_calibration(graph, done.calibration)
    verify(again)
    assert content(again) == content(done.graph)


def test_a_goal_is_of_what_the_model_answers_too() -> None:
    """A Sigmoid that seldom fires reads large numbers with small errors, which are large ones of what it answers."""
    small = Small((1, 6, 8, 8))
    value = small.conv(small.node("Relu", small.conv("x", 12)), 12)
    graph = small.done(small.node("Sigmoid", small.node("Add", value, small.constant(np.array([-8], np.float32)))))
    plain = quantize(graph, samples(graph), PLAIN).report.outputs
    done = quantize(graph, samples(graph), replace(PLAIN, goal=Goal(min_sqnr=min(plain.values()) + 2)))
    goal = done.report.goal
    assert goal is not None and goal["kept"] and goal["before"]["sqnr"] == min(plain.values())
    assert min(done.report.outputs.values()) >= goal["after"]["sqnr"] >= goal["goal"]["min_sqnr"]


def test_a_goal_that_holds_changes_nothing() -> None:
    graph = chain()
    plain, done = quantize(graph, samples(graph)), quantize(graph, samples(graph), QuantizeOptions(goal=Goal(5.0)))
    assert content(done.graph) == content(plain.graph) and done.calibration == plain.calibration
    assert done.report.goal is not None and done.report.goal["kept"] == () and len(done.report.goal["attempts"]) == 1


def test_classes_that_change() -> None:
    graph = chain(classes=5)
    done = quantize(graph, samples(graph, 60), replace(PLAIN, goal=Goal(max_drop=0.06)))
    goal = done.report.goal
    assert goal is not None and goal["before"]["drop"] > 0.1 and goal["after"]["drop"] <= 0.06 and goal["samples"] == 60
    assert {kept["node"] for kept in goal["kept"]} <= {f"layer{place}" for place in LOUD} and not goal["apart"]


def test_samples_that_nothing_was_fitted_to_judge() -> None:
    graph = chain(classes=5)
    goal = quantize(graph, samples(graph, 80), replace(PLAIN, goal=Goal(min_sqnr=20, max_drop=0.1))).report.goal
    assert goal is not None and goal["samples"] == 20 and goal["apart"]


def test_what_cannot_be_reached_says_what_can() -> None:
    graph = chain()
    with pytest.raises(GateError, match="at least 90 dB") as error:
        quantize(graph, samples(graph), replace(PLAIN, goal=Goal(min_sqnr=90)))
    best, *worst = error.value.problems
    assert "at best " in best.what and "with 5 of 6 layers in float32" in best.what and "--precision fp32" in error.value.hint
    assert {problem.where for problem in worst} >= {"layer2", "layer4"} and all(
        "of the outputs' error" in problem.what for problem in worst
    )
    small = Small((1, 6, 8, 8))
    single = small.done(small.conv("x", 4))
    with pytest.raises(GateError, match="anything left in int8"):
        quantize(single, samples(single), QuantizeOptions(goal=Goal(min_sqnr=80)))


def test_what_has_no_classes_or_no_float_model() -> None:
    graph = chain()
    with pytest.raises(UsageError, match="no scores of classes") as error:
        quantize(graph, samples(graph), QuantizeOptions(goal=Goal(max_drop=0.01)))
    assert "--min-sqnr" in error.value.hint
    quantized = quantize(graph, samples(graph)).graph
    with pytest.raises(UsageError, match="came quantized"):
        quantize(quantized, samples(graph), QuantizeOptions(goal=Goal(min_sqnr=10)))


@pytest.mark.parametrize("count", range(7))
def test_the_first_place_that_holds_is_found_from_any_guess(count: int) -> None:
    for threshold in range(count + 1):
        for guess in range(max(count, 1)):
            asked: list[int] = []
            found = first(count, lambda place, at=threshold, told=asked: (told.append(place), place >= at)[1], guess)
            assert found == (threshold if threshold < count else None) and len(set(asked)) == len(asked) <= count


@pytest.mark.parametrize("family", ["mobilenet", "squeezenet", "yolox", "unet", "resnet", "vit"])
def test_what_a_forecast_says_of_integers_is_what_is_chosen(family: str) -> None:
    """Tries that compute alike are one try, so it must be so."""
    graph = from_proto(vit(0) if family == "vit" else MODELS[family](0)).graph
    optimize(graph)
    whole = select(graph)
    forecast = Forecast(Twins(graph, graph, graph, whole, Calibration("", 0, "mse")), Diagnosis(0, "mse", {}, {}, (), (), (), {}))
    names, rng = [layer.node.name for layer in whole.layers], np.random.default_rng(0)
    for share in (0.0, 0.1, 0.3, 0.6, 0.9, 1.0):
        kept = frozenset(name for name in names if rng.random() < share)
        chosen = [layer.node.name for layer in select(graph, map(escape, kept)).layers]
        assert [names[place] for place in sorted(forecast.integers(kept))] == chosen
        assert forecast.integers(forecast.needed(kept)) == forecast.integers(kept)
    assert forecast.float_macs(()) == 0 and forecast.float_macs(names) == 1 and forecast.latency(names) > 2 * forecast.latency(())
