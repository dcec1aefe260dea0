"""How good an output is, and words for ratios."""

from __future__ import annotations

from collections.abc import Iterable

from edgec.records.diagnosis import BEST

# dB from which on -> class of the style sheet, sentence
GRADES = ((30.0, "good", "the outputs follow the float model"), (20.0, "fair", "the outputs follow the float model roughly"))
POOR = ("poor", "the outputs are far from the float model's")


def graded(ratios: Iterable[float]) -> tuple[str, str, float]:
    """The class of the worst output, a sentence, and its dB."""
    least = min(ratios, default=BEST)
    grade, sentence = next(((word, text) for limit, word, text in GRADES if least >= limit), POOR)
    return grade, f"{sentence}, with {least:.1f} dB", least


def decibels(ratio: float) -> str:
    return "exact" if ratio >= BEST else f"{ratio:.1f} dB"
