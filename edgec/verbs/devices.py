"""The boards of an inventory, and what becomes of a look at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from edgec.boards.board.checks import Check, check_devices
from edgec.boards.board.inventory import choose, load_inventory
from edgec.boards.device import Device


@dataclass(frozen=True)
class Devices:
    """Boards in the order of their inventory. path: its file, None where it is this machine alone. checks: one a board where asked for."""

    path: Path | None
    devices: tuple[Device, ...]
    checks: tuple[Check, ...] = ()


def devices(
    names: Sequence[str] = (), *, tags: Sequence[str] = (), everything: bool = False, inventory: str | Path | None = None,
    check: bool = False,
) -> Devices:  # fmt: skip
    """The boards of the inventory that are named or have one of the tags; all where nothing else is asked for.

    check: connect to each, all at once, and say what it is and whether packages can run there; one that fails has a check that says why.
    inventory: a file, else $EDGEC_DEVICES, else ./devices.yaml, else this machine. UsageError for what is wrong with it.
    """
    known = load_inventory(None if inventory is None else Path(inventory))
    chosen = choose(known, names, tags, everything or not (names or tags))
    return Devices(known.path, chosen, tuple(check_devices(chosen)) if check else ())
