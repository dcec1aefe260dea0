"""Translations of what picks or places elements by index: Gather*, Scatter*, TopK, NonZero and their like."""

from edgec.frontend.selection import gathering, scattering, selection  # their rules are in RULES now

__all__ = ["gathering", "scattering", "selection"]
