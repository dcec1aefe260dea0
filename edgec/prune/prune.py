"""From samples to a smaller network: what goes is chosen by what the outputs lose, and what stays is fitted anew."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgec.base.errors import ModelError, UsageError
from edgec.ir.graph import Graph, Node
from edgec.prune.channels import Cells
from edgec.prune.choice import Costs, choose, scaled, tried_levels
from edgec.prune.facts import PruningReport
from edgec.prune.merge import merge
from edgec.prune.moments import Moments, gather_moments, readers_of
from edgec.prune.order import Path, find_path, find_streams
from edgec.prune.refit import refit
from edgec.prune.report import problems_of, report_of
from edgec.prune.shrink import Kept, kept_indices, shrink
from edgec.prune.ties import find_cells
from edgec.quant import is_quantized
from edgec.quant.given.options import Progress, Samples
from edgec.quant.runs.carried import carried
from edgec.quant.runs.float_run import Probe
from edgec.quant.runs.noise import Noise
from edgec.quant.runs.statistics import SHARES
from edgec.quant.trials.shares import part, shares_of, some
from edgec.quant.trials.trial import Answers, judged

FITTED, TRIED = 64, 12  # samples at most that weights are fitted to, and that one stream's removal is tried on
JUDGES = 256
BEST = 200.0  # dB, stands for no difference at all


@dataclass(frozen=True)
class Pruned:
    """The smaller float graph, with the names of the original, and the report."""

    graph: Graph
    report: PruningReport


def prune(graph: Graph, samples: Samples, share: float, progress: Progress | None = None) -> Pruned:
    """Remove channels of an optimized float graph until `share` of its multiply-accumulates is gone.

    UsageError where that is more than can go, ModelError where nothing can, each with the reasons.
    """
    if is_quantized(graph):
        raise UsageError("the model came quantized: its weights cannot be fitted anew", where="--prune", hint="give the float model")
    cells = find_cells(graph)
    streams = find_streams(cells)
    if not streams:
        raise ModelError("no channel of this model can be removed", problems_of(graph, cells), hint="build it without --prune")
    fitted, held, count, judges, apart = _shared(carried(graph, samples))
    network = _Network(graph, cells, fitted, count, progress)
    costs = Costs(graph, cells, network.paths)
    most = 1 - costs([len(path.steps) for path in network.paths]) / costs.whole
    if share > most:
        what = f"{share:.0%} of the multiply-accumulates cannot go: {most:.1%} are in channels that can be removed"
        hint = f"give --prune {int(most * 100) / 100:g} or less"
        raise UsageError(what, problems_of(graph, cells), where="--prune", hint=hint)
    errors = network.errors(some(fitted, count, TRIED), min(count, TRIED))
    kept = network.kept(choose(network.paths, errors, costs, (1 - share) * costs.whole))
    plain, merged = shrink(graph, kept), network.without(kept)
    candidates = [merged, refit(graph, merged, kept, fitted, count, progress), plain]
    judge = _Judge(graph, some(held, judges, JUDGES), min(judges, JUDGES), progress)
    ratios = [judge(candidate) for candidate in candidates]
    best = candidates[int(np.argmax(ratios))]
    report = report_of(graph, best, cells, judge.samples)
    return Pruned(best, replace(report, asked=share, apart=apart, plain=ratios[-1], fitted=max(ratios)))


class _Network:
    """What is known of a network's channels: which go together, in which order, and what their readers can do without them."""

    def __init__(self, graph: Graph, cells: Cells, samples: Samples, count: int, progress: Progress | None) -> None:
        self._graph, self._cells, self._roots, self._progress = graph, cells, cells.roots(), progress
        self._nodes = readers_of(graph, cells)
        readers: dict[str, list[Node]] = {}
        for node in self._nodes:
            readers.setdefault(node.inputs[0], []).append(node)
        self._moments: Mapping[str, Moments] = gather_moments(graph, cells, list(readers), samples, count, progress)
        self.paths: list[Path] = []
        streams = find_streams(cells)
        for number, stream in enumerate(streams):
            self._tell("ordering channels", number, len(streams))
            self.paths.append(find_path(graph, cells, self._roots, stream, readers, self._moments))

    def kept(self, levels: Sequence[int]) -> Kept:
        """What stays when each path has gone so far."""
        stays = np.ones(len(self._roots), bool)
        for path, level in zip(self.paths, levels, strict=True):
            stays[path.gone(level)] = False
        return kept_indices(self._cells, self._roots, stays)

    def without(self, kept: Kept) -> Graph:
        """The smaller graph, its readers' weights merged."""
        return shrink(merge(self._graph, self._nodes, kept, self._moments), kept)

    def errors(self, samples: Samples, count: int) -> list[np.ndarray]:
        """For each path what the outputs lose by each of its steps, all else as it was."""
        judge, found = _Judge(self._graph, samples, count, None), []
        for number, path in enumerate(self.paths):
            self._tell("trying channels", number, len(self.paths))
            measured = {}
            for level in tried_levels(path) if path.steps else ():
                levels = [level if place == number else 0 for place in range(len(self.paths))]
                measured[level] = float(10 ** (-judge(self.without(self.kept(levels))) / 10))
            found.append(scaled(path, measured) if measured else np.zeros(1))
        return found

    def _tell(self, stage: str, done: int, total: int) -> None:
        if self._progress:
            self._progress(stage, done, total)


class _Judge:
    """SQNR of the worst of a network's outputs, in dB; what a final Softmax reads stands for its result."""

    def __init__(self, graph: Graph, samples: Samples, count: int, progress: Progress | None) -> None:
        self.graph, self.samples, self.count = graph, samples, count
        self._values = judged(graph)
        self._answers = Answers(graph, self._values, samples, count, progress)

    def __call__(self, small: Graph) -> float:
        probe, noise = Probe(small, self._values), {name: Noise() for name in self._values}
        for sample, exact in self._answers:
            stored = probe(sample)
            for name, one in noise.items():
                one.add(exact[name], stored[name])
        return min((one.sqnr for one in noise.values()), default=BEST)


def _shared(samples: Samples) -> tuple[Samples, Samples, int, int, bool]:
    """The samples that are fitted to and those that judge, how many there are of each, and whether they are others."""
    total = sum(1 for _ in samples())
    if not total:
        raise UsageError("there are no calibration samples", hint="give at least one")
    fitted, held = shares_of(total)[0]

    def count(shares: Collection[int]) -> int:
        return sum(index % SHARES in shares for index in range(total))

    few = some(part(samples, fitted), count(fitted), FITTED)
    return few, part(samples, held), min(count(fitted), FITTED), count(held), total > 1
