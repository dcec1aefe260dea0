"""What rounds of timed runs say together: exact moments, percentiles, and how sure they are.

A round is one process; what differs from process to process (where its memory lies, which core it got) is the larger part of the
spread, so intervals come from the rounds and not from single runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import atan, cos, exp, log, pi, sin, sqrt, tan

CONFIDENCE = 0.95


def pooled_moments(rounds: Iterable[tuple[int, float, float]]) -> tuple[int, float, float]:
    """(count, mean, standard deviation) of all runs from those of each round, exactly; deviations are over the count less 1.

    The squares add up: (n - 1) s^2 = sum (n_i - 1) s_i^2 + n_i (m_i - m)^2.
    """
    known = list(rounds)
    count = sum(n for n, _, _ in known)
    mean = sum(n * m for n, m, _ in known) / count
    squares = sum((n - 1) * s * s + n * (m - mean) ** 2 for n, m, s in known)
    return count, mean, sqrt(squares / (count - 1)) if count > 1 else 0.0


def weighted_percentiles(rounds: Iterable[tuple[int, Sequence[float]]], shares: Sequence[float]) -> list[float]:
    """Percentiles (shares from 0 to 1) of all runs from samples taken evenly of each round, where each stands for runs / samples runs.

    A value lies at the middle of its weight and between two values the line is straight (Hazen's definition where all weigh the same).
    """
    weighted = sorted((value, runs / len(samples)) for runs, samples in rounds for value in samples)
    total, before, middles = sum(weight for _, weight in weighted), 0.0, []
    for _, weight in weighted:
        middles.append((before + weight / 2) / total)
        before += weight
    return [_between(middles, [value for value, _ in weighted], share) for share in shares]


def _between(places: Sequence[float], values: Sequence[float], place: float) -> float:
    """The value at `place` on the line through (places, values); its ends go on level."""
    after = next((index for index, other in enumerate(places) if other >= place), len(places))
    if after in (0, len(places)):
        return values[min(after, len(values) - 1)]
    share = (place - places[after - 1]) / (places[after] - places[after - 1])
    return values[after - 1] + share * (values[after] - values[after - 1])


def within(t: float, freedom: int) -> float:
    """P(|T| <= t) of Student's distribution with a whole number of degrees of freedom: Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = atan(t / sqrt(freedom))
    odd = freedom % 2
    term = total = 0.0 if freedom == 1 else cos(angle) if odd else 1.0
    for step in range(3 if odd else 2, freedom - 1, 2):
        term *= cos(angle) ** 2 * (step - 1) / step
        total += term
    return (2 / pi) * (angle + sin(angle) * total) if odd else sin(angle) * total


def student(freedom: int, confidence: float = CONFIDENCE) -> float:
    """t with P(|T| <= t) = confidence, by halving its angle's interval until doubles end."""
    low, high = 0.0, pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if within(sqrt(freedom) * tan(middle), freedom) < confidence else (low, middle)
    return sqrt(freedom) * tan((low + high) / 2)


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the mean of at least two independent values: m -+ t s / sqrt(k), s over k - 1."""
    mean, variance = _moments(values)
    half = student(len(values) - 1) * sqrt(variance / len(values))
    return mean - half, mean + half


def paired_ratio(base: Sequence[float], other: Sequence[float]) -> tuple[float, float, float]:
    """other / base and its 95 % interval from pairs that were measured next to each other, through the mean of the logarithms."""
    logs = [log(b / a) for a, b in zip(base, other, strict=True)]
    low, high = mean_interval(logs)
    return exp(sum(logs) / len(logs)), exp(low), exp(high)


def separate_ratio(base: Sequence[float], other: Sequence[float]) -> tuple[float, float, float]:
    """other / base and its 95 % interval from two measurements of different times: Welch's interval over logarithms.

    Degrees of freedom by Welch and Satterthwaite, rounded down, which errs towards the wider interval.
    """
    (m1, v1), (m2, v2) = _moments([log(value) for value in base]), _moments([log(value) for value in other])
    part1, part2 = v1 / len(base), v2 / len(other)
    if part1 + part2 == 0:
        return exp(m2 - m1), exp(m2 - m1), exp(m2 - m1)
    freedom = (part1 + part2) ** 2 / (part1**2 / (len(base) - 1) + part2**2 / (len(other) - 1))
    half = student(max(1, int(freedom))) * sqrt(part1 + part2)
    return exp(m2 - m1), exp(m2 - m1 - half), exp(m2 - m1 + half)


def _moments(values: Sequence[float]) -> tuple[float, float]:
    """Mean, and variance over the count less 1."""
    mean = sum(values) / len(values)
    return mean, sum((value - mean) ** 2 for value in values) / (len(values) - 1)
