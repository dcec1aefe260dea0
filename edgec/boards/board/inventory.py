"""The boards one has: devices.yaml, read strictly, and the choice of some of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from edgec.base.errors import Problem, UsageError, did_you_mean
from edgec.boards.board.entry import entry_text, read_entry, shown
from edgec.boards.board.strict_yaml import Unreadable, parse
from edgec.boards.device import Device

__all__ = ["BUILT_IN", "FILE", "Inventory", "choose", "entry_text", "inventory_path", "load_inventory", "read_inventory", "with_entry"]

FILE, VARIABLE = "devices.yaml", "EDGEC_DEVICES"
BUILT_IN = (Device("local", "host", "local"),)


@dataclass(frozen=True)
class Inventory:
    """Devices in the order of the file; path is None for the built-in inventory, which has this machine alone."""

    path: Path | None
    devices: tuple[Device, ...]


def inventory_path(path: Path | None = None) -> Path | None:
    """The file that counts: the given one, else $EDGEC_DEVICES, else ./devices.yaml where it exists, else none."""
    if path is not None:
        return path
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE]).expanduser()
    return Path(FILE) if Path(FILE).is_file() else None


def load_inventory(path: Path | None = None) -> Inventory:
    """The inventory; UsageError lists everything that is wrong with the file, or says that a file which was asked for is not there."""
    found = inventory_path(path)
    if found is None:
        return Inventory(None, BUILT_IN)
    try:
        text = found.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageError(f"cannot read the inventory: {reason}", where=str(found), hint="see docs/devices.md") from error
    return Inventory(found, read_inventory(text, found))


def read_inventory(text: str, path: Path) -> tuple[Device, ...]:
    """The devices that the text of an inventory describes. path: where it lies, for messages and for paths in it."""
    try:
        content, problems = parse(text.removeprefix("\N{BYTE ORDER MARK}"))
    except Unreadable as error:
        raise UsageError(f"not an inventory: {error}", where=str(path), hint="see docs/devices.md") from error
    problems = [Problem(item.what, f"{path}: {item.where}", item.hint) for item in problems]
    keys = content if isinstance(content, dict) else {}
    problems += [Problem(f"unknown key {shown(key)}", str(path), "the boards go below `devices:`") for key in keys if key != "devices"]
    entries = keys.get("devices")
    if not isinstance(entries, dict) or not entries:
        problems.append(Problem("names no board", str(path), "`devices:`, and below it a name with `target` and `connection`"))
        entries = {}
    devices = []
    folder = path.absolute().parent
    for name, entry in entries.items():
        device, found = read_entry(name, entry, folder, str(path))
        devices += [device] if device else []
        problems += found
    problems += _same_names(devices, path)
    if problems:
        raise UsageError(f"{len(problems)} things in the inventory are wrong", problems, where=str(path), hint="see docs/devices.md")
    return tuple(devices)


def _same_names(devices: Sequence[Device], path: Path) -> list[Problem]:
    """Names become names of files, and some disks do not tell capitals."""
    seen: dict[str, str] = {}
    found = []
    for device in devices:
        other = seen.setdefault(device.name.lower(), device.name)
        if other != device.name:
            found.append(
                Problem(f"{device.name!r} differs from {other!r} by capitals only", f"{path}: {device.name}", "rename one of them")
            )
    return found


def choose(inventory: Inventory, names: Sequence[str] = (), tags: Sequence[str] = (), everything: bool = False) -> tuple[Device, ...]:
    """The devices that are named or have one of the tags, in the inventory's order; the only one where nothing is asked for.

    UsageError for unknown names and tags, all at once, and where nothing is asked for and there are several.
    """
    devices = inventory.devices
    known_tags = {tag for device in devices for tag in device.tags}
    where = str(inventory.path) if inventory.path else ""
    problems = [_unknown("device", name, [device.name for device in devices]) for name in names if all(name != d.name for d in devices)]
    problems += [_unknown("tag", tag, known_tags) for tag in tags if tag not in known_tags]
    if problems:
        raise UsageError("no such board", problems, where=where)
    if everything or (not names and not tags and len(devices) == 1):
        return devices
    if not names and not tags:
        known = ", ".join(device.name for device in devices[:8])
        raise UsageError("which board?", where=where, hint=f"--device NAME, --tag TAG or --all; there are {known}")
    return tuple(device for device in devices if device.name in names or set(tags) & set(device.tags))


def _unknown(what: str, word: str, known: Sequence[str] | set[str]) -> Problem:
    return Problem(f"unknown {what} {shown(word)}", hint=did_you_mean(word, known) if known else f"no board has a {what}")


def with_entry(text: str | None, device: Device, path: Path) -> str:
    """The text of an inventory with one more device at its end; comments stay. None: a new one, which has this machine too.

    UsageError when the name is taken, the text is no inventory, or its entries are not written one below the other.
    """
    if text is None:
        text = "devices:\n" + "".join(_indented(entry_text(local), 2, "\n") for local in BUILT_IN if local.name != device.name)
        return text + _indented(entry_text(device), 2, "\n")
    devices = read_inventory(text, path)
    if any(device.name.lower() == other.name.lower() for other in devices):
        raise UsageError(f"there is a board {device.name!r} already", where=str(path), hint="give another one with --name")
    document = yaml.compose(text.removeprefix("\N{BYTE ORDER MARK}"), Loader=yaml.SafeLoader)
    assert document is not None, "it was read above"
    entries = document.value[0][1]
    end = "\r\n" if "\r\n" in text else "\n"
    joint = "" if text.endswith("\n") else end
    result = text + joint + _indented(entry_text(device), entries.value[0][0].start_mark.column, end)
    try:
        grown = not entries.flow_style and read_inventory(result, path) == (*devices, device)
    except UsageError:
        grown = False
    if not grown:
        raise UsageError("cannot add to the inventory as it is written", where=str(path), hint=f"add by hand:\n{entry_text(device)}")
    return result


def _indented(text: str, columns: int, end: str) -> str:
    return "".join(f"{' ' * columns}{line}{end}" for line in text.splitlines())
