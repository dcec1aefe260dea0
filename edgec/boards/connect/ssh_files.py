"""Files on a board over SFTP. Every failure is told with its reason: SFTP itself says `Failure` for a full disk and much else."""

from __future__ import annotations

import errno
import hashlib
import secrets
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath

import paramiko

from edgec.base.errors import DeviceError
from edgec.base.harmless import last_lines, printable
from edgec.boards.connect.connection import Answer, Sent
from edgec.boards.connect.ssh_line import TROUBLE, Line
from edgec.boards.connect.trouble import ONE_DISK
from edgec.boards.connect.watchdog import Watchdog

BLOCK = 2**17  # bytes in one request; each is acknowledged before the next, so a failure is known at once
MOST_FILES = 100_000
MOST_DEPTH = 64
# Why can nothing be written there? $1: folder, $2: bytes still to come. Says `full FREE`, or how the shell fails to write.
_WHY = (
    "LC_ALL=C; export LC_ALL; free=$(df -Pk \"$1\" 2>/dev/null | awk 'NR==2 {print $4}'); "
    'if [ "${free:-x}" -ge 0 ] 2>/dev/null && [ $((free * 1024)) -lt "$2" ]; then echo "full $free"; '
    'else f="$1/.edgec-$$"; head -c 65536 /dev/zero >"$f"; rm -f "$f"; fi'
)
_MAY_BE_MISSING = ("read", "list", "look for")
Execute = Callable[[list[str]], Answer]


