"""Kinds of trouble with a board that callers treat differently; anything else is a plain DeviceError."""

from __future__ import annotations

from edgec.base.errors import DeviceError
from edgec.package.running import BoardTimeout, Flood

__all__ = ["ONE_DISK", "BoardLost", "BoardTimeout", "Flood"]

ONE_DISK = "keep all of the board's `work` folder on one disk: what moves between two is not there at once"  # a next step


class BoardLost(DeviceError):
    """The line to the board broke, or never stood: what was asked may or may not have happened. Trying again may help."""
