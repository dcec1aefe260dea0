"""What calibration samples say against themselves, and what a trained network's answers say against them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from edgec.frontend import load_model
from edgec.ir.graph import Graph
from edgec.passes import optimize
from edgec.quant import Sample, quantize
from edgec.quant.findings.preparations import bits, doubt_preparation, scale_of
from edgec.quant.given.options import Samples
from edgec.quant.given.repeats import Watched

DIGITS = Path(__file__).parents[2] / "examples/digits"


@pytest.fixture(scope="module")
def digits() -> Graph:
    graph = load_model(DIGITS / "digits.onnx").graph
    optimize(graph)
    return graph


@pytest.fixture(scope="module")
def pictures() -> np.ndarray:
    return np.asarray(np.load(DIGITS / "calibration.npz")["image"])


def samples_of(pictures: np.ndarray) -> Samples:
    def samples() -> Iterator[Sample]:
        return iter([{"image": picture[None].astype(np.float32)} for picture in pictures])

    return samples


def notes(pictures: np.ndarray) -> list[str]:
    watched = Watched(samples_of(pictures))
    assert watched.notes() == []
    next(iter(watched()))
    assert watched.notes() == [], "that pass was not a whole one"
    assert sum(1 for _ in watched()) == len(pictures)
    return watched.notes()


def test_good_samples_are_not_doubted(digits: Graph, pictures: np.ndarray) -> None:
    assert notes(pictures) == [] and doubt_preparation(digits, samples_of(pictures), len(pictures)) == []


def test_few_repeated_and_flat_samples(pictures: np.ndarray) -> None:
    assert notes(pictures[:4]) == ["4 samples calibrate, about 100 are usual: what is rare was hardly seen"]
    assert notes(np.concatenate([pictures[:20], pictures[:12]])) == ["12 of 32 calibration samples repeat others: only 20 say something"]
    flat = np.concatenate([pictures[:20], np.full_like(pictures[:1], 3)])
    assert notes(flat) == ["1 of 21 calibration samples are one number all over"]


def test_the_hash_of_samples_depends_on_their_values_order_and_names_alone() -> None:
    def digest(*samples: dict[str, np.ndarray]) -> str | None:
        watched = Watched(lambda: iter(samples))
        assert list(watched()) == list(samples)
        return watched.sha256

    one, two = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array(3)}, {"a": np.ones((2, 3), np.float32), "b": np.array(4)}
    turned = {"b": one["b"], "a": np.asfortranarray(one["a"])}
    assert digest(one, two) == digest(turned, two) == digest({**one, "a": one["a"].astype(">f4")}, two)
    different = [digest(one), digest(two, one), digest({**one, "a": one["a"].reshape(3, 2)}, two), digest({"c": one["a"]}, two), digest()]
    assert len({digest(one, two), *different}) == 6


def test_samples_that_were_not_all_used_have_no_hash() -> None:
    watched = Watched(lambda: iter([{"a": np.ones(1)}, {"a": np.ones(1)}]))
    next(iter(watched()))
    assert watched.sha256 is None


@pytest.mark.parametrize("scale", [1 / 16, 1 / 255])
def test_pictures_that_were_scaled_otherwise_than_in_training(digits: Graph, pictures: np.ndarray, scale: float) -> None:
    (said,) = doubt_preparation(digits, samples_of(pictures * scale), len(pictures))
    assert "were they 0..255 in place of 0..1, by 2." in said and "[preprocess]" in said


def test_samples_of_one_class(digits: Graph, pictures: np.ndarray) -> None:
    first = pictures[:1] + np.random.default_rng(1).uniform(0, 0.1, (12, *pictures.shape[1:]))
    (said,) = doubt_preparation(digits, samples_of(first), len(first))
    assert said.startswith("the float model gives class ") and "to each of 10" in said


def test_the_report_of_a_quantization_holds_the_doubts(digits: Graph, pictures: np.ndarray) -> None:
    found = quantize(digits, samples_of(np.repeat(pictures[:10], 2, axis=0) / 16)).report.notes
    assert any("10 of 20 calibration samples repeat others" in note for note in found) and any(
        "0..255 in place of 0..1" in note for note in found
    )


def test_bits() -> None:
    assert bits(np.eye(8)) == pytest.approx(3)
    assert bits(np.full((8, 5), 0.2)) == pytest.approx(0)
    assert bits(np.eye(5)[[2] * 8]) == pytest.approx(0)


@pytest.mark.parametrize(
    ("low", "high", "scale"),
    [(0, 1, "0..1"), (0, 200, "0..255"), (-1, 0.9, "-1..1"), (-2.1, 2.6, "normalized by mean and deviation"), (-128, 120, "-128..127"),
     (0, 5, None), (-900, 900, None)],
)  # fmt: skip
def test_scales_are_told_by_their_numbers(low: float, high: float, scale: str | None) -> None:
    assert scale_of(np.array([low, high, (low + high) / 2])) == scale
