"""Kinds of trouble with a board that callers treat differently; anything else is a plain DeviceError."""

from __future__ import annotations

from edgec.base.errors import DeviceError
from edgec.package.running import BoardTimeout, Flood

__all__ = ["BoardLost", "BoardTimeout", "Flood"]


class BoardLost(DeviceError):
    """The line to the board broke, or never stood: what was asked may or may not have happened. Trying again may help."""
