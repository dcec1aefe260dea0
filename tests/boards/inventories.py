"""Inventories as tests write them."""

from __future__ import annotations

from pathlib import Path

from edgec.boards.board.entry import entry_text
from edgec.boards.device import Device


def keep(*entries: Device) -> Path:
    """An inventory in the current folder."""
    text = "".join(f"  {line}\n" for device in entries for line in entry_text(device).splitlines())
    Path("devices.yaml").write_text(f"devices:\n{text}")
    return Path("devices.yaml")
