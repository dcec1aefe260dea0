"""What all samples say at first; where a run is long, some of them decide the rest."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from edgec.ir.graph import Graph
from edgec.quant.channels.features import feature_counts
from edgec.quant.channels.streams import channel_values
from edgec.quant.given.options import QuantizeOptions, Samples
from edgec.quant.runs.statistics import Extent, joined, measure_extents
from edgec.quant.runs.thin import enough
from edgec.quant.scope.coverage import Selection
from edgec.quant.trials.shares import some


@dataclass(frozen=True)
class SampleExtents:
    """The samples that decide, the extents and the number of each share of them, and what all samples have in them at most.

    A range that these do not leave is what other data will mostly meet, so those that judge count, and those that decide nothing else.
    """

    samples: Samples
    extents: list[dict[str, Extent]]
    counts: list[int]
    ends: dict[str, Extent]
    notes: tuple[str, ...]

    def number(self, shares: Collection[int]) -> int:
        """How many samples these shares have."""
        return sum(self.counts[share] for share in shares)


def measured(graph: Graph, selection: Selection, samples: Samples, options: QuantizeOptions) -> SampleExtents:
    """What all samples say at first; where a run is long, some of them decide the rest."""

    def measure(samples: Samples) -> tuple[list[dict[str, Extent]], list[int]]:
        return measure_extents(graph, selection.values, channel_values(graph), samples, options.progress, feature_counts(graph))

    extents, counts = measure(samples)
    count, ends = sum(counts), joined(extents)
    few = enough(graph, count, options)
    if few == count:
        notes = () if count > 1 else ("one sample: what was fitted to it was measured on it too",)
        return SampleExtents(samples, extents, counts, ends, notes)
    samples = some(samples, count, few)
    note = f"a run is long: {few} of {count} samples decide all but the ranges; effort high takes all"
    return SampleExtents(samples, *measure(samples), ends, (note,))
