"""Entries: files that are whole or not there. Two builds may write and read at once; whatever goes wrong costs time, never a build."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from edgec.base.errors import EdgecError
from edgec.cache.folder import cache_folder

MOST_BYTES = 4 << 30  # of all entries
LARGEST_SHARE = 4  # an entry may have one part in so many of them
MARK = b"edgec cache 1\n"
UNFINISHED, ABANDONED = ".unfinished", 3600  # seconds after which nobody writes it any more
VARIABLE = "EDGEC_CACHE"
NO = ("0", "false", "no", "off")
_LOG = logging.getLogger("edgec.cache")


@dataclass(frozen=True)
class Store:
    """A folder of entries; without one nothing is kept and nothing found."""

    folder: Path | None = None
    most: int = MOST_BYTES

    def get(self, key: str) -> bytes | None:
        """The content that was put there under this key. A damaged entry, or one that is no file of this user's, goes."""
        if self.folder is None:
            return None
        path = self.folder / key
        try:
            content = _read(path, key)
        except OSError:
            return None
        if content is None:
            _LOG.warning("%s was damaged: it is made anew", path)
            with contextlib.suppress(OSError):
                path.unlink()
        return content

    def put(self, key: str, *content: bytes | memoryview) -> None:
        """Keep `content`, one part behind the other, unless it is large or cannot be written."""
        if self.folder is None or sum(memoryview(part).nbytes for part in content) > self.most // LARGEST_SHARE:
            return
        try:
            with tempfile.NamedTemporaryFile(dir=self.folder, suffix=UNFINISHED, delete=False) as stream:
                try:
                    stream.write(_digest(key, *content))
                    for part in content:
                        stream.write(part)
                    stream.close()
                    os.replace(stream.name, self.folder / key)
                except BaseException:
                    with contextlib.suppress(OSError):  # it has its name already
                        os.unlink(stream.name)
                    raise
        except OSError as error:
            _LOG.info("an entry of the cache cannot be written: %s", error.strerror)

    def entries(self) -> list[tuple[Path, os.stat_result]]:
        """All files there are, those first that were not used for longest."""
        try:
            paths = [] if self.folder is None else list(self.folder.iterdir())
        except OSError:
            return []
        found = []
        for path in paths:
            with contextlib.suppress(OSError):
                found.append((path, path.lstat()))
        return sorted((entry for entry in found if stat.S_ISREG(entry[1].st_mode)), key=lambda entry: (entry[1].st_mtime_ns, entry[0]))

    def clean(self) -> list[tuple[Path, os.stat_result]]:
        """Remove all of them; those that are gone then."""
        return [(path, facts) for path, facts in self.entries() if _removed(path)]

    def trim(self) -> None:
        """Drop the entries that were not used for longest until the others have room, and what an ended build left unfinished."""
        entries = self.entries()
        size = sum(facts.st_size for _, facts in entries)
        for path, facts in entries:
            left = path.suffix == UNFINISHED and facts.st_mtime < time.time() - ABANDONED
            if (left or (size > self.most and path.suffix != UNFINISHED)) and _removed(path):
                size -= facts.st_size


NOTHING = Store()


def opened(wanted: bool = True) -> Store:
    """This user's entries. NOTHING where they are not wanted, as EDGEC_CACHE=no says too, or where no folder is safe: a log tells why."""
    if not wanted or os.environ.get(VARIABLE, "").lower() in NO:
        return NOTHING
    try:
        return Store(cache_folder("build"))
    except EdgecError as error:
        _LOG.warning("nothing is cached: %s (%s); %s", error.summary, error.where, error.hint)
        return NOTHING


def _removed(path: Path) -> bool:
    """Whether it is gone now, whoever did that."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _read(path: Path, key: str) -> bytes | None:
    """None where the entry is damaged, or somebody else's."""
    with _plain(path) as (number, size):
        with open(number, "rb", closefd=False) as stream:
            digest, content = stream.read(hashlib.sha256().digest_size), stream.read(size)
        if digest != _digest(key, content):
            return None
        with contextlib.suppress(OSError):
            os.utime(number if os.utime in os.supports_fd else path)  # it was used now
        return content


@contextlib.contextmanager
def _plain(path: Path) -> Iterator[tuple[int, int]]:
    """A file as its descriptor and size; what is none, or a link, is not opened for long."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    number = os.open(path, flags)
    try:
        facts = os.fstat(number)
        if not stat.S_ISREG(facts.st_mode) or (os.name == "posix" and facts.st_uid != os.geteuid()):
            raise OSError("is no file of this user's")
        yield number, facts.st_size
    finally:
        os.close(number)


def _digest(key: str, *content: bytes | memoryview) -> bytes:
    """Of the key, too: an entry under another's name is damaged."""
    digest = hashlib.sha256(MARK + key.encode() + b"\n")
    for part in content:
        digest.update(part)
    return digest.digest()
