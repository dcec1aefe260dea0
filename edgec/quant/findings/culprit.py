"""A line about poor answers: where most of their error begins, and the option that mends it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain

from edgec.ir.graph import Graph
from edgec.quant.findings.advice import POOR, Finding, costly_layers, depth
from edgec.records.diagnosis import Diagnosis


def culprit(graph: Graph, outputs: Mapping[str, float], examined: Callable[[], Diagnosis]) -> list[str]:
    """The line as a list of one; of none where the answers are good enough, or where a Softmax or Sigmoid alone makes them look poor.

    outputs: the SQNR of each in dB. examined: what the quantized network loses where.
    """
    if min(outputs.values(), default=POOR) >= POOR:
        return []
    diagnosis = examined()
    finding = Finding(diagnosis, frozenset(node.name for node in graph.nodes if node.name))
    found = next(chain(costly_layers(finding), depth(finding)), None) if finding.worst_output < POOR else None
    mended = f"--min-sqnr {POOR:g} mends it: what needs more than 8 bits gets 16, or stays in float32"
    return [f"{found.what}; {mended}"] if found else []
