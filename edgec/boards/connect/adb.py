"""Phones and other boards behind the `adb` program of Android's platform tools, Android 7 and newer."""

from __future__ import annotations

import hashlib
import posixpath
import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace

from edgec.base.errors import DeviceError, Problem
from edgec.base.harmless import last_lines, printable
from edgec.boards.connect.adb_shell import HOME, ending, greeting_bytes, group_of, wrapped
from edgec.boards.connect.connection import Answer, Sent
from edgec.boards.connect.peek import LIST, sizes_of
from edgec.boards.connect.sync import sync_by_command
from edgec.boards.connect.trouble import ONE_DISK, BoardLost, BoardTimeout
from edgec.boards.device import Device
from edgec.package.process import Child
from edgec.package.running import Session, finish, run_to_end

ANDROID_WORK = f"{HOME}/edgec"
_BLOCK = 1 << 20  # bytes of a file that go at once; each block has limits.transfer seconds
_DEFAULT_WORK = next(field.default for field in fields(Device) if field.name == "work")
_BETWEEN_LOOKS = 0.1  # seconds
_OFFLINE = "offline"
_NONE, _TOO_LARGE = 44, 45  # statuses of our scripts: there is no such file

_READ = 'if [ ! -e "$1" ]; then exit 44; fi; if [ "$(stat -c %s "$1")" -gt "$2" ]; then exit 45; fi; cat "$1"'
_SIZES = f'[ -d "$1" ] || exit 44; cd "$1" && {LIST}'
# mv would put `old` into the folder `new`, and copy what has to go to another disk, which is not done at once
_MOVE = (
    'from=$(stat -L -c %d "$(dirname "$1")") && into=$(stat -L -c %d "$(dirname "$2")") || exit 1; '
    'if [ "$from" != "$into" ]; then echo "$2: cross-device link" >&2; exit 1; fi; '
    'if [ -d "$2" ] && ! rmdir "$2"; then exit 1; fi; mv -f "$1" "$2"'
)

_STATES: Mapping[str, tuple[str, str]] = {
    "unauthorized": ("the phone does not trust this computer", "unlock it and accept its question about USB debugging"),
    "authorizing": ("the phone does not trust this computer", "unlock it and accept its question about USB debugging"),
    _OFFLINE: ("the phone is offline", "plug it in again, or run `adb reconnect offline`"),
    "no permissions": ("this user may not open the phone", "install the udev rules (Debian: android-sdk-platform-tools-common)"),
    "recovery": ("the phone is in recovery mode", "boot it into Android"),
    "sideload": ("the phone is in sideload mode", "boot it into Android"),
    "bootloader": ("the phone is in its bootloader", "boot it into Android"),
}
_FREE = "free some space on the board, or give it another `work` folder"
# what a board's tools say -> what happened, the next step
_REASONS: tuple[tuple[str, str, str], ...] = (
    ("no space left", "the disk is full", _FREE),
    ("quota exceeded", "the disk quota is used up", _FREE),
    ("read-only file system", "the folder is read-only", "give the board a `work` folder that can be written"),
    ("permission denied", "permission denied", f"give the board a `work` folder that its user may write, such as {ANDROID_WORK}"),
    ("no such file", "no such file or directory", "the folder does not exist on the board"),
    ("cross-device link", "it lies on another disk", ONE_DISK),
    ("directory nonexistent", "no such file or directory", "the folder does not exist on the board"),
)


