"""The part of a manifest that says for which goal layers stay in float32, or read 16 bits, and what else was tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgec.package.single_values import Count, Flag, Number, Text, Word


@dataclass(frozen=True)
class AccuracyFacts:
    """Of the worst output: sqnr in dB; drop: share of the samples whose best class is another one than the float model's."""

    sqnr: Number
    drop: Number | None = None


@dataclass(frozen=True)
class KeptLayer:
    """error: share of the outputs' error that stays away with it; sqnr, drop: with this layer in int8; macs: its share of the network's;

    latency: share of the estimated time in int8 that it adds; bytes: of weights that int8 would save; type:
    float32, or int16 for one that reads codes of 16 bits.
    """

    node: Text
    operator: Word
    error: Number
    sqnr: Number
    macs: Number
    latency: Number
    bytes: Count
    drop: Number | None = None
    type: Word = "float32"


@dataclass(frozen=True)
class AttemptFacts:
    """`kept` layers in float32, `wide` of them in int16: what the outputs were, the share of multiply-accumulates in float, and the

    estimated time, 1 in int8."""

    kept: Count
    sqnr: Number
    float_macs: Number
    latency: Number
    drop: Number | None = None
    wide: Count = 0


@dataclass(frozen=True)
class GoalFacts:
    """samples: that judged; apart: whether nothing was fitted to them; before: with all layers in int8; after: as the package is."""

    samples: Count
    apart: Flag
    before: AccuracyFacts
    after: AccuracyFacts
    kept: tuple[KeptLayer, ...]
    attempts: tuple[AttemptFacts, ...]
    min_sqnr: Number | None = None
    max_drop: Number | None = None


def goal_facts(report: Mapping[str, Any] | None) -> GoalFacts | None:
    """From a quantization's report. None where the goal was reached with all layers in int8: then the package is as it is without one."""
    if report is None or not report["kept"]:
        return None
    return GoalFacts(
        samples=report["samples"],
        apart=report["apart"],
        before=AccuracyFacts(**report["before"]),
        after=AccuracyFacts(**report["after"]),
        kept=tuple(KeptLayer(**kept) for kept in report["kept"]),
        attempts=tuple(AttemptFacts(**attempt) for attempt in report["attempts"]),
        **report["goal"],
    )
