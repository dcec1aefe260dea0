"""Single files: each appears whole or not at all, and never in the place of an input or of something that edgec did not write."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from edgec.base.errors import Problem, UsageError
from edgec.base.output.mark import is_ours, sealed


def check_outputs(outputs: Sequence[Path], inputs: Iterable[Path] = (), *, force: bool = False) -> None:
    """UsageError lists every file that must not be written: it is one of the inputs, by this or any other name, or is there already and
    was not written by edgec, or was changed since. force: these two are asked for."""
    read = [path for path in inputs if path.exists()]
    problems = []
    for index, path in enumerate(outputs):
        problems += _objections(path, read, force)
        if any(path.resolve() == other.resolve() for other in outputs[:index]):
            problems.append(Problem("is written twice", str(path), "give each output a name of its own"))
    if len(problems) == 1:
        raise UsageError(problems[0].what, where=problems[0].where, hint=problems[0].hint)
    if problems:
        raise UsageError("these files would be lost", problems)


def _objections(path: Path, inputs: Sequence[Path], force: bool) -> list[Problem]:
    if not os.path.lexists(path):
        return []
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is no file that can be replaced"
        return [Problem(f"cannot write: {what}", str(path), "write elsewhere")]
    if force:
        return []
    if any(path.samefile(other) for other in inputs):
        return [Problem("is an input: it would be overwritten", str(path), "write elsewhere, or give --force")]
    try:
        known = is_ours(path)
    except OSError as error:
        return [Problem(f"cannot read what is there: {error.strerror}", str(path), "write elsewhere")]
    what = "exists, and is not as edgec wrote it: it would be lost"
    return [] if known else [Problem(what, str(path), "write elsewhere, or give --force")]


def write_file(destination: Path, content: bytes, form: str, *, force: bool = False) -> None:
    """Write a file with edgec's mark. form: one of mark.FORMS. UsageError as check_outputs raises it, or where nobody may write."""
    check_outputs([destination], force=force)
    replace_file(destination, sealed(content, form))


def replace_file(destination: Path, content: bytes) -> None:
    """Write a file through a temporary neighbour, whatever it was; for those that users have edgec edit. A link's end is written."""
    destination = destination.resolve()
    with _neighbour(destination, content) as temporary:
        temporary.replace(destination)


def write_new(destination: Path, content: bytes) -> bool:
    """Write a file where there is nothing, as one of the user's own, without a mark; whether there was nothing."""
    with _neighbour(destination, content) as temporary:
        try:
            os.link(temporary, destination)
        except FileExistsError:
            return False
    return True


@contextmanager
def _neighbour(destination: Path, content: bytes) -> Iterator[Path]:
    """A temporary file with this content beside the destination, to be moved there; an OSError is told as one of the destination."""
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        stream = tempfile.NamedTemporaryFile(prefix=f".{destination.name}.", dir=destination.parent, delete=False)  # noqa: SIM115
    except OSError as error:
        raise cannot_write(error, destination) from error
    temporary = Path(stream.name)
    try:
        with stream:
            stream.write(content)
        temporary.chmod(0o666 & ~umask())
        yield temporary
    except OSError as error:
        raise cannot_write(error, destination) from error
    finally:
        temporary.unlink(missing_ok=True)


def cannot_write(error: OSError, destination: Path) -> UsageError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    hint = "free some space, or write elsewhere" if full else "write elsewhere"
    return UsageError(f"cannot write: {error.strerror or error}", where=str(destination), hint=hint)


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
