"""How far a package's answers are from the float model's, over a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from edgec.errors import UsageError

Arrays = dict[str, np.ndarray]
Answers = Callable[[Arrays], list[np.ndarray]]


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
        """Rows: one for each sample of the batch."""
        difference = reference.astype(np.float64) - answer.astype(np.float64)
        self.signal += float(np.sum(reference.astype(np.float64) ** 2))
        self.noise += float(np.sum(difference**2))
        self.largest = max(self.largest, float(np.max(np.abs(difference), initial=0.0)))
        self.agreeing += int(np.sum(reference.argmax(1) == answer.argmax(1))) if reference.size else len(reference)

    def score(self, output: str, samples: int) -> OutputScore:
        ratio = self.signal / self.noise if self.noise else np.inf
        return OutputScore(output, float(10 * np.log10(ratio)) if ratio > 0 else -np.inf, self.largest, self.agreeing / samples)


def compare_answers(
    names: list[str], samples: Iterable[Arrays], reference: Answers, package: Answers, labels: np.ndarray | None = None
) -> Comparison:
    """Run both over every sample. labels: class index of each sample, judged against the first output. UsageError: too few."""
    sums = [_Sums() for _ in names]
    hits = {"fp32": np.zeros(2), "package": np.zeros(2)}
    count = 0
    for sample in samples:
        batch = next((len(array) for array in sample.values() if array.ndim), 1)
        expected = [_rows(output, batch) for output in reference(sample)]
        answer = [_rows(output, batch) for output in package(sample)]
        for total, one, other in zip(sums, expected, answer, strict=True):
            total.add(one, other)
        rows = len(expected[0])
        if labels is not None:
            if len(labels) < count + rows:
                raise UsageError(f"{len(labels)} labels for more samples than that", hint="give one label for each sample")
            for name, given in (("fp32", expected[0]), ("package", answer[0])):
                hits[name] += sum(_hits(row, int(label)) for row, label in zip(given, labels[count : count + rows], strict=True))
        count += rows
    if not count:
        raise UsageError("there are no samples to compare", hint="give at least one")
    scores = [total.score(name, count) for name, total in zip(names, sums, strict=True)]
    accuracy = {} if labels is None else {name: (float(hit[0] / count), float(hit[1] / count)) for name, hit in hits.items()}
    return Comparison(count, scores, accuracy)


def _rows(output: np.ndarray, batch: int) -> np.ndarray:
    """One row for each sample of the batch; an output without a batch axis is one row."""
    return output.reshape(batch if output.ndim > 1 and len(output) == batch else 1, -1)


def _hits(scores: np.ndarray, label: int) -> np.ndarray:
    """[is the best class right, is the right class among the best five]; ties go to the lower index, as arg-max does."""
    order = np.argsort(-scores.astype(np.float64), kind="stable")[:5]
    return np.array([order[0] == label, label in order], dtype=np.float64)
