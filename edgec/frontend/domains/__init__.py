"""Translations of the domains com.microsoft and ai.onnx.ml."""

from edgec.frontend.domains import classical, contributed, heads, trees  # their rules are in RULES now

__all__ = ["classical", "contributed", "heads", "trees"]
