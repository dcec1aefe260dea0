"""What each effort tries, and that more of it never is for the worse."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np
import pytest

from edgec.base.errors import UsageError
from edgec.export import to_onnx
from edgec.ir.graph import Graph
from edgec.quant import QuantizeOptions, apply_calibration, quantize
from edgec.quant.decisions.apply import apply
from edgec.quant.decisions.calibration import Calibration
from edgec.quant.decisions.calibration_file import read_calibration
from edgec.quant.fits.final import luckiest
from edgec.quant.fits.fitted import Fitted
from edgec.quant.given.options import EFFORTS, Progress, Sample, Samples
from edgec.quant.ranges.parameters import parameters_of
from edgec.quant.runs.float_run import Probe
from edgec.quant.runs.walk import Walk
from edgec.quant.search.echoes import Echoes, narrowed, part_of_way
from edgec.quant.search.levers import LEVERS, Folds, Lever, Make, better, pull_levers, with_levers
from edgec.quant.search.listen import Crowd, rest_of
from edgec.quant.search.settle import mean, middle_mean, settle
from edgec.quant.trials.steps import CHEAP, STEPS, StepReport
from edgec.quant.trials.trial import Trial, Tried, judged
from tests.quant.small import Small, net, samples, score_of, sqnr

NAMES = {lever.name for lever in LEVERS}
EFFORT = {effort: QuantizeOptions(effort=effort) for effort in EFFORTS}


def thin() -> tuple[Graph, Callable[[], Iterator[Sample]]]:
    """Three convolutions, and samples."""
    small = Small((1, 4, 8, 8), seed=3)
    value = small.node("Relu", small.conv("x", 8, spread=4.0))
    value = small.node("Relu", small.conv(value, 8, group=8, spread=4.0))
    graph = small.done(small.conv(value, 4, 1))
    return graph, samples(graph, 16)


def stored(graph: Graph) -> bytes:
    return bytes(to_onnx(graph).SerializeToString(deterministic=True))


@pytest.mark.parametrize(("effort", "tried"), [("fast", CHEAP), ("normal", set(STEPS)), ("high", {*STEPS, *NAMES})])
def test_an_effort_tries_its_steps_and_the_calibration_says_which(effort: str, tried: set[str]) -> None:
    graph, opened = thin()
    found = quantize(graph, opened, EFFORT[effort])
    assert {step["step"] for step in found.report.steps} <= tried
    assert found.calibration.get("effort") == (None if effort == "normal" else effort)
    assert stored(apply_calibration(graph, found.calibration)) == stored(found.graph)
    assert quantize(graph, opened, EFFORT[effort]).calibration == found.calibration


def test_nobody_has_to_choose_one() -> None:
    graph, opened = thin()
    assert quantize(graph, opened).calibration == quantize(graph, opened, EFFORT["normal"]).calibration


def test_an_unknown_effort_is_named() -> None:
    graph = net("resnet")
    with pytest.raises(UsageError, match="unknown effort 'hihg'") as raised:
        quantize(graph, samples(graph), QuantizeOptions(effort="hihg"))
    assert raised.value.hint == "did you mean 'high'?"


def test_where_no_step_is_wanted_all_efforts_give_the_same() -> None:
    graph = net("mobilenet")
    plain = QuantizeOptions("minmax", equalize=False, round_weights=False, correct_bias=False, shape_sums=False)
    found = {stored(quantize(graph, samples(graph, 16), replace(plain, effort=effort)).graph) for effort in EFFORTS}
    assert len(found) == 1


@pytest.mark.parametrize("family", ("mobilenet", "resnet", "unet"))
def test_the_rest_of_a_network_goes_on_from_any_value(family: str) -> None:
    graph = net(family)
    (sample,) = samples(graph, 1)()
    wanted = Probe(graph, judged(graph))(sample)
    for value in [*graph.inputs, *(node.outputs[0] for node in graph.nodes)]:
        rest = rest_of(graph, value)
        found = Probe(rest, rest.outputs)(Probe(graph, rest.inputs)(sample)) if rest.outputs else {}
        for name, array in found.items():
            np.testing.assert_allclose(array, wanted[name], rtol=1e-4, atol=1e-5)


def outlier(read: float) -> Graph:
    """A layer that reads seven channels of usual numbers, and one of large ones with weights of size `read`."""
    small = Small((1, 8, 8, 8))
    value = small.conv("x", 4, 1)
    small.graph.constants[small.graph.nodes[-1].inputs[1]][:, 0] *= read
    return small.done(value)


def uneven(graph: Graph, count: int, seed: int = 1) -> Callable[[], Iterator[Sample]]:
    """Samples whose first channel has the large numbers."""

    def opened() -> Iterator[Sample]:
        for sample in samples(graph, count, seed)():
            yield {"x": np.concatenate([sample["x"][:, :1] * 30, sample["x"][:, 1:]], axis=1)}

    return opened


def echoes_of(graph: Graph, opened: Samples, *values: str) -> Echoes:
    """What hears these values in eight samples."""
    fitted = Fitted(Calibration("", 8, "mse"), opened, 8)
    return Echoes(graph, lambda: Crowd(graph, values, fitted, None), len(values), None)


@pytest.mark.parametrize(("read", "narrower"), [(1e-6, True), (1.0, False)])
def test_a_range_is_as_wide_as_what_reads_it_needs(read: float, narrower: bool) -> None:
    graph = outlier(read)
    low, high = echoes_of(graph, uneven(graph, 8), "x").best(("x",), (-90.0, 90.0))
    assert (high < 60.0) is narrower and (low < -60.0) is not narrower


def test_high_effort_is_better_on_other_samples_where_little_of_a_range_is_read() -> None:
    """The usual ranges are about the numbers themselves, whatever reads them."""
    graph = outlier(1e-6)
    found = [quantize(graph, uneven(graph, 16), EFFORT[effort]).graph for effort in ("normal", "high")]
    normal, high = (sqnr(graph, one, others=uneven(graph, 40, seed=2)) for one in found)
    assert high > normal + 0.5


@pytest.mark.parametrize("family", ("mobilenet", "resnet", "unet"))
def test_a_walk_computes_what_a_run_does(family: str) -> None:
    graph = net(family)
    given = list(samples(graph, 2)())
    values = [*graph.inputs, *(node.outputs[0] for node in graph.nodes)]
    probe, walk = Probe(graph, values), Walk(graph, given)
    wanted = [probe(sample) for sample in given]
    for value in values:
        for one, other in zip(walk(value), wanted, strict=True):
            np.testing.assert_allclose(one, other[value], rtol=1e-5, atol=1e-5)


def test_a_mean_error_is_that_of_the_most() -> None:
    errors = np.array([0.1, 0.2, 0.3, 0.4, 1000.0, -3.0, 0.2, 0.3])[:, None]
    assert middle_mean(errors) == pytest.approx([0.25], abs=0.06)


@pytest.mark.filterwarnings("error")
def test_a_mean_error_of_two_positions_is_their_mean() -> None:
    assert middle_mean(np.array([[1.0, 5.0], [2.0, 5.0]])) == pytest.approx([1.5, 5.0])


def test_a_range_of_what_nothing_reads_stays() -> None:
    """An output that is stored as codes has no listener."""
    graph = outlier(1.0)
    assert echoes_of(graph, uneven(graph, 8), graph.outputs[0]).best((graph.outputs[0],), (-9.0, 3.0)) == (-9.0, 3.0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_value_whose_answers_are_no_numbers_is_not_heard_and_others_are() -> None:
    small = Small((1, 4, 8, 8), seed=3)
    wide, outside = small.node("Relu", small.conv("x", 8, spread=4.0)), small.node("Relu", "x")
    graph = small.done(small.conv(wide, 4, 1), small.node("Log", small.node("Neg", outside)))
    echoes = echoes_of(graph, uneven(graph, 8), wide, outside)
    assert echoes.heard((outside,), (0.0, 90.0)) == (0.0, 90.0)
    low, high = echoes.best((wide,), (0.0, 1e4))
    assert low == 0 and high < 1e4 and echoes.best((outside,), (0.0, 90.0)) == (0.0, 90.0)


def cut(graph: Graph, count: int, seed: int) -> Callable[[], Iterator[Sample]]:
    """Samples of which one number in fifty goes far beyond all others, to one side."""

    def opened() -> Iterator[Sample]:
        rng = np.random.default_rng(seed)
        for sample in samples(graph, count, seed)():
            yield {"x": np.where(rng.random(sample["x"].shape) < 0.02, np.float32(40), sample["x"]).astype(np.float32)}

    return opened


def deep() -> Graph:
    """Each layer's result goes through a Relu: what large numbers do to it is seen where it is positive."""
    small = Small((1, 4, 16, 16), seed=5)
    value = "x"
    for _ in range(3):
        value = small.node("Relu", small.conv(value, 8, 1))
    return small.done(small.conv(value, 4, 1))


