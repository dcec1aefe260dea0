"""Rewrites of a Graph: one function for each, PIPELINE is their order."""

from edgec.passes.pipeline import PIPELINE, optimize

__all__ = ["PIPELINE", "optimize"]
