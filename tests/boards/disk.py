"""A disk that remembers: a file system in memory (FUSE, spoken here without a library) that logs every change and every fsync in order.

Run as a program: disk.py FOLDER LOG mounts it on FOLDER until it is unmounted. LOG gets marshalled tuples:
("make", number, is folder, mode) a file or folder that has no name yet; ("names", ((folder, name, number or None), ...)) names that change
as one; ("data", number, offset, bytes); ("size", number, bytes); ("mode", number, mode); ("sync", number). The root is number 1.
See cuts.py for what a loss of power may leave of it.
"""

from __future__ import annotations

import errno
import marshal
import os
import stat
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

ROOT = 1
_FOREVER = 10**6  # seconds that the kernel may keep what it was told: nobody else changes anything
_HEADER = struct.Struct("<IIQQIIIHH")
_MOST_WRITE = 1 << 17
_MODE, _SIZE = 1, 8  # bits of setattr


@dataclass
class Node:
    mode: int
    data: bytearray = field(default_factory=bytearray)
    names: dict[bytes, int] = field(default_factory=dict)


class Disk:
    """The requests of the kernel, one method each: (number, body) -> the answer's bytes, or OSError."""

    def __init__(self, log: IO[bytes]) -> None:
        self.nodes = {ROOT: Node(stat.S_IFDIR | 0o777)}
        self._log = log

    def note(self, *facts: object) -> None:
        marshal.dump(facts, self._log)
        self._log.flush()

    def lookup(self, number: int, body: bytes) -> bytes:
        return self._entry(self._named(number, body.rstrip(b"\0")))

    def getattr(self, number: int, body: bytes) -> bytes:
        return struct.pack("<QII", _FOREVER, 0, 0) + self._facts(number)

    def setattr(self, number: int, body: bytes) -> bytes:
        valid, _, _, size = struct.unpack_from("<IIQQ", body)
        node = self.nodes[number]
        if valid & _MODE:
            node.mode = stat.S_IFMT(node.mode) | struct.unpack_from("<I", body, 68)[0] & 0o7777
            self.note("mode", number, node.mode & 0o7777)
        if valid & _SIZE:
            del node.data[size:]
            node.data.extend(bytes(size - len(node.data)))
            self.note("size", number, size)
        return self.getattr(number, b"")

    def mkdir(self, number: int, body: bytes) -> bytes:
        return self._entry(self._make(number, body[8:].rstrip(b"\0"), stat.S_IFDIR | struct.unpack_from("<I", body)[0] & 0o7777))

    def create(self, number: int, body: bytes) -> bytes:
        made = self._make(number, body[16:].rstrip(b"\0"), stat.S_IFREG | struct.unpack_from("<I", body, 4)[0] & 0o7777)
        return self._entry(made) + self.open(made, b"")

    def unlink(self, number: int, body: bytes) -> bytes:
        name = body.rstrip(b"\0")
        if self.nodes[self._named(number, name)].names:
            raise OSError(errno.ENOTEMPTY, "")
        return self._rename((number, name, None))

    def rename(self, number: int, body: bytes, head: int = 8) -> bytes:
        to = struct.unpack_from("<Q", body)[0]
        old, new = body[head:].rstrip(b"\0").split(b"\0")
        moved, there = self._named(number, old), self.nodes[to].names.get(new)
        if there is not None and there != moved:
            if head == 16 and struct.unpack_from("<I", body, 8)[0]:
                raise OSError(errno.EEXIST, "")
            one, other = self.nodes[moved], self.nodes[there]
            if stat.S_ISDIR(one.mode) != stat.S_ISDIR(other.mode):
                raise OSError(errno.EISDIR if stat.S_ISDIR(other.mode) else errno.ENOTDIR, "")
            if other.names:
                raise OSError(errno.ENOTEMPTY, "")
        return self._rename((number, old, None), (to, new, moved))

    def rename2(self, number: int, body: bytes) -> bytes:
        return self.rename(number, body, 16)

    def link(self, number: int, body: bytes) -> bytes:
        old, name = struct.unpack_from("<Q", body)[0], body[8:].rstrip(b"\0")
        if name in self.nodes[number].names:
            raise OSError(errno.EEXIST, "")
        self._rename((number, name, old))
        return self._entry(old)

    def open(self, number: int, body: bytes) -> bytes:
        return struct.pack("<QII", 0, 0, 0)

    def read(self, number: int, body: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        return bytes(self.nodes[number].data[offset : offset + size])

    def write(self, number: int, body: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        data, node = body[40 : 40 + size], self.nodes[number]
        node.data.extend(bytes(max(0, offset - len(node.data))))
        node.data[offset : offset + size] = data
        self.note("data", number, offset, data)
        return struct.pack("<II", size, 0)

    def statfs(self, number: int, body: bytes) -> bytes:
        return struct.pack("<QQQQQIIII6I", 1 << 20, 1 << 19, 1 << 19, 1 << 20, 1 << 19, 4096, 255, 4096, 0, *[0] * 6)

    def sync(self, number: int, body: bytes) -> bytes:
        self.note("sync", number)
        return b""

    def readdir(self, number: int, body: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        rows = [(b".", number), (b"..", ROOT), *self.nodes[number].names.items()]
        found = b""
        for place, (name, child) in list(enumerate(rows, 1))[offset:]:
            row = struct.pack("<QQII", child, place, len(name), self.nodes[child].mode >> 12) + name
            row += bytes(-len(row) % 8)
            if len(found) + len(row) > size:
                break
            found += row
        return found

    def nothing(self, number: int, body: bytes) -> bytes:
        return b""

    def init(self, number: int, body: bytes) -> bytes:
        return struct.pack("<IIIIHHIIHHI7I", 7, 31, 1 << 17, 1 << 5, 12, 9, _MOST_WRITE, 1, 0, 0, 0, *[0] * 7)

    def _named(self, folder: int, name: bytes) -> int:
        try:
            return self.nodes[folder].names[name]
        except KeyError:
            raise OSError(errno.ENOENT, "") from None

    def _make(self, folder: int, name: bytes, mode: int) -> int:
        if name in self.nodes[folder].names:
            raise OSError(errno.EEXIST, "")
        number = len(self.nodes) + 1
        self.nodes[number] = Node(mode)
        self.note("make", number, stat.S_ISDIR(mode), mode & 0o7777)
        self._rename((folder, name, number))
        return number

    def _rename(self, *changes: tuple[int, bytes, int | None]) -> bytes:
        for folder, name, number in changes:
            if number is None:
                del self.nodes[folder].names[name]
            else:
                self.nodes[folder].names[name] = number
        self.note("names", changes)
        return b""

    def _entry(self, number: int) -> bytes:
        return struct.pack("<QQQQII", number, 0, _FOREVER, _FOREVER, 0, 0) + self._facts(number)

    def _facts(self, number: int) -> bytes:
        node = self.nodes[number]
        size = len(node.data)
        links = 2 if stat.S_ISDIR(node.mode) else 1
        return struct.pack(
            "<6Q10I", number, size, -(-size // 512), 0, 0, 0, 0, 0, 0, node.mode, links, os.getuid(), os.getgid(), 0, 4096, 0
        )


_SILENT = (2, 36, 42)  # forget, interrupt, forget many: no answer is wanted
_METHODS = {
    1: "lookup", 3: "getattr", 4: "setattr", 9: "mkdir", 10: "unlink", 11: "unlink", 12: "rename", 13: "link", 14: "open", 15: "read",
    16: "write", 17: "statfs", 18: "nothing", 20: "sync", 26: "init", 27: "open", 28: "readdir", 29: "nothing", 30: "sync", 35: "create",
    38: "nothing", 45: "rename2",
}  # fmt: skip


def serve(device: int, disk: Disk) -> None:
    """Answer the kernel until the disk is unmounted."""
    while True:
        try:
            request = os.read(device, _MOST_WRITE + 8192)
        except OSError as error:
            if error.errno == errno.ENODEV:
                return
            if error.errno in (errno.EINTR, errno.ENOENT):
                continue
            raise
        _, code, unique, number, *_ = _HEADER.unpack_from(request)
        if code in _SILENT:
            continue
        answer, status = b"", -errno.ENOSYS
        if code in _METHODS:
            method: Callable[[int, bytes], bytes] = getattr(disk, _METHODS[code])
            try:
                answer, status = method(number, request[_HEADER.size :]), 0
            except OSError as error:
                answer, status = b"", -(error.errno or errno.EIO)
        with suppress(FileNotFoundError):  # the program that asked was killed meanwhile
            os.write(device, struct.pack("<IiQ", 16 + len(answer), status, unique) + answer)


def main(folder: str, log: str) -> None:
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other,default_permissions"
    subprocess.run(["mount", "-i", "-t", "fuse", "-o", options, "edgec-test", folder], check=True, pass_fds=[device])
    print("mounted", flush=True)
    with open(log, "wb") as file:
        serve(device, Disk(file))


@contextmanager
def remembering_disk(folder: Path) -> Iterator[tuple[Path, Path]]:
    """(where it is mounted, its log), until the end of the block. Needs root and /dev/fuse."""
    place, log = folder / "disk", folder / "disk.log"
    place.mkdir(parents=True)
    process = subprocess.Popen([sys.executable, __file__, str(place), str(log)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "mounted\n"
        yield place, log
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)
        process.kill()
        process.wait()
        process.stdout.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