def test_biases_do_not_follow_the_few_numbers_that_a_range_cuts() -> None:
    """By usual bias correction, which is by the mean, all other numbers pay for these; samples without them tell."""
    graph = deep()
    found = quantize(graph, cut(graph, 16, 1), EFFORT["fast"])
    calibration = read_calibration(found.calibration, graph)
    narrow = replace(calibration, parameters={**calibration.parameters, "x": parameters_of((-4.0, 4.0))})
    ways = [settle(graph, narrow, cut(graph, 16, 1), 16, None, by) for by in (mean, middle_mean)]
    before, after = (sqnr(graph, apply(graph, one), others=samples(graph, 20, 7)) for one in ways)
    assert after > before + 1


@pytest.mark.parametrize(("errors", "moves"), [((1.0, 1.0, 1.0, 1.0), True), ((1.0, 1.0, 1.0, -0.2), True), ((1.0, 1.0, 1.0, -4.0), False)])
def test_a_range_moves_where_it_is_better_for_all_listeners_together(errors: tuple[float, ...], moves: bool) -> None:
    """The less of its width is left, the less is each sample's error, or the more."""
    found = narrowed((-1.0, 4.0), lambda ranges: np.array([[40.0 + one * limits[1] for limits in ranges] for one in errors]), np.ones(4), 0)
    assert (found[1] < 4.0) is moves and found[0] <= 0