class Files:
    """SFTP over a line. `execute` runs a command on the board, for what SFTP has no words for."""

    def __init__(self, line: Line, execute: Execute) -> None:
        self._line, self._execute = line, execute
        self._board, self._limits = line.device.name, line.device.limits
        self._client: paramiko.SFTPClient | None = None
        self._alone = threading.RLock()  # the client cannot be shared

    def write(self, path: str, data: bytes, mode: int, sent: Sent | None, resume: bool) -> None:
        """In place when it may be resumed; else written aside and renamed, so that a program that runs can be replaced."""
        if resume:
            self._send(path, path, data, self._kept(path, data), mode, sent)
            return
        with self._aside(path, data, mode, sent) as aside:
            self.move(aside, path)

    def _send(self, path: str, into: str, data: bytes, start: int, mode: int, sent: Sent | None) -> None:
        """The bytes from `start` on into a file that is, or will be, `path`."""
        with self._doing("write", path, len(data) - start) as (client, dog), client.open(into, "r+" if start else "w", bufsize=0) as file:
            file.MAX_REQUEST_SIZE = BLOCK
            file.seek(start)
            for at in range(start, len(data), BLOCK):
                if sent:
                    sent(at)
                file.write(data[at : at + BLOCK])
                dog.calm()
            file.chmod(mode & 0o777)
            size = file.stat().st_size
            if size != len(data):
                raise OSError(f"{size} of {len(data)} bytes arrived")
        if sent:
            sent(len(data))

    @contextmanager
    def _aside(self, path: str, data: bytes, mode: int, sent: Sent | None) -> Iterator[str]:
        """A complete file beside `path`, that does not outlive the with statement."""
        folder, slash, name = path.rpartition("/")
        aside = f"{folder}{slash}.{secrets.token_hex(8)}.part" if name else path
        try:
            self._send(path, aside, data, 0, mode, sent)
            yield aside
        except BaseException:
            if self._line.stands:
                self._execute(["rm", "-f", "--", aside])
            raise

    def read(self, path: str) -> bytes | None:
        most, found = self._limits.output, bytearray()
        try:
            with self._doing("read", path) as (client, dog), client.open(path, "r", bufsize=0) as file:
                file.MAX_REQUEST_SIZE = BLOCK
                while len(found) <= most and (piece := file.read(BLOCK)):
                    found += piece
                    dog.calm()
        except FileNotFoundError:
            return None
        if len(found) > most:
            raise DeviceError(f"{printable(path)} is larger than {most} bytes", where=self._board, hint="is it the right file?")
        return bytes(found)

    def move(self, old: str, new: str) -> None:
        with self._doing("rename", new) as (client, _):
            client.posix_rename(old, new)

    def sizes(self, path: str) -> dict[str, int]:
        found: dict[str, int] = {}
        left = [""]
        while left:
            folder = left.pop()
            try:
                with self._doing("list", path) as (client, _):
                    entries = client.listdir_attr(f"{path}/{folder}" if folder else path)
            except FileNotFoundError:
                continue
            for entry in entries:
                name, mode = self._checked(entry.filename), entry.st_mode or 0
                inside = f"{folder}/{name}" if folder else name
                if stat.S_ISDIR(mode):
                    left.append(inside)
                elif stat.S_ISREG(mode):
                    found[inside] = entry.st_size or 0
                if len(found) + len(left) > MOST_FILES or inside.count("/") > MOST_DEPTH:
                    raise DeviceError(f"too many files in {printable(path)}", where=self._board, hint="is it the right folder?")
        return found

    def _checked(self, name: str) -> str:
        """A name from the board, which must not lead out of its folder."""
        if name in ("", ".", "..") or "/" in name or "\0" in name:
            raise DeviceError(f"the board lists a file called {printable(name)!r}", where=self._board, hint="its sshd cannot be trusted")
        return name

    def _kept(self, path: str, data: bytes) -> int:
        """How many bytes of `data` are on the board already."""
        try:
            with self._doing("look for", path) as (client, _):
                size = client.stat(path).st_size or 0
        except FileNotFoundError:
            return 0
        if not 0 < size <= len(data):
            return 0
        answer = self._execute(["sha256sum", "--", path])
        told = answer.output.split(maxsplit=1)[:1]
        return size if answer.status == 0 and told == [hashlib.sha256(data[:size]).hexdigest().encode()] else 0

    @contextmanager
    def _doing(self, what: str, path: str, size: int = 0) -> Iterator[tuple[paramiko.SFTPClient, Watchdog]]:
        """The client and a watchdog to calm; errors get their reason. FileNotFoundError passes where a file may be missing."""
        if not path or "\0" in path:
            raise DeviceError(f"{path!r} is not a path", where=self._board, hint="give a file on the board")
        with self._alone, self._line.watch(self._limits.transfer) as dog:
            try:
                yield self._open(), dog
            except FileNotFoundError as error:
                if what in _MAY_BE_MISSING:
                    raise
                raise self._failed(what, path, size, error) from error
            except TROUBLE as error:
                silent = dog.has_bitten or isinstance(error, TimeoutError)
                if silent or isinstance(error, EOFError) or self._has_ended():
                    why = f"not a byte moved in {self._limits.transfer:g} s" if silent else error
                    raise self._line.lost(f"cannot {what} {path}: {why}") from error
                dog.calm()
                raise self._failed(what, path, size, error) from error

    def _has_ended(self) -> bool:
        """Whether the line is no more, or the board's end of SFTP, which goes first where a session of sshd ends."""
        channel = self._client.get_channel() if self._client else None
        return not self._line.stands or (channel is not None and channel.closed)

    def _open(self) -> paramiko.SFTPClient:
        if self._client is None:
            channel = self._line.session(self._limits.connect)
            channel.settimeout(self._limits.transfer)
            try:
                channel.invoke_subsystem("sftp")
                self._client = paramiko.SFTPClient(channel)
            except TROUBLE as error:
                if not self._line.answers():
                    raise EOFError(str(error)) from error
                hint = "install an SFTP server there (Debian: openssh-sftp-server)"
                raise DeviceError("the board's sshd has no SFTP", where=self._board, hint=hint) from error
        return self._client

    def _failed(self, what: str, path: str, size: int, error: Exception) -> DeviceError:
        """Why: what SFTP says, and for its `Failure` what a shell on the board says about writing there."""
        said = printable(error.strerror or str(error) if isinstance(error, OSError) else str(error))
        hint = "check the path and who may use it"
        if isinstance(error, OSError) and error.errno not in (errno.ENOENT, errno.EACCES) and what in ("write", "rename"):
            answer = self._execute(["sh", "-c", _WHY, "sh", str(PurePosixPath(path).parent), str(size)])
            words = answer.output.split()
            reasons = [line.rpartition(": ")[2] for line in last_lines(answer.errors, 1)]
            if words[:1] == [b"full"] or "No space left on device" in reasons:
                free = f", {printable(words[1])} KiB are left" if words[1:] else ""
                return DeviceError(
                    f"cannot {what} {printable(path)}: the disk is full{free}",
                    where=self._board,
                    hint="free some space on the board, or change `work`",
                )
            said = (reasons or [said])[0]
            # files can be written there: of reasons against a rename, SFTP has no word for the one that is left
            hint = "change `work` in the inventory to a folder that can be written" if reasons or what != "rename" else ONE_DISK
        return DeviceError(f"cannot {what} {printable(path)}: {said}", where=self._board, hint=hint)
