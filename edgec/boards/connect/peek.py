"""Small files and the sizes below folders, many at once: a far board tells all of them in one round trip, where each takes several.

The script is constant: the mark between its parts, which nobody on the board can foresee, and the paths are its arguments.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgec.boards.connect.connection import Connection
from edgec.boards.connect.trouble import Flood

# in a folder: names and sizes, two lists in the same order, since file names may hold anything but NUL
LIST = 'find . -type f -print0 && printf "\\0" && find . -type f -exec stat -c %s {} +'
_MOST_FILES, _MOST_DEPTH = 100_000, 64
# $1: the mark; folders; the mark again; files. Any other status than 0, and the board is asked for each of them by itself.
_SCRIPT = f"""mark=$1 CDPATH=; shift
while [ "$1" != "$mark" ]; do
printf '\\n%s\\n' "$mark"
if [ -d "$1" ]; then (cd "$1" && {LIST}) || exit 1; elif [ -e "$1" ]; then exit 1; fi
shift
done
shift
for file; do
printf '\\n%s\\n' "$mark"
if [ -f "$file" ]; then echo there; cat "$file" || exit 1; elif [ -e "$file" ] || [ -L "$file" ]; then exit 1; fi
done
printf '\\n%s\\n' "$mark"
"""


@dataclass(frozen=True)
class Sight:
    """files: what each holds, None where there is none. sizes: of every folder, as Connection.sizes tells them. at_once: whether they were
    seen in one go, by what the board's own programs tell."""

    files: Mapping[str, bytes | None]
    sizes: Mapping[str, Mapping[str, int]]
    at_once: bool


def peek(connection: Connection, folders: Sequence[str], files: Sequence[str]) -> Sight:
    """All of them, the folders first; the same answers, and errors, as from Connection.sizes and Connection.read."""
    told = None if connection.device.connection in ("local", "emulated") else _told(connection, folders, files)
    if told is not None:
        return told
    sizes = {path: connection.sizes(path) for path in folders}
    return Sight({path: connection.read(path) for path in files}, sizes, False)


def _told(connection: Connection, folders: Sequence[str], files: Sequence[str]) -> Sight | None:
    """None where the board lacks what the script needs, where something is not what it seems, is too much for one answer, or changes
    meanwhile."""
    mark = f"----{secrets.token_hex(8)}"
    places = [f"./{path}" if path.startswith("-") else path for path in (*folders, *files)]
    words = [mark, *places[: len(folders)], mark, *places[len(folders) :]]
    try:
        answer = connection.execute(["env", "LC_ALL=C", "sh", "-c", _SCRIPT, "edgec", *words], seconds=connection.device.limits.transfer)
    except Flood:
        return None
    first, *parts = answer.output.split(f"\n{mark}\n".encode())
    if answer.status != 0 or first or len(parts) != len(places) + 1 or parts.pop():
        return None
    sizes = [sizes_of(part) for part in parts[: len(folders)]]
    contents = [part.removeprefix(b"there\n") if part else None for part in parts[len(folders) :]]
    if None in sizes:
        return None
    return Sight(dict(zip(files, contents, strict=True)), {path: found or {} for path, found in zip(folders, sizes, strict=True)}, True)


def sizes_of(listing: bytes) -> dict[str, int] | None:
    """By path, from what LIST says; None for what it never says of files that nobody changes meanwhile."""
    names, _, numbers = listing.rpartition(b"\0")
    files = [name.decode("utf-8", "surrogateescape").removeprefix("./") for name in names.split(b"\0") if name]
    if len(files) > _MOST_FILES or any(_leads_out(file) for file in files):
        return None
    try:
        return dict(zip(files, map(int, numbers.split()), strict=True))
    except ValueError:
        return None


def _leads_out(path: str) -> bool:
    parts = path.split("/")
    return len(parts) > _MOST_DEPTH or any(part in ("", ".", "..") for part in parts)
