"""The versions of a package on a board: NAME/versions/<version>/ are whole copies, NAME/current names the one in use.

A version is named by the sha256 of its files.json. A name is written aside and renamed, so that `current` is always one whole version.
"""

from __future__ import annotations

import re

from edgec.devices.connection import Connection
from edgec.devices.errors import BoardLost
from edgec.devices.parcel import LISTING
from edgec.errors import DeviceError

CURRENT, PREVIOUS = "current", "previous"
_VERSION = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def folder_of(connection: Connection, name: str) -> str:
    return f"{connection.device.work}/{name}"


def version_folder(connection: Connection, name: str, version: str) -> str:
    return f"{folder_of(connection, name)}/versions/{version}"


def incoming_folder(connection: Connection, name: str, version: str) -> str:
    return f"{folder_of(connection, name)}/incoming/{version}"


def pointed(connection: Connection, name: str, pointer: str) -> str | None:
    """The version that `current` or `previous` names; None where it names none."""
    content = connection.read(f"{folder_of(connection, name)}/{pointer}")
    text = (content or b"")[:100].decode("ascii", errors="replace").strip()
    return text if is_version(text) else None


def point(connection: Connection, name: str, pointer: str, version: str) -> None:
    """Switch at once."""
    path = f"{folder_of(connection, name)}/{pointer}"
    connection.write(f"{path}.new", f"{version}\n".encode())
    connection.move(f"{path}.new", path)


def switch(connection: Connection, name: str, version: str) -> None:
    """Make a version that is there the one in use; the one before it stays, for roll_back."""
    current = pointed(connection, name, CURRENT)
    if current == version:
        return
    if current is not None:
        point(connection, name, PREVIOUS, current)
    point(connection, name, CURRENT, version)


def previous_of(connection: Connection, name: str) -> str:
    """The version that roll_back switches to; DeviceError when there is none."""
    previous, current = pointed(connection, name, PREVIOUS), pointed(connection, name, CURRENT)
    if previous is None or previous == current or not is_there(connection, name, previous):
        hint = "only one version was ever deployed there" if current else f"deploy {name} first"
        raise DeviceError(f"there is no previous version of {name} to roll back to", where=connection.device.name, hint=hint)
    return previous


def roll_back(connection: Connection, name: str) -> str:
    """Switch to the version before the present one, and give its name. DeviceError when there is none."""
    previous = previous_of(connection, name)
    point(connection, name, CURRENT, previous)
    connection.remove(f"{folder_of(connection, name)}/{PREVIOUS}")
    return previous


def withdraw(connection: Connection, name: str, version: str) -> str | None:
    """Never use a version: roll back where it is in use, or leave no version in use, and remove it. The version in use afterwards."""
    if pointed(connection, name, CURRENT) == version:
        try:
            roll_back(connection, name)
        except BoardLost:
            raise
        except DeviceError:
            connection.remove(f"{folder_of(connection, name)}/{CURRENT}")
    if pointed(connection, name, PREVIOUS) == version:
        connection.remove(f"{folder_of(connection, name)}/{PREVIOUS}")
    discard(connection, name, version)
    return pointed(connection, name, CURRENT)


def discard(connection: Connection, name: str, version: str) -> None:
    """Remove a version that is not in use. It leaves `versions` at once, so that what is there is always whole."""
    aside = incoming_folder(connection, name, version)
    connection.remove(aside)
    if connection.sizes(version_folder(connection, name, version)):
        connection.make_folder(f"{folder_of(connection, name)}/incoming")
        connection.move(version_folder(connection, name, version), aside)
        connection.remove(aside)


def deployed(connection: Connection) -> dict[str, str]:
    """The version in use of every package on the board."""
    parts = [path.split("/") for path in connection.sizes(connection.device.work)]
    names = sorted(part[0] for part in parts if len(part) == 2 and part[1] == CURRENT and _NAME.fullmatch(part[0]))
    return {name: version for name in names if (version := pointed(connection, name, CURRENT))}


def is_version(name: str) -> bool:
    """Whether a name is one that we give: nothing else is ever removed."""
    return _VERSION.fullmatch(name) is not None


def is_there(connection: Connection, name: str, version: str) -> bool:
    return connection.read(f"{version_folder(connection, name, version)}/{LISTING}") is not None