class AdbConnection:
    """A Connection through `adb -s SERIAL shell`. On Android relative paths, and the default work folder, lie below /data/local/tmp."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._sessions: list[_AdbSession] = []
        if shutil.which("adb") is None:
            raise self._error("there is no program adb", hint="install Android's platform tools (Debian: apt-get install adb)")
        self._adb("start-server")
        self._serial = self._find()
        if "shell_v2" not in printable(self._adb("-s", self._serial, "features").output).split():
            raise self._error("its adb gives no exit codes", hint="edgec needs Android 7 or newer")
        android = self.execute(["test", "-d", HOME], seconds=device.limits.connect).status == 0
        if android and device.work == _DEFAULT_WORK:
            self.device = replace(device, work=ANDROID_WORK)

    def execute(self, command: Sequence[str], *, seconds: float | None = None, data: bytes = b"") -> Answer:
        limits = self.device.limits
        seconds = limits.command if seconds is None else seconds
        child, marker, group = self.start(command, seconds)
        try:
            answer = finish(child, where=self.device.name, words=" ".join(command), seconds=seconds, data=data, most=limits.output)
        except DeviceError:
            self.kill(group)
            raise
        status, errors = self.end(answer.errors, marker)
        return replace(answer, status=status, errors=errors)

    def converse(self, command: Sequence[str]) -> Session:
        session = _AdbSession(self, command)
        self._sessions.append(session)
        return session

    def write(self, path: str, data: bytes, *, mode: int = 0o644, sent: Sent | None = None, resume: bool = False) -> None:
        place = self._place(path)
        target = place if resume else f"{place}.{secrets.token_hex(8)}.part"
        start = self._kept(place, data) if resume else 0
        if sent is not None and start:
            sent(start)
        try:
            if start == 0:
                self._must(path, 'rm -rf "$1" && : > "$1"', target)
            for at in range(start, len(data), _BLOCK):
                block = data[at : at + _BLOCK]
                self._must(path, 'cat >> "$1"', target, data=block, seconds=self.device.limits.transfer)
                if sent is not None:
                    sent(at + len(block))
            self._must(path, 'chmod "$2" "$1"', target, f"{mode:o}")
            if not resume:
                self._must(path, 'if [ -d "$2" ]; then echo "$2: is a directory" >&2; exit 1; fi; mv -f "$1" "$2"', target, place)
        except DeviceError:
            if not resume:
                with suppress(DeviceError):
                    self.remove(target)
            raise

    def read(self, path: str) -> bytes | None:
        limits = self.device.limits
        answer = self._script(_READ, self._place(path), str(limits.output), seconds=limits.transfer)
        if answer.status == _NONE:
            return None
        if answer.status == _TOO_LARGE:
            raise self._error(f"{path} has more than {limits.output} bytes", hint="this is not a file that edgec wrote")
        return self._right(path, answer).output

    def make_folder(self, path: str, *, inside: str = "") -> None:
        self._must(path, 'cd "$1" && mkdir -p "$2"', self._place(inside or "."), self._place(path))

    def move(self, old: str, new: str) -> None:
        self._must(f"{old} -> {new}", _MOVE, self._place(old), self._place(new))

    def sync(self, paths: Sequence[str]) -> None:
        limit = self.device.limits.transfer
        sync_by_command(lambda words: self.execute(words, seconds=limit), [self._place(path) for path in paths], self.device.name)

    def remove(self, path: str) -> None:
        if posixpath.normpath(posixpath.join(HOME, path)) in ("/", "/data", "/data/local", HOME):
            raise self._error(f"refuses to remove {path!r}", hint="give a folder of your own")
        self._must(path, 'rm -rf "$1"', self._place(path), seconds=self.device.limits.transfer)

    def sizes(self, path: str) -> dict[str, int]:
        answer = self._script(_SIZES, self._place(path), seconds=self.device.limits.transfer)
        if answer.status == _NONE:
            return {}
        found = sizes_of(self._right(path, answer).output)
        if found is None:
            raise self._error(f"{path}: its files change while they are counted", hint="does somebody else use this folder?")
        return found

    def close(self) -> None:
        while self._sessions:
            self._sessions.pop().close()

    def _find(self) -> str:
        """The serial number of the board, which is there and lets us in."""
        address = self.device.address
        if ":" in address and self._listed().get(address, _OFFLINE) == _OFFLINE:
            with suppress(BoardTimeout):  # the list then says what is wrong
                self._adb("disconnect", address)  # adb keeps a line that was cut, and tries it again when it likes
                self._adb("connect", address)
        found = self._settled(address)
        if not address and len(found) > 1:
            raise self._error(f"{len(found)} devices are connected", hint=f"give one as its address: {', '.join(found)}")
        serial = address or next(iter(found), "")
        if serial not in found:
            what = f"adb knows no device {serial!r}" if address else "adb knows no device"
            known = f"; it knows {', '.join(found)}" if found else ""
            raise BoardLost(what + known, where=self.device.name, hint="plug it in, switch on USB debugging and look at `adb devices`")
        if found[serial] in _STATES:
            what, hint = _STATES[found[serial]]
            raise BoardLost(what, where=self.device.name, hint=hint)
        return serial

    def _settled(self, address: str) -> dict[str, str]:
        """What adb lists once the board is not offline, as each is while adb greets it; at the latest after limits.connect."""
        end = time.monotonic() + self.device.limits.connect
        while True:
            found = self._listed()
            states = [found.get(address)] if address else list(found.values())
            if _OFFLINE not in states or time.monotonic() > end:
                return found
            time.sleep(_BETWEEN_LOOKS)

    def _listed(self) -> dict[str, str]:
        """State of every device that adb knows, by serial number."""
        _, _, listing = printable(self._adb("devices").output, 1 << 16).partition("List of devices attached")
        rows = [line.split(None, 1) for line in listing.splitlines()]
        return {row[0]: row[1].split(" (")[0].strip() for row in rows if len(row) == 2}

    def _adb(self, *words: str) -> Answer:
        return run_to_end(["adb", *words], where=self.device.name, seconds=self.device.limits.connect, most=self.device.limits.output)

    def start(self, command: Sequence[str], seconds: float | None, *, last: bool = False) -> tuple[Child, str, int]:
        """Start a command there: the adb program, the marker of the wrapper's lines, and the process group on the board."""
        marker = secrets.token_hex(8)
        words = ["adb", "-s", self._serial, "shell", "-T", wrapped(command, marker, seconds)]
        child = Child(words, most=self.device.limits.output, last=last)
        greeting = child.errors.take(greeting_bytes(marker), time.monotonic() + self.device.limits.connect)
        group = group_of(greeting, marker)
        if group is None:
            words = last_lines(greeting + child.errors.rest())
            child.kill()
            raise self.lost(words)
        return child, marker, group

    def end(self, errors: bytes, marker: str) -> tuple[int, bytes]:
        """Status and errors of a command that ended; BoardLost when it is the line that ended."""
        found = ending(errors, marker)
        if found is None:
            raise self.lost(last_lines(errors))
        return found

    def lost(self, words: Sequence[str]) -> BoardLost:
        problems = [Problem(line) for line in words]
        return BoardLost("the line to the board was cut", problems, where=self.device.name, hint="look at the cable and at `adb devices`")

    def kill(self, group: int) -> None:
        """End what a command started on the board, as far as the board still listens."""
        with suppress(DeviceError):
            self._adb("-s", self._serial, "shell", "-T", f"kill -9 -{group:d}")

    def _kept(self, place: str, data: bytes) -> int:
        """How many bytes of `data` the file holds already; 0 when it holds anything else."""
        answer = self._script(
            '[ -f "$1" ] && [ ! -L "$1" ] && stat -c %s "$1" && sha256sum < "$1"', place, seconds=self.device.limits.transfer
        )
        words = answer.output.split()
        if answer.status != 0 or len(words) < 2 or not words[0].isdigit():
            return 0
        size = int(words[0])
        return size if size <= len(data) and hashlib.sha256(data[:size]).hexdigest().encode() == words[1] else 0

    def _script(self, script: str, *words: str, data: bytes = b"", seconds: float | None = None) -> Answer:
        return self.execute(["sh", "-c", script, "sh", *words], data=data, seconds=seconds)

    def _must(self, path: str, script: str, *words: str, data: bytes = b"", seconds: float | None = None) -> None:
        self._right(path, self._script(script, *words, data=data, seconds=seconds))

    def _right(self, path: str, answer: Answer) -> Answer:
        """The answer of a script that worked; else DeviceError with the reason."""
        if answer.status == 0:
            return answer
        said = " ".join(last_lines(answer.errors, 2))
        known = [(what, hint) for words, what, hint in _REASONS if words in said.lower()]
        what, hint = known[0] if known else (said or f"status {answer.status}", "look at the board's `work` folder")
        raise self._error(f"{path}: {what}", hint=hint)

    def _error(self, what: str, *, hint: str) -> DeviceError:
        return DeviceError(what, where=self.device.name, hint=hint)

    def _place(self, path: str) -> str:
        """The path as tools take it, whatever it begins with."""
        if not path or "\0" in path:
            raise self._error(f"{path!r} is not a path", hint="give a file or folder on the board")
        return f"./{path}" if path.startswith("-") else path


class _AdbSession(Session):
    """A conversation with a program on the board."""

    def __init__(self, connection: AdbConnection, command: Sequence[str]) -> None:
        self._connection = connection
        child, self._marker, self._group = connection.start(command, None, last=True)
        super().__init__(child, where=connection.device.name, seconds=connection.device.limits.run)

    def _ending(self) -> tuple[int | None, bytes]:
        return self._connection.end(self._child.errors.rest(), self._marker)

    def close(self) -> None:
        if self._open and self._child.status is None:
            self._connection.kill(self._group)
        super().close()
