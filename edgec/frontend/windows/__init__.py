"""Translations of what slides a window over images or samples them: convolutions, pools, regions, grids."""

from edgec.frontend.windows import columns, deformable, lp_pool, region_pooling, sampling, window  # noqa: F401  (their rules are in RULES now)
