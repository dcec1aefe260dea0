"""The results file of a bench: a line a record, on disk as soon as it is known, so that whatever ends a run loses nothing."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Lock
from types import TracebackType

from edgec.base.errors import UsageError
from edgec.records.results import Job, PackageFacts, Record, Versus, from_line, read_results, to_line

VERDICTS = ("passed", "failed")  # what need not be run again; a board that was lost, busy, refused or slowed down may do better


def done(records: Iterable[Record]) -> frozenset[tuple[str, str]]:
    """(device, package's sha256) of every job whose last run came to a verdict."""
    jobs = [record for record in latest(records) if isinstance(record, Job)]
    return frozenset((job.device, job.package) for job in jobs if job.status in VERDICTS and not job.undecided)


def latest(records: Iterable[Record]) -> list[Record]:
    """Each package once, and of each job and comparison the last."""
    found: dict[tuple[str, ...], Record] = {}
    for record in records:
        found.pop(key := identity(record), None)
        found[key] = record
    return list(found.values())


def identity(record: Record) -> tuple[str, ...]:
    """What makes two records say the same thing at different times."""
    if isinstance(record, Job):
        return "job", record.device, record.package
    if isinstance(record, Versus):
        return "versus", record.device, record.base, record.package
    return "package", record.sha256


class Journal:
    """A results file that is open for appending; `records` is all that it holds. It may be used from several threads.

    A new file; or, to resume, one that an earlier run left, whose last line is taken away if it was cut off (its job is not `done`).
    UsageError: the file is there and shall not be resumed, is no results file, is being written by another run, or cannot be written.
    """

    def __init__(self, path: Path, *, resume: bool = False) -> None:
        self.path = path
        self.records: list[Record] = []
        self._lock = Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
        except OSError as error:
            raise self._cannot_write(error) from error
        try:
            self._claim()
            if os.fstat(self._file).st_size:
                self._continue(resume)
        except BaseException:
            os.close(self._file)
            raise

    def add(self, records: Sequence[Record]) -> None:
        """Append records and bring them to the disk; a package that the file has already is not written again. All or nothing."""
        with self._lock:
            known = {record.sha256 for record in self.records if isinstance(record, PackageFacts)}
            new = [record for record in records if not (isinstance(record, PackageFacts) and record.sha256 in known)]
            data = "".join(f"{to_line(record)}\n" for record in new).encode()
            end = os.fstat(self._file).st_size
            try:
                while data:
                    data = data[os.write(self._file, data) :]
                self._sync()
            except OSError as error:
                os.ftruncate(self._file, end)
                raise self._cannot_write(error) from error
            self.records += new

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _claim(self) -> None:
        """One writer at a time, where the system can tell."""
        try:
            import fcntl
        except ImportError:  # Windows
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError("another run is writing it", where=str(self.path), hint="wait for it, or give another -o") from error
        except OSError:  # a file system without locks
            return

    def _continue(self, resume: bool) -> None:
        if not resume:
            raise UsageError("exists already", where=str(self.path), hint="continue it with --resume, or give another -o")
        self.records = read_results(self.path)
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole == len(data):
            return
        try:
            from_line(data[whole:].decode())
            os.write(self._file, b"\n")  # only the end of the line was cut
        except (ValueError, RecursionError):
            os.ftruncate(self._file, whole)

    def _sync(self) -> None:
        try:
            os.fsync(self._file)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a pipe or /dev/null has no disk behind it
                raise

    def _cannot_write(self, error: OSError) -> UsageError:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        hint = "free some space, then go on with --resume" if full else "give another -o"
        return UsageError(f"cannot write: {error.strerror or error}", where=str(self.path), hint=hint)
