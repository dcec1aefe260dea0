"""Translations of what runs in turns or not at all: If, Loop, Scan, recurrent networks, sequences and optionals."""

from edgec.frontend.control import control, recurrent, scan, sequences  # noqa: F401  (their rules are in RULES now)