def test_half_of_the_way_is_that_of_factors() -> None:
    assert part_of_way(8.0, 2.0, 0.5) == pytest.approx(4.0) and part_of_way(-8.0, -2.0, 1.0) == -2.0 and part_of_way(0.0, 0.0, 0.5) == 0.0


@pytest.mark.parametrize(("scale", "taken"), [(0.5, []), (1.0, []), (2.0, ["better"])])
def test_a_lever_stays_where_samples_that_it_was_not_fitted_to_gain(scale: float, taken: list[str]) -> None:
    """The fold's calibration has weights of twice their scale; a lever divides the scales by something."""
    graph, opened = thin()
    good = read_calibration(quantize(graph, opened, EFFORT["fast"]).calibration, graph)

    def scaled(calibration: Calibration, factor: float) -> Calibration:
        weights = {name: replace(one, scales=(one.scales * factor).astype(np.float32)) for name, one in calibration.weights.items()}
        return replace(calibration, weights=weights)

    lever = Lever("better", lambda _, of, __: [lambda: of, lambda: of.remade(scaled(of.calibration, 1 / scale))], lambda options: True)
    start, trial = Fitted(scaled(good, 2.0), opened, 16), Trial(graph, samples(graph, 16, 7), 16, None)
    found, (after,), (report,) = pull_levers(graph, [(start, trial)], EFFORT["high"], [lever])
    assert [one.lever.name for one in found] == taken and report.taken == len(taken)
    assert (after is start) is not bool(taken) and report.after >= report.before


def test_a_lever_goes_that_the_folds_lose_by_together() -> None:
    """One gains, one loses more."""
    graph, opened = thin()
    good = read_calibration(quantize(graph, opened, EFFORT["fast"]).calibration, graph)

    def moved(calibration: Calibration, factor: float) -> Calibration:
        kept = {name: replace(one, scale=one.scale * factor) for name, one in calibration.parameters.items()}
        return replace(calibration, parameters=kept)

    def pull(graph: Graph, fitted: Fitted, _: Progress | None) -> list[Make]:
        return [lambda: fitted.remade(moved(fitted.calibration, fitted.count / 4))]

    lever = Lever("doubtful", pull, lambda options: True)
    folds = [(Fitted(moved(good, 2.0), opened, count), Trial(graph, samples(graph, 4, count), 4, None)) for count in (2, 16)]
    assert pull_levers(graph, folds[:1], EFFORT["high"], [lever])[0]
    assert not pull_levers(graph, folds, EFFORT["high"], [lever])[0]


