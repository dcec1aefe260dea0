"""The number of a package's version, which a board never lets fall: the highest that it has accepted of each package, in NAME/highest."""

from __future__ import annotations

from edgec.base.errors import DeviceError
from edgec.boards.connect.connection import Connection
from edgec.boards.deploy.lock import Lock
from edgec.boards.deploy.parcel import Parcel
from edgec.boards.deploy.versions import folder_of, put

HIGHEST = "highest"
_MOST = 2**48


class Downgrade(DeviceError):
    """The board has accepted a later version of this package."""


def number_of(parcel: Parcel) -> int:
    """A package without a number comes before all that have one."""
    return parcel.manifest.package_version or 0


def highest_of(connection: Connection, name: str) -> int:
    """0 where no version had a number. DeviceError for what is no number: then nobody knows."""
    return highest_in(connection, name, connection.read(f"{folder_of(connection, name)}/{HIGHEST}"))


def highest_in(connection: Connection, name: str, content: bytes | None) -> int:
    """The same, of what the file holds."""
    if content is None:
        return 0
    text = content[:40].decode("ascii", errors="replace").strip()
    if not (text.isascii() and text.isdecimal() and int(text) <= _MOST):
        hint = f"look at {folder_of(connection, name)}/{HIGHEST} on the board; --allow-downgrade writes it anew"
        what = f"the board does not tell which version of {name} is the highest that it has accepted"
        raise DeviceError(what, where=connection.device.name, hint=hint)
    return int(text)


def check_number(connection: Connection, parcel: Parcel, highest: int) -> None:
    """Downgrade when the board has accepted a higher number of this package."""
    name, number = parcel.facts.name, number_of(parcel)
    if number < highest:
        what = f"version {number or 'without a number'} of {name} is older than {highest}, which this board has accepted"
        hint = "deploy a later one; --allow-downgrade deploys it all the same, --roll-back goes back by one"
        raise Downgrade(what, where=connection.device.name, hint=hint)


def is_news(connection: Connection, parcel: Parcel, content: bytes | None) -> bool:
    """Whether the parcel's number is to be remembered, where the file holds this."""
    try:
        highest = highest_in(connection, parcel.facts.name, content)
    except DeviceError:
        highest = -1
    return number_of(parcel) > highest and (number_of(parcel) > 0 or highest < 0)


def remember_number(lock: Lock, parcel: Parcel) -> None:
    """It is on the disk before the version is in use, so that a cut never forgets it."""
    put(lock, parcel.facts.name, {HIGHEST: str(number_of(parcel))})
