"""The quantized model against the file that it was made from: whatever was lost on the way shows."""

from __future__ import annotations

import numpy as np
import pytest

from edgec.exam.fidelity import LEAST, MOST, affordable, compare_with_model, manifest_facts, spread
from edgec.exam.reference import FloatModel
from edgec.quant import Quantized, quantize
from tests.quant.small import Small, net, samples

SAMPLES = 40
TOLD: list[tuple[int, int]] = []


def compared(quantized: Quantized, family: str, *, sampled: bool = True):
    graph = net(family)
    known = samples(graph, SAMPLES) if sampled else None
    return compare_with_model(graph, quantized, FloatModel(graph), known, 0, lambda *step: TOLD.append(step))


@pytest.mark.parametrize("family", ["mobilenet", "unet"])
def test_a_good_model_has_no_warnings(family: str) -> None:
    quantized = quantize(net(family), samples(net(family), SAMPLES))
    found = compared(quantized, family)
    assert (
        found.samples == min(affordable(net(family)), SAMPLES)
        and found.warnings == []
        and min(score.sqnr_db for score in found.outputs) > 20
    )
    assert [score.chooses for score in found.outputs] == ([True] if family == "mobilenet" else [False, False])
    assert manifest_facts(found)["agreement"].keys() == {score.output for score in found.outputs if score.chooses}
    assert TOLD[-1] == (found.samples, found.samples)


def test_small_networks_are_compared_over_more_samples() -> None:
    counts = []
    for size in (8, 160, 512):
        small = Small((1, 3, size, size))
        counts.append(affordable(small.done(small.conv(small.node("Relu", small.conv("x", 32)), 4))))
    assert counts[0] == MOST > counts[1] > counts[2] == LEAST


def test_steps_of_a_cell_count_as_operators() -> None:
    """They take long, however few numbers they make."""
    counts = []
    for steps in (4, 400):
        small = Small((steps, 1, 16))
        weights = small.constant(small.rng.standard_normal((1, 16, 4)).astype(np.float32))
        counts.append(affordable(small.done(small.node("LSTM", "x", "", weights, hidden_size=4, direction="forward"))))
    assert counts[0] == MOST > counts[1]


def test_what_is_compared_is_taken_evenly() -> None:
    taken = [int(sample["x"]) for sample in spread(lambda: ({"x": np.array(place)} for place in range(30)), 30, 12)]
    assert taken == [0, 2, 5, 7, 10, 12, 15, 17, 20, 22, 25, 27]
    assert len(list(spread(lambda: ({"x": np.array(place)} for place in range(30)), 30, 100))) == 30
    assert len(list(spread(lambda: ({"x": np.array(place)} for place in range(30)), 0, 100))) == LEAST


def test_scales_that_were_misread_show() -> None:
    """Also in a model that came quantized, which nothing else is compared with: on random inputs."""
    quantized = quantize(net("resnet"), samples(net("resnet"), SAMPLES))
    given = Quantized(quantized.graph, {}, type(quantized.report)())
    assert compared(given, "resnet", sampled=False).warnings == []
    lost = quantized.graph.copy()
    for name, array in lost.constants.items():
        lost.constants[name] = np.flip(array) if array.dtype == np.float32 and array.ndim else array  # those of channels
    (warning,) = compared(Quantized(lost, {}, given.report), "resnet", sampled=False).warnings
    assert "is far from the model's" in warning
    words = compared(Quantized(lost, quantized.calibration, quantized.report), "resnet").warnings
    assert len(words) == 3 and words[1].startswith("the worst layers are /resnet/")
    assert words[2].startswith("rounding is not what does it: ") and "no longer the model" in words[2]


def test_an_output_that_nobody_measured_may_be_as_far_off_as_it_likes() -> None:
    """Codes, for instance: only the distance to the model's answers is known of them."""
    graph = net("resnet")
    quantized = quantize(graph, samples(graph, SAMPLES))
    given = Quantized(quantized.graph, {}, type(quantized.report)())
    (shape,) = {graph.types[name].static_shape for name in graph.outputs}
    hardly = np.full(shape, 1e-30, np.float32)
    found = compare_with_model(graph, given, lambda sample: [hardly], None, 0, lambda *step: None)  # type: ignore[arg-type]
    assert [score.sqnr_db < -300 for score in found.outputs] == [True] and "is far from the model's" in found.warnings[0]
