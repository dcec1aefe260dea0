"""What was removed and what it costs, measured; and what could not be removed, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from edgec.base.errors import Problem
from edgec.exam.comparison import compare_answers
from edgec.ir.graph import Graph
from edgec.prune.channels import Cells
from edgec.prune.choice import products_of
from edgec.prune.facts import PrunedLayer, PruningReport
from edgec.prune.ties import weighs
from edgec.quant.given.options import Sample, Samples
from edgec.quant.runs.float_run import Probe

BEST = 200.0  # dB, stands for no difference at all
NAMED = 10  # layers that an error names


def problems_of(graph: Graph, cells: Cells) -> list[Problem]:
    """Layers that keep all their channels."""
    return [Problem(f"keeps its channels: {reason}", where) for where, reason in list(whole_layers(graph, cells).items())[:NAMED]]


def whole_layers(graph: Graph, cells: Cells) -> dict[str, str]:
    """The layers that must keep all their channels, and why."""
    found = dict[str, str]()
    for value, reason in cells.why().items():
        node = graph.producer(value)
        found[(node.name if node is not None else "") or value] = reason
    return found


def report_of(graph: Graph, small: Graph, cells: Cells, samples: Samples) -> PruningReport:
    """Of all that `graph` and `small` themselves tell, on samples that judge."""
    before, after = (sum(products_of(one, node) for node in one.nodes) for one in (graph, small))
    sizes = [sum(array.size for array in one.constants.values() if array.dtype.kind == "f") for one in (graph, small)]
    names = list(graph.outputs)
    found = compare_answers(names, samples(), _in_order(graph, names), _in_order(small, names))
    scores = [score for score in found.outputs if not score.counts] or found.outputs
    agreements = [score.agreement for score in found.outputs if score.chooses and score.output in graph.answered]
    return PruningReport(
        macs=1 - after / before,
        parameters=1 - sizes[1] / sizes[0],
        samples=found.samples,
        sqnr=round(min(max(min(score.sqnr_db for score in scores), -BEST), BEST), 2),
        agreement=round(min(agreements), 4) if agreements else None,
        layers=_layers(graph, small, cells),
        whole=whole_layers(graph, cells),
    )


def _layers(graph: Graph, small: Graph, cells: Cells) -> tuple[PrunedLayer, ...]:
    found = []
    for node in graph.nodes:
        if weighs(graph, node) and (channels := cells.of.get(node.outputs[0])) is not None:
            before, after = (one.types[node.outputs[0]].static_shape[channels.axis] for one in (graph, small))
            if before != after:
                found.append(PrunedLayer(node.name or node.outputs[0], node.op, before, after))
    return tuple(found)


def _in_order(graph: Graph, names: Sequence[str]) -> Callable[[Sample], list[np.ndarray]]:
    probe = Probe(graph, names)

    def answers(sample: Sample) -> list[np.ndarray]:
        found = probe(sample)
        return [found[name] for name in names]

    return answers
