"""Run a float graph in ONNX Runtime and look at values inside it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from edgec.budget import check_tensors, check_time
from edgec.export import to_onnx
from edgec.ir.graph import Graph
from edgec.ir.liveness import live_bytes
from edgec.quant.options import Progress, Sample, Samples
from edgec.runtime import Effort, Session


class Probe:
    """A session that computes `values` of `graph` for one sample at a time."""

    def __init__(self, graph: Graph, values: Sequence[str], *, exact: bool = False) -> None:
        """`exact` keeps every Q/DQ pair in float (no integer kernels are fused)."""
        seen = graph.copy()
        inside = [value for value in dict.fromkeys(values) if value not in graph.inputs and value not in graph.constants]
        seen.outputs = inside or list(graph.outputs[:1])
        self.values = list(dict.fromkeys(values))
        self.graph = graph
        self.names = seen.outputs
        check_tensors(*live_bytes(seen))  # what is looked at stays until the end of a run
        self._session = Session(to_onnx(seen).SerializeToString(), Effort.NONE if exact else Effort.EXTENDED, lean=True)

    def __call__(self, sample: Sample) -> dict[str, np.ndarray]:
        """The values, those that are graph inputs or constants included."""
        feed = {name: sample[name] for name in self.graph.inputs if name in sample}
        found = dict(zip(self.names, self._session(self.names, feed), strict=True))
        return {value: found[value] if value in found else self._given(value, sample) for value in self.values}

    def _given(self, value: str, sample: Sample) -> np.ndarray:
        return sample[value] if value in sample else self.graph.constants[value]


def watched(samples: Samples, stage: str, progress: Progress | None, total: int) -> Iterator[Sample]:
    """The samples, one by one, telling `progress` how far it is. BudgetError when one takes too long."""
    for index, sample in enumerate(samples()):
        started = time.monotonic()
        yield sample
        check_time(f"{stage} of calibration sample {index + 1}", started)
        if progress:
            progress(stage, index + 1, total)
