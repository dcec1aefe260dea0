"""Translations of what runs in turns or not at all: If, Loop, Scan, recurrent networks, sequences and optionals."""

from edgec.frontend.control import control, recurrent, sequences  # their rules are in RULES now

__all__ = ["control", "recurrent", "sequences"]
