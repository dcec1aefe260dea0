"""How many of the samples the steps are searched with: all, unless a run of the network is long.

The ranges of values are those of all samples. What follows, a search of some twenty runs for each sample, takes no more of them than MOST
operations pay for: of a network with long runs each sample has many numbers to say of every layer, and their count says little more.
"""

from __future__ import annotations

from edgec.ir.graph import Graph
from edgec.ops.work import operations
from edgec.quant.given.options import QuantizeOptions

RUNS = 20  # of each sample, about
MOST = 4 << 40  # operations: minutes of a core
FEWEST = 16  # with fewer each half must be fitted to and judged


def enough(graph: Graph, count: int, options: QuantizeOptions) -> int:
    """How many of `count` samples; high effort takes all."""
    if options.effort == "high":
        return count
    return min(count, max(FEWEST, MOST // (RUNS * work(graph))))


def turns_paid(graph: Graph, count: int, turns: int, options: QuantizeOptions) -> int:
    """How many of the turns in which other samples judge; one at least."""
    return turns if options.effort == "high" or RUNS * count * work(graph) <= MOST else min(turns, 1)


def work(graph: Graph) -> int:
    """Operations of a run."""
    return max(1, sum(operations(node, graph.types) for node in graph.nodes))
