"""How far a package's answers are from the float model's, over a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from edgec.base.classes import chooses, rows, samples_in
from edgec.base.errors import UsageError
from edgec.records.diagnosis import LOW_SQNR

Arrays = dict[str, np.ndarray]
Answers = Callable[[Arrays], list[np.ndarray]]
LOW_AGREEMENT = 0.9  # below it, as below LOW_SQNR, a package is hardly what its model is
NAMED = 3  # layers that a warning names
LONGEST = 80  # letters of such a name


@dataclass(frozen=True)
class OutputScore:
    """One output. SQNR = 10 log10(sum ref^2 / sum (ref - x)^2) where ref is finite; agreement: share of its rows whose arg-max is equal.

    chooses: whether they are scores of classes. Elsewhere the arg-max says little.
    counts: whether they are whole, as indices are. Their SQNR says little.
    """

    output: str
    sqnr_db: float
    largest_error: float
    agreement: float
    chooses: bool = False
    counts: bool = False

    @property
    def low(self) -> list[str]:
        """What is wrong with it, in words."""
        found = [f"SQNR {self.sqnr_db:.1f} dB"] if self.sqnr_db < LOW_SQNR and not self.counts else []
        return found + ([f"agreement {self.agreement:.0%}"] if self.chooses and self.agreement < LOW_AGREEMENT else [])


@dataclass(frozen=True)
class Comparison:
    """Scores over all samples; accuracy maps "fp32" and "package" to (top-1, top-5) where labels were given. warnings: of low scores."""

    samples: int
    outputs: list[OutputScore]
    accuracy: dict[str, tuple[float, float]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def facts(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def agreement(self) -> OutputScore:
        """The worst by agreement of the outputs that choose, of all where none does."""
        return min([score for score in self.outputs if score.chooses] or self.outputs, key=lambda score: score.agreement)

    @property
    def sqnr(self) -> OutputScore:
        """The worst by SQNR of the outputs that are no counts, of all where all are."""
        return min([score for score in self.outputs if not score.counts] or self.outputs, key=lambda score: score.sqnr_db)

    def failures(self, min_agreement: float | None, min_sqnr: float | None) -> list[str]:
        """What is below what was asked for, of the worst outputs."""
        found = []
        for what, worst, value, wanted in (
            ("agreement", self.agreement.output, self.agreement.agreement, min_agreement),
            ("SQNR", self.sqnr.output, self.sqnr.sqnr_db, min_sqnr),
        ):
            if wanted is not None and not value >= wanted:
                found.append(f"{what} of {worst} is {value:.4f}, below {wanted}")
        return found

    def warned(self, layers: Iterable[tuple[float, str]]) -> Comparison:
        """With its warnings. layers: the SQNR of each quantized layer and its name."""
        return replace(self, warnings=low_scores(self.outputs, layers))


def low_scores(outputs: Iterable[OutputScore], layers: Iterable[tuple[float, str]]) -> list[str]:
    """A warning for each output far from the model's; the last one names the layers that follow the model worst, where any are known."""
    found = [f"output {score.output} is far from the model's: {', '.join(score.low)}" for score in outputs if score.low]
    worst = [f"{name if len(name) <= LONGEST else name[:LONGEST] + '...'} ({ratio:.1f} dB)" for ratio, name in sorted(layers)[:NAMED]]
    return [*found, f"the worst layers are {', '.join(worst)}"] if found and worst else found


class _Sums:
    """Running sums of one output, in float64."""

    def __init__(self) -> None:
        self.signal = self.noise = self.largest = 0.0
        self.agreeing = self.rows = 0
        self.chooses, self.counts = True, False

    def add(self, reference: np.ndarray, answer: np.ndarray) -> None:
        """Rows: one for each sample of the batch."""
        wide = reference.astype(np.float64)
        known = np.isfinite(wide)
        difference = np.nan_to_num(wide[known] - answer.astype(np.float64)[known], nan=np.inf, posinf=np.inf, neginf=np.inf)
        self.signal += float(np.sum(wide[known] ** 2))
        self.noise += float(np.sum(difference**2))
        self.largest = max(self.largest, float(np.max(np.abs(difference), initial=0.0)))
        self.rows += len(reference)
        self.agreeing += int(np.sum(reference.argmax(1) == answer.argmax(1))) if reference.size else len(reference)

    def score(self, output: str) -> OutputScore:
        ratio = self.signal / self.noise if self.noise else np.inf
        decibels = float(10 * np.log10(ratio)) if ratio > 0 else -np.inf
        return OutputScore(output, decibels, self.largest, self.agreeing / self.rows, self.chooses, self.counts)


def compare_answers(
    names: list[str], samples: Iterable[Arrays], reference: Answers, package: Answers, labels: np.ndarray | None = None
) -> Comparison:
    """Run both over every sample. labels: class index of each sample, judged against the first output. UsageError: too few."""
    sums = [_Sums() for _ in names]
    hits = {"fp32": np.zeros(2), "package": np.zeros(2)}
    count = 0
    for sample in samples:
        batch = samples_in(sample)
        whole = reference(sample)
        expected = [rows(output, batch) for output in whole]
        answer = [rows(output, batch) for output in package(sample)]
        for total, output, one, other in zip(sums, whole, expected, answer, strict=True):
            total.add(one, other)
            total.chooses &= chooses(output.shape, batch)
            total.counts |= output.dtype.kind != "f" and output.itemsize > 1
        more = len(expected[0])
        if labels is not None:
            if len(labels) < count + more:
                raise UsageError(f"{len(labels)} labels for more samples than that", hint="give one label for each sample")
            for name, given in (("fp32", expected[0]), ("package", answer[0])):
                hits[name] += sum(_hits(row, int(label)) for row, label in zip(given, labels[count : count + more], strict=True))
        count += more
    if not count:
        raise UsageError("there are no samples to compare", hint="give at least one")
    scores = [total.score(name) for name, total in zip(names, sums, strict=True)]
    accuracy = {} if labels is None else {name: (float(hit[0] / count), float(hit[1] / count)) for name, hit in hits.items()}
    return Comparison(count, scores, accuracy)


def _hits(scores: np.ndarray, label: int) -> np.ndarray:
    """[is the best class right, is the right class among the best five]; ties go to the lower index, as arg-max does."""
    order = np.argsort(-scores.astype(np.float64), kind="stable")[:5]
    return np.array([order[0] == label, label in order], dtype=np.float64)