@pytest.mark.parametrize(("output", "last", "taken"), [(0.9, 1.5, 1), (1.1, 0.5, 1), (1.1, 1.5, 0)])
def test_a_lever_stays_by_which_an_output_loses_only_where_more_gains_before_it(output: float, last: float, taken: int) -> None:
    """One sample makes the output's errors, so what it loses is one standard error; it may lose of what stands for it, too."""
    graph, opened = thin()
    good = read_calibration(quantize(graph, opened, EFFORT["fast"]).calibration, graph)
    better = replace(good)

    def trial(calibration: Calibration) -> Tried:
        logits, behind = ([0.5] * 5 + [last], output) if calibration is better else ([1.0] * 6, 1.0)
        signal = np.array([[9.0, 0.0]] * 4 + [[9.0, 9.0]] * 2)
        return Tried(signal, np.stack([logits, [0.0] * 5 + [behind]], axis=1), judges=1)

    lever = Lever("better", lambda _, of, __: [lambda: of.remade(better)], lambda options: True)
    folds = [(Fitted(good, opened, 4), cast(Trial, trial))]
    assert len(pull_levers(graph, folds, EFFORT["high"], [lever])[0]) == taken


@pytest.mark.parametrize(("even", "taken"), [(1.0, True), (0.1, False)])
def test_what_gains_less_than_chance_is_not_taken_where_few_samples_make_an_output(even: float, taken: bool) -> None:
    shares, gains = np.ones(8), np.array([0.5, -0.4, 0.5, -0.4, 0.5, -0.4, 0.5, -0.4])
    known, found = (score_of(one, np.ones(8), even) for one in (shares, shares - gains))
    assert better(found, known, 0.0) is taken and not better(found, known, 1.0)
    plainly = score_of(shares - 0.5 - gains / 10, np.ones(8), even)
    assert better(plainly, known, 1.0)


def test_where_no_lever_stays_all_is_as_usual() -> None:
    graph, opened = thin()
    good = read_calibration(quantize(graph, opened, EFFORT["fast"]).calibration, graph)
    usual, other = Fitted(good, opened, 16), Fitted(replace(good), opened, 16)
    assert with_levers(graph, [], usual, lambda: other, EFFORT["high"], (), LEVERS)[0] == [good]


def test_of_what_folds_make_the_best_for_all_samples_stays_unless_all_together_lose() -> None:
    graph, opened = thin()
    whole, lucky, loud = (read_calibration(quantize(graph, opened, EFFORT["fast"]).calibration, graph) for _ in range(3))
    errors = {id(whole): [4.0, 4.0, 4.0], id(lucky): [2.0, 2.0, 5.0], id(loud): [1.0, 1.0, 11.0]}

    class Told(Trial):
        def __call__(self, calibration: Calibration) -> Tried:
            return Tried(np.full((3, 1), 9.0), np.array(errors[id(calibration)])[:, None], judges=1)

    trial = Told(graph, opened, 1 << 20, None)
    assert luckiest([whole, loud, lucky], trial) is lucky and luckiest([whole, loud], trial) is whole
    assert luckiest([loud], trial) is loud and luckiest([loud, whole], trial) is loud


@pytest.mark.parametrize(("further", "way"), [(np.array([0.48, 0.52, 0.44, 0.55]), 0), (np.full(4, 0.4), 1)])
def test_of_two_ways_the_further_must_be_better_than_the_nearer(further: np.ndarray, way: int) -> None:
    """By more than chance, since it may go too far for other data."""
    graph, opened = thin()
    good = read_calibration(quantize(graph, opened, EFFORT["fast"]).calibration, graph)
    made = replace(good), replace(good)

    def trial(calibration: Calibration) -> Tried:
        error = next((error for one, error in zip(made, (np.full(4, 0.5), further), strict=True) if one is calibration), np.ones(4))
        return Tried(np.full((4, 1), 9.0), error[:, None], judges=1)

    lever = Lever("two ways", lambda _, of, __: [partial(of.remade, one) for one in made], lambda options: True)
    (pulled,), _, _ = pull_levers(graph, [(Fitted(good, opened, 4), cast(Trial, trial))], EFFORT["high"], [lever])
    assert pulled.way == way


@pytest.mark.parametrize("count", (16, 64))
def test_samples_enough_judge_what_high_effort_adds_to_the_usual_answer(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """All of them, in turn."""
    judges: list[int] = []

    def nothing(graph: Graph, folds: Folds, last: Fitted, *_: object, **__: object) -> tuple[list[Calibration], list[StepReport]]:
        judges.extend(len(trial(fitted.calibration).error) for fitted, trial in folds)
        return [last.calibration], []

    monkeypatch.setattr(sys.modules["edgec.quant.search.decide"], "with_levers", nothing)
    graph, _ = thin()
    normal, high = (quantize(graph, samples(graph, count), EFFORT[effort]).calibration for effort in ("normal", "high"))
    assert sum(judges) == count and high == normal | {"effort": "high"}
