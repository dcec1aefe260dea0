"""Ranges by what the network's answers lose: a value is stored in 8 bits, and all behind it computes in float.

What one value's errors do to the answers is measured without those of all others, so a few samples tell two ranges apart, and since
errors are small, their effects add up: the best range of each value by itself is the best for all. An observer sees the numbers only;
here it counts what the layers behind make of them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import islice

import numpy as np

from edgec.budget import check_time
from edgec.ir.graph import Graph
from edgec.quant.layers import rounded
from edgec.quant.observers import Range
from edgec.quant.options import Progress, Sample, Samples
from edgec.quant.parameters import parameters_of
from edgec.quant.run import Probe
from edgec.quant.trial import judged

LISTENERS = 8  # samples that are listened to
SCANNED = 3  # of them tell whether a value is loud
LOUD = 0.01  # of the noise that was heard before: a value that makes less of it keeps its range
WIDTHS = (1.0, 0.8, 0.9, 1.15, 1.35)  # of the range that is there already, which comes first
ROOT = 0.25  # of the samples' error energies, whose sum decides: none of them decides alone


class Echoes:
    """Chooses ranges for values of `graph` by the answers to `samples`, which are few."""

    def __init__(self, graph: Graph, samples: Samples, total: int, progress: Progress | None) -> None:
        self._graph, self._samples, self._total, self._progress = graph, samples, total, progress
        self._known: dict[tuple[str, ...], Range] = {}
        self._asked, self._heard = 0, 0.0

    def __call__(self, members: tuple[str, ...], start: Range, ends: Range) -> Range:
        """The range of the least error, for values that share one; `start`, unless they are loud and another is measurably better.

        ends: the least and the largest number seen, beyond which no range goes.
        """
        if members not in self._known:
            self._known[members] = self._search(members, start, ends)
        return self._known[members]

    def _search(self, members: Sequence[str], start: Range, ends: Range) -> Range:
        low, high = min(0.0, ends[0]), max(0.0, ends[1])
        ranges = list(dict.fromkeys((max(start[0] * width, low), min(start[1] * width, high)) for width in WIDTHS))
        computed = [member for member in members if member not in self._graph.constants]
        noise = sum(float(self._errors(member, ranges[:1], SCANNED).mean()) for member in computed)
        self._heard += noise
        self._asked += 1
        if self._progress:
            self._progress("ranges by output error", self._asked, self._total)
        if noise <= LOUD * self._heard:
            return start
        errors = np.sum([self._errors(member, ranges, LISTENERS) for member in computed], axis=0) ** ROOT
        gains = errors[:, :1] - errors
        best = int(np.argmax(np.round(gains.mean(axis=0), 12)))
        chance = gains[:, best].std(ddof=1) / len(gains) ** 0.5 if len(gains) > 1 else 0.0
        return ranges[best] if gains[:, best].mean() > chance else start

    def _errors(self, value: str, ranges: Sequence[Range], most: int) -> np.ndarray:
        """[samples, ranges]: energy of the answers' errors when `value` is stored over each range, of that of the answers."""
        behind = rest_of(self._graph, value)
        if not behind.outputs:
            return np.zeros((1, len(ranges)))
        before, after = Probe(self._graph, behind.inputs), Probe(behind, behind.outputs)
        stored = [parameters_of(limits) for limits in ranges]
        signal, errors = [], []
        for sample in islice(self._samples(), most):
            started = time.monotonic()
            given = before(sample)
            exact = after(given)
            found = [_energies(exact, after({**given, value: rounded(given[value], kept)})) for kept in stored]
            signal.append(_energies(exact, None))
            errors.append(found)
            check_time(f"the ranges of {value}", started)
        whole = np.sum(signal, axis=0)
        return np.asarray((np.array(errors) / np.where(whole > 0, whole, np.inf)).mean(axis=2))


def _energies(exact: Sample, found: Sample | None) -> list[float]:
    """Of each answer, or of what another differs in."""
    wide = {name: array.astype(np.float64) for name, array in exact.items()}
    return [float(np.square(array if found is None else array - found[name]).sum()) for name, array in wide.items()]


def rest_of(graph: Graph, value: str) -> Graph:
    """What follows from `value` in `graph`, up to the values that stand for its outputs; everything else that it reads is an input."""
    reached, nodes = {value}, []
    for node in graph.nodes:
        if not reached.isdisjoint(node.inputs):
            nodes.append(node)
            reached.update(node.outputs)
    read = dict.fromkeys([value, *(name for node in nodes for name in node.inputs if name)])
    inputs = [name for name in read if name == value or (name not in reached and name not in graph.constants)]
    outputs = [name for name in judged(graph) if name in reached and name != value]
    constants = {name: graph.constants[name] for name in read if name in graph.constants}
    part = Graph(graph.name, inputs, outputs, nodes, constants, graph.types, graph.metadata)
    return part.copy()
