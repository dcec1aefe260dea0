"""Run a float graph in ONNX Runtime and look at values inside it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from edgec.budget import check_tensors, check_time
from edgec.export import to_onnx
from edgec.ir.graph import Graph
from edgec.ir.liveness import live_bytes
from edgec.quant.options import Progress, Sample, Samples
from edgec.runtime import Effort, Session

AT_ONCE = 256 << 20  # bytes of values that are looked at together; of more the graph is run again for the others
AHEAD = 64 << 20  # bytes of values that are there a second time, so that a sample is computed while the one before it is looked at


class Probe:
    """Sessions that compute `values` of `graph` for one sample at a time."""

    def __init__(self, graph: Graph, values: Sequence[str], *, exact: bool = False) -> None:
        """`exact` keeps every Q/DQ pair in float (no integer kernels are fused)."""
        self.values = list(dict.fromkeys(values))
        self.graph = graph
        effort = Effort.NONE if exact else Effort.EXTENDED
        self._parts = [(part, *_opened(graph, part, effort)) for part in _portions(graph, self.values)]

    def __call__(self, sample: Sample) -> dict[str, np.ndarray]:
        """The values, those that are graph inputs or constants included."""
        return dict(self.each(sample))

    def each(self, sample: Sample) -> Iterator[tuple[str, np.ndarray]]:
        """The same one by one, so that no more than AT_ONCE of them are there together."""
        feed = {name: sample[name] for name in self.graph.inputs if name in sample}
        for part, names, session in self._parts:
            found = dict(zip(names, session(names, feed), strict=True))
            for value in part:
                yield value, found.pop(value) if value in found else self._given(value, sample)

    def over(self, samples: Iterable[Sample]) -> Iterator[Iterable[tuple[str, np.ndarray]]]:
        """`each` of all the samples. Where the values are few bytes, the next sample is computed while the caller looks at one."""
        if sum(self.graph.types[value].bytes for value in self.values) > AHEAD:
            yield from map(self.each, samples)
            return
        with ThreadPoolExecutor(1) as worker:
            computed: Future[dict[str, np.ndarray]] | None = None
            for sample in samples:
                before = computed.result() if computed is not None else None
                computed = worker.submit(self, sample)
                if before is not None:
                    yield before.items()
            if computed is not None:
                yield computed.result().items()

    def _given(self, value: str, sample: Sample) -> np.ndarray:
        return sample[value] if value in sample else self.graph.constants[value]


def _opened(graph: Graph, values: Sequence[str], effort: Effort) -> tuple[list[str], Session]:
    """What is to be computed for `values`, and the session that does."""
    seen = graph.copy()
    inside = [value for value in values if value not in graph.inputs and value not in graph.constants]
    seen.outputs = inside or list(graph.outputs[:1])
    check_tensors(*live_bytes(seen))  # what is looked at stays until the end of a run
    return seen.outputs, Session(to_onnx(seen).SerializeToString(), effort, lean=True)


def _portions(graph: Graph, values: Sequence[str]) -> Iterator[list[str]]:
    """`values` in their order, in parts of at most AT_ONCE bytes, or of one value."""
    part, size = list[str](), 0
    for value in values:
        more = graph.types[value].bytes
        if part and size + more > AT_ONCE:
            yield part
            part, size = [], 0
        part, size = [*part, value], size + more
    yield part


def watched(samples: Samples, stage: str, progress: Progress | None, total: int) -> Iterator[Sample]:
    """The samples, one by one, telling `progress` how far it is. BudgetError when one takes too long."""
    for index, sample in enumerate(samples()):
        started = time.monotonic()
        yield sample
        check_time(f"{stage} of calibration sample {index + 1}", started)
        if progress:
            progress(stage, index + 1, total)
