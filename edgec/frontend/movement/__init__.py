"""Translations of data movement, and of its operands that only a run computes."""

from edgec.frontend.movement import movement  # noqa: F401  (their rules are in RULES now)
