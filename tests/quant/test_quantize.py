"""The whole of quantization on random nets: precision, determinism, memory, and what it refuses."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from edgec.base.budget import Budget, BudgetError, spending
from edgec.base.errors import UsageError
from edgec.ir.types import DType, TensorType
from edgec.ir.verify import verify
from edgec.quant import QuantizeOptions, apply_calibration, quantize
from edgec.quant.codes.weights import peak_scales, weight_scales
from edgec.quant.given.options import OBSERVERS
from edgec.quant.runs import float_run as run
from edgec.quant.runs.noise import Noise
from tests.quant.small import Small, content, net, samples, sqnr

PLAIN = QuantizeOptions("minmax", equalize=False, round_weights=False, correct_bias=False, shape_sums=False)
FLOORS = {"mobilenet": 25.0, "squeezenet": 30.0, "yolox": 25.0, "unet": 30.0, "resnet": 28.0}


@pytest.mark.parametrize("family", [pytest.param(name, marks=[pytest.mark.thorough] * (name == "yolox")) for name in FLOORS])
def test_random_nets_stay_near_float(family: str) -> None:
    graph = net(family)
    before = content(graph)
    result = quantize(graph, samples(graph, 12))
    verify(result.graph)
    assert content(graph) == before, "the float graph must not change"
    assert sqnr(graph, result.graph) > FLOORS[family]
    assert result.report.layers == sorted(result.report.layers, key=lambda layer: layer["sqnr"])
    assert min(result.report.outputs.values()) > FLOORS[family]
    json.dumps(result.report.to_json())


@pytest.mark.parametrize("observer", OBSERVERS)
def test_every_observer_works(observer: str) -> None:
    graph = net("resnet", 3)
    assert sqnr(graph, quantize(graph, samples(graph), QuantizeOptions(observer=observer)).graph) > 20


def test_the_calibration_file_gives_the_same_bytes() -> None:
    graph = net("mobilenet", 5)
    first, second = quantize(graph, samples(graph)), quantize(graph, samples(graph))
    assert first.calibration == second.calibration
    reread = json.loads(json.dumps(first.calibration))
    assert content(apply_calibration(graph, reread)) == content(first.graph) == content(second.graph)


def test_a_calibration_of_another_model_is_refused() -> None:
    graph = net("resnet")
    calibration = quantize(net("squeezenet"), samples(net("squeezenet"))).calibration
    with pytest.raises(UsageError, match="another model"):
        apply_calibration(graph, calibration)
    with pytest.raises(UsageError, match="version 99"):
        apply_calibration(graph, calibration | {"version": 99})


def test_improvements_pay_where_channels_are_uneven() -> None:
    small = Small((1, 8, 16, 16), seed=3)
    value = "x"
    for _ in range(4):
        value = small.node("Relu", small.conv(value, 16, spread=8.0))
        value = small.conv(value, 16, group=16)
        value = small.conv(value, 8, 1, spread=8.0)
    graph = small.done(value)
    plain, rounded, full = (
        sqnr(graph, quantize(graph, samples(graph, 16), options).graph, 40)
        for options in (PLAIN, QuantizeOptions(equalize=False), QuantizeOptions())
    )
    assert rounded > plain - 0.1
    assert full > rounded + 2


@pytest.mark.parametrize(("last", "place"), [("", "ranges of calibration sample 1"), ("weights", r"\(Conv\)")])
def test_a_sample_and_a_layer_may_take_what_the_budget_says(last: str, place: str) -> None:
    """The whole may take longer: `started` lies far back. `last` is the stage after which nothing more may take any time."""
    graph = net("squeezenet")

    def tell(stage: str, done: int, total: int) -> None:
        if stage == last and done == total:
            ledger.budget = Budget(seconds=0)

    with spending(Budget(seconds=1000 if last else 0)) as ledger, pytest.raises(BudgetError, match=rf"{place}.*--budget seconds="):
        ledger.started -= 2000
        quantize(graph, samples(graph, 2), progress=tell)


def test_memory_does_not_grow_with_samples() -> None:
    small = Small((1, 8, 64, 64))
    graph = small.done(small.conv(small.node("Relu", small.conv("x", 16)), 4))
    quantize(graph, samples(graph, 2))  # loads what is loaded once

    def peak(count: int) -> int:
        tracemalloc.start()
        quantize(graph, samples(graph, count))
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    # 48 more samples of the input alone are 6.3 MB; those that judge are kept, 32 of either number
    assert peak(176) < peak(128) + 300_000


def test_progress_tells_every_stage() -> None:
    graph = net("resnet")
    seen: list[tuple[str, int, int]] = []
    quantize(graph, samples(graph, 3), progress=lambda *step: seen.append(step))
    stages = list(dict.fromkeys(stage for stage, _, _ in seen))
    assert stages == ["ranges", "answers", "trials", "means", "histograms", "weights", "rounding", "report"]
    assert seen[2] == ("ranges", 3, 0)
    assert ("weights", 3, 3) in seen


def bad(kind: str) -> Iterator[dict[str, np.ndarray]]:
    value = {"nan": np.nan, "infinite": np.inf, "constant": 1.0}[kind]
    yield {"x": np.full((1, 3, 8, 8), value, np.float32)}


@pytest.mark.parametrize(
    ("kind", "message"), [("nan", "192 numbers are NaN"), ("infinite", "192 numbers are NaN"), ("constant", "every number is 1")]
)
def test_useless_samples_are_refused(kind: str, message: str) -> None:
    small = Small((1, 3, 8, 8))
    graph = small.done(small.conv("x", 2))
    with pytest.raises(UsageError, match=message):
        quantize(graph, lambda: bad(kind))


def test_an_input_of_one_number_that_never_changes_may_be_fixed() -> None:
    small = Small((1, 3, 8, 8))
    small.graph.inputs.append("step")
    small.graph.types["step"] = TensorType(DType.FLOAT32, (1, 1))
    graph = small.done(small.conv(small.node("Mul", "x", "step"), 2))
    with pytest.raises(UsageError, match=r"every number is 0\.0333333 .* or fix it with --constant step=0\.033333335$"):
        quantize(graph, lambda: ({**sample, "step": np.full((1, 1), 1 / 30, np.float32)} for sample in samples(graph, 3)()))


def test_no_samples_and_unknown_observers_are_refused() -> None:
    small = Small((1, 3, 8, 8))
    graph = small.done(small.conv("x", 2))
    with pytest.raises(UsageError, match="empty"):
        quantize(graph, lambda: iter(()))
    with pytest.raises(UsageError, match="did you mean 'minmax'"):
        quantize(graph, samples(graph), QuantizeOptions(observer="min-max"))


def test_pixels_are_stored_exactly() -> None:
    small = Small((1, 3, 8, 8))
    graph = small.done(small.conv("x", 2))
    rng = np.random.default_rng(0)
    pictures = [rng.integers(0, 200, (1, 3, 8, 8)).astype(np.float32) for _ in range(4)]
    result = quantize(graph, lambda: iter([{"x": picture} for picture in pictures]))
    assert result.calibration["parameters"]["x"] == {"scale": 1.0, "zero_point": 0}


def test_tiny_and_dead_values_have_normal_scales() -> None:
    small = Small((1, 3, 8, 8))
    dead = small.node("Relu", small.node("Sub", small.node("Abs", "x"), small.node("Abs", "x")))
    graph = small.done(small.conv(small.conv(dead, 4), 2))
    result = quantize(graph, samples(graph))
    for kept in result.calibration["parameters"].values():
        assert kept["scale"] >= np.finfo(np.float32).tiny
    assert sqnr(graph, result.graph) > 30


@pytest.mark.parametrize("scales", (peak_scales, weight_scales))
def test_the_largest_weights_stay_numbers(scales: Callable[[np.ndarray], np.ndarray]) -> None:
    largest = np.finfo(np.float32).max
    found = scales(np.array([[largest, -1.0], [largest / 2, largest], [1.0, 0.5]]))
    assert np.isfinite(found * np.float32(127)).all() and (found[:2] * 127.0 > 0.74 * largest).all() and found[2] < 1


def test_numbers_that_are_not_finite_make_no_noise() -> None:
    noise = Noise()
    noise.add(np.array([1.0, np.inf, 2.0], np.float32), np.array([np.inf, np.inf, 2.2], np.float32))
    assert 19 < noise.sqnr < 21


def test_large_values_are_looked_at_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same figures, however many of a network's values are there at once; ONNX Runtime lays each part out in its own way."""
    graph = net("resnet")
    plain = QuantizeOptions("minmax", equalize=False, round_weights=False, shape_sums=False)
    together, sample = quantize(graph, samples(graph, 6), plain), next(samples(graph)())
    wanted = run.Probe(graph, list(graph.types))(sample)
    for limit in (1, 50_000):
        monkeypatch.setattr(run, "AT_ONCE", limit)
        found = list(run.Probe(graph, list(graph.types)).each(sample))
        assert [value for value, _ in found] == list(graph.types) and len({id(array) for _, array in found}) == len(found)
        for value, array in found:
            np.testing.assert_allclose(array, wanted[value], rtol=1e-4, atol=1e-5)
        in_turns = quantize(graph, samples(graph, 6), plain)
        assert in_turns.calibration["parameters"].keys() == together.calibration["parameters"].keys()
        for value, one in in_turns.calibration["parameters"].items():
            assert one == pytest.approx(together.calibration["parameters"][value], rel=1e-5)
