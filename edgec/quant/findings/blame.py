"""What each layer's own error does to the outputs: the float graph is run once for each layer, with the error of that layer alone."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from edgec.ir.graph import Node
from edgec.quant.decisions.twins import Twins
from edgec.quant.given.options import Sample
from edgec.quant.runs.float_run import Probe
from edgec.quant.runs.noise import Noise
from edgec.quant.trials.trial import judged


class Blame:
    """The float graph with an input of its own for the error of every value that is stored or that a layer gives."""

    def __init__(self, twins: Twins) -> None:
        self._graph = graph = twins.exact.copy()
        judges, computed = judged(graph), twins.computed
        self._errors: dict[str, str] = {}
        for value in twins.results:
            if value in computed:
                readers = list(graph.readers(value))
            else:  # float operators go on reading what it was
                starts = [graph.producer(layer.node.outputs[0]) for layer in twins.readers(value)]
                readers = [node for node in starts if node is not None]
            error, disturbed = graph.fresh(f"{value}_error"), graph.fresh(f"{value}_disturbed")
            kind = graph.types[error] = graph.types[value]
            graph.inputs.append(error)
            add = Node("Add", [value, error], [disturbed], {}, disturbed)
            source = graph.producer(value)
            if source is None:
                graph.insert(add, [kind], before=graph.nodes[0])
            else:
                graph.insert(add, [kind], after=source)
            for reader in readers:
                graph.rewire(reader, [disturbed if name == value else name for name in reader.inputs])
            judges = [disturbed if name == value and value in computed else name for name in judges]
            self._errors[value] = error
        self._judges = judges
        self._probe = Probe(graph, judges)

    def __call__(self, sample: Sample, errors: Mapping[str, np.ndarray]) -> dict[str, float]:
        """For each value that errs, the sum over outputs of (energy of the error that it causes there) / (energy of the output)."""
        quiet = {self._errors[value]: np.zeros_like(error) for value, error in errors.items()}
        wanted, found = self._probe({**sample, **quiet}), {}
        for value, error in errors.items():
            if error.any():
                answers = self._probe({**sample, **quiet, self._errors[value]: error})
                found[value] = sum(_relative(wanted[name], answers[name]) for name in self._judges)
        return found


def _relative(wanted: np.ndarray, found: np.ndarray) -> float:
    noise = Noise()
    noise.add(wanted, found)
    return noise.error / noise.signal if noise.signal > 0 else 0.0
