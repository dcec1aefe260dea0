"""What a loss of power may leave of a disk, by its log (see disk.py).

Nothing is promised but what fsync says: of all that was not synchronized when the power went, any part may be there, in any order. One
rename is there or not; a file's data may be there, or half, or as zeros. Files are synchronized for what they hold, folders for the names
in them.
"""

from __future__ import annotations

import marshal
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.boards.disk import ROOT

Change = tuple[Any, ...]
MOST = 7  # changes of which every subset is tried
RANDOM = 24  # subsets of more of them, besides the regular ones


@dataclass
class State:
    """A disk: what every file holds, its mode, and the names of every folder."""

    data: dict[int, bytes] = field(default_factory=dict)
    modes: dict[int, int] = field(default_factory=dict)
    names: dict[int, dict[bytes, int]] = field(default_factory=lambda: {ROOT: {}})

    def copy(self) -> State:
        return State(dict(self.data), dict(self.modes), {number: dict(names) for number, names in self.names.items()})

    def change(self, change: Change) -> None:
        kind, number, *facts = change
        if kind == "names":
            for folder, name, child in number:
                if child is not None:
                    self.names[folder][name] = child
                else:
                    self.names[folder].pop(name, None)
        elif kind == "data":
            old, (offset, data) = self.data[number], facts
            self.data[number] = old[:offset].ljust(offset, b"\0") + data + old[offset + len(data) :]
        elif kind == "size":
            self.data[number] = self.data[number][: facts[0]].ljust(facts[0], b"\0")
        elif kind == "mode":
            self.modes[number] = facts[0]

    def files(self, folder: int = ROOT, path: str = "") -> dict[str, int]:
        """The number of everything by its path; folders end with a slash."""
        found = {}
        for name, number in self.names[folder].items():
            place = path + name.decode()
            if number in self.names:
                found[f"{place}/"] = number
                found |= self.files(number, f"{place}/")
            else:
                found[place] = number
        return found

    def read(self, path: str) -> bytes | None:
        number = self.files().get(path)
        return None if number is None else self.data[number]

    def write_out(self, folder: Path) -> None:
        """The disk as real files in an empty folder."""
        for path, number in self.files().items():
            place = folder / path
            if path.endswith("/"):
                place.mkdir()
            else:
                place.write_bytes(self.data[number])
            place.chmod(self.modes[number] | 0o600)

    @property
    def key(self) -> int:
        """Equal for disks that look the same."""
        return hash(frozenset((path, self.data.get(number), self.modes[number]) for path, number in self.files().items()))


def states_after_cuts(log: Path, since: str, seed: int = 1) -> Iterator[State]:
    """Every distinct disk that a loss of power may leave, at every moment since a folder of that name was made in the root. What was
    there then is safe. Between two calls of fsync only the last moment counts: what it may leave includes what all before it may."""
    durable, waiting, begun, seen = State(), list[Change](), False, set[int]()
    chance = random.Random(seed)
    for change in [*_read(log), ("end",)]:
        kind = change[0]
        if kind in ("sync", "end") and begun:
            for state in _states(durable, waiting, chance):
                if state.key not in seen:
                    seen.add(state.key)
                    yield state
        if kind == "make":
            _, number, is_folder, mode = change
            durable.modes[number] = mode
            if is_folder:
                durable.names[number] = {}
            else:
                durable.data[number] = b""
        elif kind == "sync":
            for one in [one for one in waiting if _is_about(one, change[1])]:
                durable.change(one)
                waiting.remove(one)
        elif kind != "end":
            (waiting.append if begun else durable.change)(change)
            begun = begun or (kind == "names" and any(name == since.encode() for _, name, _ in change[1]))


def count_steps(log: Path, since: str) -> int:
    """Changes and calls of fsync since then: moments at which the power may go."""
    changes = list(_read(log))
    first = next(at for at, one in enumerate(changes) if one[0] == "names" and any(name == since.encode() for _, name, _ in one[1]))
    return len([one for one in changes[first + 1 :] if one[0] != "make"])


def _states(durable: State, waiting: Sequence[Change], chance: random.Random) -> Iterator[State]:
    for chosen in _choices(waiting, chance):
        state = durable.copy()
        for change in chosen:
            state.change(change)
        yield state


def _choices(waiting: Sequence[Change], chance: random.Random) -> Iterator[Sequence[Change]]:
    count = len(waiting)
    if count <= MOST:
        yield from ([one for bit, one in enumerate(waiting) if number >> bit & 1] for number in range(2**count))
    else:
        yield from (waiting[:end] for end in range(count + 1))
        yield from ([*waiting[:at], *waiting[at + 1 :]] for at in range(count))
        yield from ([one] for one in waiting)
        yield from ([one for one in waiting if chance.random() < share] for share in (0.5, 0.8, 0.95) for _ in range(RANDOM // 3))
    for at, one in enumerate(waiting):
        if one[0] == "data":
            _, number, offset, data = one
            for spoiled in (data[: len(data) // 2], bytes(len(data))):
                yield [*waiting[:at], ("data", number, offset, spoiled), *waiting[at + 1 :]]


def _is_about(change: Change, number: int) -> bool:
    return any(folder == number for folder, _, _ in change[1]) if change[0] == "names" else change[1] == number


def _read(log: Path) -> Iterable[Change]:
    with log.open("rb") as file:
        while True:
            try:
                yield marshal.load(file)
            except EOFError:
                return
