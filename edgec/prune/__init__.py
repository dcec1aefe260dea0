"""Structured pruning: channels leave a float network, and its shapes shrink."""

from __future__ import annotations

from edgec.prune.facts import PrunedLayer, PruningReport
from edgec.prune.prune import Pruned, prune

__all__ = ["Pruned", "PrunedLayer", "PruningReport", "prune"]
