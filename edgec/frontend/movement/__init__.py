"""Translations of data movement, and of its operands that only a run computes."""

from edgec.frontend.movement import late, movement  # their rules are in RULES now

__all__ = ["late", "movement"]
