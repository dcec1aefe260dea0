"""Run a float graph in ONNX Runtime and look at values inside it."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from edgec.base.budget import check_tensors, check_time
from edgec.export import to_onnx
from edgec.export.runtime import Effort, Session
from edgec.ir.graph import Graph
from edgec.ir.liveness import live_bytes
from edgec.quant.given.options import Progress, Sample, Samples

AT_ONCE = 256 << 20  # bytes of values that are looked at together; of more the graph is run again for the others
AHEAD = 128 << 20  # bytes of values of samples that are computed while the one before them is looked at; none ahead where two have more


class Probe:
    """Sessions that compute `values` of `graph` for one sample at a time."""

    def __init__(self, graph: Graph, values: Sequence[str], *, exact: bool = False) -> None:
        """`exact` keeps every Q/DQ pair in float (no integer kernels are fused)."""
        self.values = list(dict.fromkeys(values))
        self.graph = graph
        effort = Effort.NONE if exact else Effort.ALL
        seen = [(part, _seen(graph, part)) for part in _portions(graph, self.values)]
        self._ahead = _ahead(max(_held(one) for _, one in seen))
        self._parts = [(part, one.outputs, _opened(one, effort)) for part, one in seen]

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
        """`each` of all the samples. Where their values are few bytes, the next samples are computed while the caller looks at one."""
        if not self._ahead:
            yield from map(self.each, samples)
            return
        with ThreadPoolExecutor(self._ahead) as workers:
            computed: deque[Future[dict[str, np.ndarray]]] = deque()
            for sample in samples:
                computed.append(workers.submit(self, sample))
                if len(computed) > self._ahead:
                    yield computed.popleft().result().items()
            while computed:
                yield computed.popleft().result().items()

    def _given(self, value: str, sample: Sample) -> np.ndarray:
        return sample[value] if value in sample else self.graph.constants[value]


def _seen(graph: Graph, values: Sequence[str]) -> Graph:
    """`graph` as it is computed for `values`."""
    seen = graph.copy()
    inside = [value for value in values if value not in graph.inputs and value not in graph.constants]
    seen.outputs = inside or list(graph.outputs[:1])
    return seen


def _held(seen: Graph) -> int:
    """The most bytes of a run, until whose end stays what is looked at."""
    held, where = live_bytes(seen)
    check_tensors(held, where)
    return held


def _ahead(held: int) -> int:
    """How many samples of so many bytes are computed while one is looked at: as many as there are cores, or none."""
    room = AHEAD // max(held, 1)
    return min(os.cpu_count() or 1, room) if room > 1 else 0


def _opened(seen: Graph, effort: Effort) -> Session:
    return Session(to_onnx(seen).SerializeToString(), effort, lean=True)


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
