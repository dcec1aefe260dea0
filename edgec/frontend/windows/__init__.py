"""Translations of what slides a window over images or samples them: convolutions, pools, regions, grids."""

from edgec.frontend.windows import columns, deformable, regions, sampling, window  # their rules are in RULES now

__all__ = ["columns", "deformable", "regions", "sampling", "window"]
