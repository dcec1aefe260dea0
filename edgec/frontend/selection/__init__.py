"""Translations of what picks or places elements by index: Gather*, Scatter*, TopK, NonZero and their like."""

from edgec.frontend.selection import gathering, one_hot, scattering, selection  # noqa: F401  (their rules are in RULES now)
