"""A line about poor answers: where most of their error begins, and the option that mends it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from edgec.ir.graph import Graph
from edgec.quant.advice import POOR, Finding, costly_layers, depth
from edgec.quant.calibration import Calibration
from edgec.quant.decide import some
from edgec.quant.diagnose import BLAMED, examine
from edgec.quant.options import Progress, Samples
from edgec.quant.twins import twins_of


def culprit(
    graph: Graph, quantized: Graph, calibration: Calibration, outputs: Mapping[str, float], samples: Samples, progress: Progress | None
) -> list[str]:
    """The line as a list of one; of none where the answers are good enough, or where a Softmax or Sigmoid alone makes them look poor.

    outputs: the SQNR of each in dB.
    """
    if min(outputs.values(), default=POOR) >= POOR:
        return []
    diagnosis = examine(twins_of(graph, quantized, calibration), some(samples, calibration.samples, BLAMED), progress)
    finding = Finding(diagnosis, frozenset(node.name for node in graph.nodes if node.name))
    found = next(chain(costly_layers(finding), depth(finding)), None) if finding.worst_output < POOR else None
    mended = f"--min-sqnr {POOR:g} mends it: what needs more than 8 bits gets 16, or stays in float32"
    return [f"{found.what}; {mended}"] if found else []
