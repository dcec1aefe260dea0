"""Kinds of trouble with a board that callers treat differently; anything else is a plain DeviceError."""

from __future__ import annotations

from edgec.errors import DeviceError


class BoardLost(DeviceError):
    """The line to the board broke, or never stood: what was asked may or may not have happened. Trying again may help."""


class BoardTimeout(DeviceError):
    """The board is there and did not finish in time; what it ran has been killed, as far as it still listens."""
