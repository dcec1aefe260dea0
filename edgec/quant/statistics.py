"""Two passes over the samples: the extent of every value, then its histogram. Memory does not grow with the samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgec.errors import Problem, UsageError
from edgec.ir.graph import Graph
from edgec.quant.observers import Extent, Histogram
from edgec.quant.options import Progress, Samples
from edgec.quant.run import Probe, watched


def observe(graph: Graph, values: Sequence[str], samples: Samples, progress: Progress | None = None) -> tuple[dict[str, Histogram], int]:
    """The histograms of `values` over all samples, and how many samples there were."""
    probe = Probe(graph, values)
    extents = {value: Extent() for value in values}
    count = 0
    for sample in watched(samples, "ranges", progress, 0):
        count += 1
        for value, array in probe(sample).items():
            extents[value].add(array)
    check(graph, extents, count)
    histograms = {value: Histogram(extent.low, extent.high) for value, extent in extents.items()}
    for sample in watched(samples, "histograms", progress, count):
        for value, array in probe(sample).items():
            histograms[value].add(array)
    return histograms, count


def check(graph: Graph, extents: dict[str, Extent], count: int) -> None:
    """Refuse what no parameters can be chosen from: no samples, values that are not finite, an input that never changes."""
    if not count:
        raise UsageError("the calibration data is empty", hint="give at least one sample; about 100 are usual")
    problems = []
    for value, extent in extents.items():
        if extent.bad or not np.isfinite(extent.low):
            problems.append(Problem(f"{extent.bad} numbers are NaN or infinite", value, "check the calibration data and its preprocessing"))
        elif value in graph.inputs and extent.low == extent.high:
            problems.append(Problem(f"every number is {extent.low:g}", value, "calibrate with real data"))
    if problems:
        raise UsageError("the calibration data cannot be used", problems)
