"""How far a package's answers are from the float model's, over a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class OutputScore:
    """One output. SQNR = 10 log10(sum ref^2 / sum (ref - x)^2); agreement: share of samples whose arg-max is equal."""

    output: str
    sqnr_db: float
    largest_error: float
    agreement: float


@dataclass(frozen=True)
class Comparison:
    """Scores over all samples; accuracy maps "fp32" and "package" to (top-1, top-5) where labels were given."""

    samples: int
    outputs: list[OutputScore]
    accuracy: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, Any]:
        return asdict(self)


class _Sums:
    """Running sums of one output, in float64."""

    def __init__(self) -> None:
        self.signal = self.noise = self.largest = 0.0
        self.agreeing = 0

    def add(self, reference: np.ndarray, answer: np.ndarray) -> None:
        difference = reference.astype(np.float64) - answer.astype(np.float64)
        self.signal += float(np.sum(reference.astype(np.float64) ** 2))
        self.noise += float(np.sum(difference**2))
        self.largest = max(self.largest, float(np.max(np.abs(difference), initial=0.0)))
        self.agreeing += int(np.argmax(reference) == np.argmax(answer))

    def score(self, output: str, samples: int) -> OutputScore:
        ratio = self.signal / self.noise if self.noise else np.inf
        return OutputScore(output, float(10 * np.log10(ratio)) if ratio > 0 else -np.inf, self.largest, self.agreeing / samples)


def compare_answers(
    names: list[str], samples: Iterable[Arrays], reference: Callable[[Arrays], list[np.ndarray]], package: Callable[[Arrays], list[np.ndarray]],
    labels: np.ndarray | None = None,
) -> Comparison:  # fmt: skip
    """Run both over every sample. labels: class index of each sample, judged against the first output."""
    sums = [_Sums() for _ in names]
    hits = {"fp32": np.zeros(2), "package": np.zeros(2)}
    count = 0
    for sample in samples:
        expected, answer = reference(sample), package(sample)
        for total, one, other in zip(sums, expected, answer, strict=True):
            total.add(one, other)
        if labels is not None:
            hits["fp32"] += _hits(expected[0], int(labels[count]))
            hits["package"] += _hits(answer[0], int(labels[count]))
        count += 1
    scores = [total.score(name, count) for name, total in zip(names, sums, strict=True)]
    accuracy = {} if labels is None else {name: (float(hit[0] / count), float(hit[1] / count)) for name, hit in hits.items()}
    return Comparison(count, scores, accuracy)


def _hits(scores: np.ndarray, label: int) -> np.ndarray:
    """[is the best class right, is the right class among the best five]; ties go to the lower index, as arg-max does."""
    order = np.argsort(-scores.reshape(-1).astype(np.float64), kind="stable")[:5]
    return np.array([order[0] == label, label in order], dtype=np.float64)
