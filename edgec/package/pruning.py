"""The part of a manifest that says which channels were removed, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgec.package.single_values import Count, Flag, Hash, Number, Text, Word


@dataclass(frozen=True)
class PrunedLayer:
    """How many channels a layer had and has."""

    node: Text
    operator: Word
    before: Count
    after: Count


@dataclass(frozen=True)
class PruningFacts:
    """asked: share of the multiply-accumulates to remove; macs, parameters: the shares that are gone; samples: that judged; apart: whether

    nothing was fitted to them; sqnr (dB), agreement: of the pruned network against the original, both in float, the worst output; plain,
    fitted: SQNR of what stands for the outputs, with channels just left out, and as it is; whole: layers that keep all channels, and why;
    samples_sha256: of the samples that decided.
    """

    asked: Number
    macs: Number
    parameters: Number
    samples: Count
    apart: Flag
    sqnr: Number
    plain: Number
    fitted: Number
    layers: tuple[PrunedLayer, ...]
    whole: Mapping[Text, Text]
    warning: Text
    samples_sha256: Hash | None = None
    agreement: Number | None = None


def pruning_facts(report: Mapping[str, Any] | None, samples_sha256: str | None) -> PruningFacts | None:
    """From the report of a pruning; None where nothing was pruned."""
    if report is None:
        return None
    layers = tuple(PrunedLayer(**layer) for layer in report["layers"])
    return PruningFacts(**{**report, "layers": layers, "samples_sha256": samples_sha256})
