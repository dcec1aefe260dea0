"""What a calibration does to the layers themselves, before anything of them is stored."""

from __future__ import annotations

from edgec.ir.graph import Graph
from edgec.quant.channels.joined import join
from edgec.quant.channels.split import apply_splits
from edgec.quant.decisions.calibration import Calibration


def divide(graph: Graph, calibration: Calibration) -> None:
    """Join and split layers in place; the function stays. Splits are of the layers that joining leaves."""
    join(graph, calibration.joined)
    apply_splits(graph, calibration.splits)
